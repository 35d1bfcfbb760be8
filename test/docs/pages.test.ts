// Every program in docs/ runs and prints what it says; tables that repeat the code agree with it.

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import * as limits from '../../src/model/limits.js'
import { closeAll } from './perdure.js'
import { blocksOf, programsOf, readPage, run } from './programs.js'

const PAGES = [
  'quick-start',
  'concepts',
  'compare/README',
  'compare/xstate',
  'functions',
  'signals',
  'events',
  'schedules',
  'triggers',
  'webhooks',
  'documents',
  'retries-and-timeouts',
  'sagas',
  'loops',
  'machines',
  'retries-of-machines',
  'events-machines',
  'graphs',
  'graph-examples',
  'changing-code',
  'testing',
  'databases',
  'transactions',
  'flow-control',
  'operating',
  'http-api',
  'streams',
  'observability',
  'security',
  'nestjs',
  'migrating/from-loopstack',
  'migrating/from-pikku',
  'migrating/from-nestjs-durable-workflows',
]

test.each(PAGES)('the programs of docs/%s.md print what they say', async (name) => {
  const programs = programsOf(`docs/${name}.md`)
  expect(programs).not.toEqual([])
  for (const program of programs) {
    const { claimed, printed } = await run(program)
    await closeAll()
    expect({ at: program.at, lines: printed }).toEqual({ at: program.at, lines: claimed })
    expect(claimed).not.toEqual([])
  }
})

test('docs/graph-examples.md shows the files of examples/graphs as they are', () => {
  const text = readPage('docs/graph-examples.md')
  const named = [...text.matchAll(/^\[(examples\/graphs\/[\w-]+\.ts)\]/gm)].map(
    ([, path = '']) => path,
  )
  expect(blocksOf(text, 'ts').map(({ code }) => code)).toEqual(named.map(readPage))
  const there = readdirSync(fileURLToPath(new URL('../../examples/graphs', import.meta.url)))
  expect([...named].sort()).toEqual(there.map((name) => `examples/graphs/${name}`).sort())
})

test('docs/operating.md has every limit, with its value', () => {
  const rows = [...readPage('docs/operating.md').matchAll(/^\| `([A-Z_]+)` +\| +(\d+) \|/gm)]
  const shown = Object.fromEntries(rows.map(([, name = '', value]) => [name, Number(value)]))
  expect(shown).toEqual({ ...limits })
})
