// Programs of other tools on the pages of docs/compare. What our own packages have the types of is compiled; the packages of the
// others are many and large, so those programs were compiled once with the versions that docs/compare/README.md names.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { blocksOf, readPage } from './programs.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the repository, so that packages are found; ignored by git. */
const PLACE = join(ROOT, '.cache/docs/compare')
const ILLUSTRATIONS = ['dbos', 'inngest', 'restate', 'temporal', 'xstate']
/** The shop, which all of them leave out. */
const SHOP = `
type Order = { id: string; amount: number; state: string; payment: { id: string } }
declare const connection: { host: string }
declare function charge(amount: number, key: string): Promise<{ id: string }>
declare function refund(payment: string): Promise<void>
declare function insertShipment(order: string, payment: string): Promise<void>
declare function loadOrder(id: string): Promise<Order>
declare function saveOrder(order: Order): Promise<void>
`
const OPTIONS = [
  ...['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', 'node'],
  ...['--target', 'es2022', '--module', 'nodenext'],
]

test('the program on docs/compare/bullmq.md compiles with the BullMQ of our tests', () => {
  const [block] = blocksOf(readPage('docs/compare/bullmq.md'), 'typescript')
  mkdirSync(PLACE, { recursive: true })
  const file = join(PLACE, 'bullmq.mts')
  writeFileSync(file, `${block?.code}${SHOP}`)
  const tsc = join(ROOT, 'node_modules/typescript-native/bin/tsc')
  const { stdout } = compiled([tsc, ...OPTIONS, file])
  expect(stdout).toBe('')
})

test('every program of another tool is compiled, or its version is named', () => {
  const pages = readdirSync(join(ROOT, 'docs/compare')).map((name) => name.replace('.md', ''))
  const shown = pages.filter(
    (page) => blocksOf(readPage(`docs/compare/${page}.md`), 'typescript').length > 0,
  )
  expect(shown.sort()).toEqual(['bullmq', ...ILLUSTRATIONS])
  const text = readPage('docs/compare/README.md')
  for (const page of shown) {
    const [, name] =
      /from '((?:@[\w-]+\/)?[\w-]+)'/.exec(
        blocksOf(readPage(`docs/compare/${page}.md`), 'typescript')[0]?.code ?? '',
      ) ?? []
    expect(text).toMatch(new RegExp(`\`${name}\` \\d+\\.\\d+`))
  }
})

function compiled(args: readonly string[]): { readonly stdout: string } {
  try {
    return { stdout: execFileSync(process.execPath, args, { encoding: 'utf8' }) }
  } catch (error) {
    return error as { stdout: string }
  }
}
