// docs/cli.md and the program have the same commands and options.

import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/index.js'
import { captured } from './captured.js'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

function leaves(command: Command, words: readonly string[]): { name: string; of: Command }[] {
  const name = [...words, command.name()]
  if (command.commands.length === 0) return [{ name: name.join(' '), of: command }]
  return command.commands.flatMap((one) => leaves(one, name))
}

const root = new Command('perdure')
for (const add of COMMANDS) add({ io: captured().io, root, act: () => {} })
const all = leaves(root, [])

test('docs/cli.md lists every command that exists, and no other', () => {
  const listed = [...page.matchAll(/^\| `(perdure [a-z ]*[a-z])/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual(all.map(({ name }) => name).sort())
})

test('docs/cli.md names every option', () => {
  const flags = all.flatMap(({ of }) => of.options.map(({ long }) => long ?? ''))
  expect([...new Set(flags)].filter((flag) => !page.includes(`\`${flag}`))).toEqual([])
})
