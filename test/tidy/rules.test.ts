import { describe, expect, test } from 'vitest'
import * as rules from './rules.js'

const source = (path: string, text: string): rules.Source => ({ path, text })
const lines = (count: number, line: string) => Array.from({ length: count }, () => line).join('\n')

describe('layers', () => {
  test.each([
    ['src/model/run.ts', '../kernel/store.js'],
    ['src/model/run.ts', 'node:fs'],
    ['src/kernel/claim.ts', '../store/driver.js'],
    ['src/kernel/claim.ts', '../authoring/function/body.js'],
    ['src/kernel/claim.ts', '../compose-engine.js'],
    ['src/kernel/claim.ts', 'node:timers/promises'],
    ['src/kernel/claim.ts', 'pg'],
    ['src/authoring/function/body.ts', '../../kernel/ports.js'],
    ['src/authoring/graph/node.ts', '../../egress/http-call.js'],
    ['src/authoring/graph/node.ts', 'node:http'],
    ['src/egress/http-call.ts', '../authoring/function/body.js'],
    ['src/store/sql-store.ts', '../kernel/claim.js'],
    ['src/store/sql-store.ts', 'hono'],
    ['src/upkeep/prune.ts', '../store/driver.js'],
    ['src/compose-engine.ts', 'pg'],
    ['src/http/server.ts', '@electric-sql/pglite/live'],
    ['src/http/server.ts', '../cli/main.js'],
    ['src/client/client.ts', 'node:buffer'],
    ['src/client/client.ts', '../http/values.js'],
    ['src/elsewhere/file.ts', '../model/run.js'],
  ])('%s may not import %s', (path, target) => {
    expect(rules.layers([source(path, `import type { X } from '${target}'`)])).toHaveLength(1)
    expect(rules.layers([source(path, `export * from '${target}'`)])).toHaveLength(1)
    expect(rules.layers([source(path, `const x = await import('${target}')`)])).toHaveLength(1)
    expect(rules.layers([source(path, `type X = import('${target}').X`)])).toHaveLength(1)
  })

  test.each([
    ['src/model/codec.ts', 'devalue'],
    ['src/model/run.ts', './ids.js'],
    ['src/kernel/claim.ts', '../model/run.js'],
    ['src/authoring/function/body.ts', '../../model/program.js'],
    ['src/authoring/function/body.ts', '../task/task.js'],
    ['src/authoring/graph/expression.ts', '@marcbachmann/cel-js'],
    ['src/egress/http-call.ts', 'node:http'],
    ['src/egress/http-call.ts', '../authoring/graph/http-call.js'],
    ['src/compose-engine.ts', './egress/http-call.js'],
    ['src/store/driver-pg/pool.ts', 'pg'],
    ['src/store/driver-embedded/open.ts', '@electric-sql/pglite'],
    ['src/store/sql-store.ts', '../kernel/store.js'],
    ['src/compose-engine.ts', './kernel/engine.js'],
    ['src/index.ts', './compose-engine.js'],
  ])('%s may import %s', (path, target) => {
    expect(rules.layers([source(path, `import { x } from '${target}'`)])).toEqual([])
  })
})

test('a cycle is named once, in full', () => {
  const files = [
    source('src/kernel/a.ts', "import './b.js'"),
    source('src/kernel/b.ts', "import type { C } from './c.js'"),
    source('src/kernel/c.ts', "export * from './a.js'"),
    source('src/kernel/d.ts', "import './a.js'"),
  ]
  const found = rules.cycles(files)
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(
    'src/kernel/a.ts → src/kernel/b.ts → src/kernel/c.ts → src/kernel/a.ts',
  )
})

test('what is exported is imported by somebody', () => {
  const a = source(
    'src/kernel/a.ts',
    'export const used = 1\nexport function unused() {}\nunused()',
  )
  const b = source('test/kernel/b.test.ts', "import { used } from '../../src/kernel/a.js'")
  expect(rules.unusedExports([a], [a, b])).toEqual([expect.stringContaining('imports unused')])
})

test('files and functions have an end', () => {
  expect(rules.fileLengths([source('src/model/a.ts', lines(401, '//'))])).toHaveLength(1)
  expect(rules.fileLengths([source('src/model/a.ts', `${lines(400, '//')}\n`)])).toEqual([])
  const body = (count: number) => `${lines(30, '//')}\nconst f = () => {\n${lines(count, 'g()')}\n}`
  expect(rules.functionLengths([source('src/model/a.ts', body(79))])).toHaveLength(1)
  expect(rules.functionLengths([source('src/model/a.ts', body(78))])).toEqual([])
})

describe('impurities', () => {
  test.each([
    'const x = Date.now()',
    'const x = new Date()',
    'const x = new Date',
    'const x = Date()',
    'const x = Math.random()',
    'setTimeout(f, 1)',
    'const later = setTimeout',
    'globalThis.setImmediate(f)',
    'const x = { setInterval }',
    'process.nextTick(f)',
    'const x = performance.now()',
    'const x = crypto.randomUUID()',
    "await fetch('x')",
    'AbortSignal.timeout(5)',
  ])('%s is found', (text) => {
    expect(rules.impurities([source('src/kernel/a.ts', text)])).toHaveLength(1)
    expect(rules.impurities([source('src/store/a.ts', text)])).toEqual([])
  })

  test.each([
    'const x = new Date(now)',
    'const x = Date.parse(text)',
    'const x = value instanceof Date',
    'const x = ports.fetch()',
    '// setTimeout is not for us',
    'interface X { fetch(): void }',
  ])('%s is not', (text) => {
    expect(rules.impurities([source('src/kernel/a.ts', text)])).toEqual([])
  })
})

test('synonyms are found, other words are not', () => {
  const bad = [
    '// the job',
    'const jobId = 1',
    'let workflowInstance',
    '// a workflow instance',
    'type workflow_run = 1',
  ]
  for (const text of bad)
    expect(rules.bannedWords([source('src/kernel/a.ts', text)])).toHaveLength(1)
  const good = ['x instanceof Y', '// fields of the instance', '// the workflow runs', '// jobless']
  for (const text of good) expect(rules.bannedWords([source('src/kernel/a.ts', text)])).toEqual([])
})

test('any and unfinished work are found', () => {
  for (const text of ['const x = y as any', 'function f(x: any) {}', 'let x: Array<any>']) {
    expect(rules.anyTypes([source('src/kernel/a.ts', text)])).toHaveLength(1)
  }
  expect(rules.anyTypes([source('src/kernel/a.ts', "// any\nconst x = 'as any'")])).toEqual([])
  const mark = ['TO', 'DO'].join('')
  for (const text of [`// ${mark}: later`, `/* ${mark} */`, `/**\n * ${mark} later\n */`]) {
    expect(rules.unfinished([source('src/kernel/a.ts', text)])).toHaveLength(1)
  }
})
