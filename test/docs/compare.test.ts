// Programs of other tools on the pages of docs/compare: compiled, not run. The types are those of test/docs/compare, and of our
// own BullMQ. n8n takes JSON, which has no types: what it must have to be imported is looked at.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksOf, readPage } from './programs.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the repository, so that our own packages are found too; ignored by git. */
const PLACE = join(ROOT, '.cache/docs/compare')
/** The programs, and in each a word that its tool does not allow: types that were not found would allow everything. */
const MISTAKES: Readonly<Record<string, readonly [right: string, wrong: string]>> = {
  bullmq: ['attempts: 4', "attempts: 'four'"],
  dbos: ['maxAttempts: 4', "maxAttempts: 'four'"],
  inngest: ['retries: 3', "retries: 'three'"],
  restate: ['maxRetryAttempts: 4', "maxRetryAttempts: 'four'"],
  temporal: ['maximumAttempts: 4', "maximumAttempts: 'four'"],
  xstate: ["src: 'charge'", "src: 'chargeTwice'"],
}
const TOOLS = Object.keys(MISTAKES)
/** The shop, which all of them leave out. */
const SHOP = `
export type Paid = { id: string; amount: number; state: string; payment: { id: string } }
declare global {
  const connection: { host: string }
  function charge(amount: number, key: string): Promise<{ id: string }>
  function refund(payment: string): Promise<void>
  function insertShipment(order: string, payment: string): Promise<void>
  function loadOrder(id: string): Promise<Paid>
  function saveOrder(order: Paid): Promise<void>
}`
const ACTIVITIES = `
export declare function charge(amount: number, key: string): Promise<{ id: string }>
export declare function refund(payment: string): Promise<void>
export declare function ship(order: string, payment: string): Promise<void>`
const OPTIONS = [
  ...['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', 'node'],
  ...['--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'],
]

describe('programs of other tools', () => {
  let errors: readonly string[] = []

  beforeAll(() => {
    rmSync(PLACE, { recursive: true, force: true })
    mkdirSync(PLACE, { recursive: true })
    symlinkSync(join(ROOT, 'test/docs/compare/node_modules'), join(PLACE, 'node_modules'))
    const sources = TOOLS.flatMap((tool): [string, string][] => {
      const [right, wrong] = MISTAKES[tool] ?? ['', '']
      const code = programOf(tool)
      return [
        [`${tool}.ts`, code],
        [`${tool}-wrong.ts`, code.replace(right, wrong)],
      ]
    })
    sources.push(['shop.ts', SHOP], ['activities.ts', ACTIVITIES])
    for (const [name, code] of sources) writeFileSync(join(PLACE, name), code)
    errors = errorsIn(sources.map(([name]) => name))
  })

  test('one compilation of all of them finds no mistake but those that were put in', () => {
    expect(errors.filter((line) => !line.includes('-wrong.ts'))).toEqual([])
  })

  test.each(TOOLS)('a wrong word in the program of docs/compare/%s.md does not compile', (tool) => {
    expect(errors.join('\n')).toContain(`${tool}-wrong.ts(`)
  })

  test('no page has a program that is not compiled', () => {
    const pages = readdirSync(join(ROOT, 'docs/compare')).map((name) => name.replace('.md', ''))
    const shown = pages.flatMap((page) =>
      blocksOf(readPage(`docs/compare/${page}.md`), 'typescript').map(() => page),
    )
    expect(shown.sort()).toEqual(TOOLS)
  })

  test('docs/compare/README.md names the versions they are compiled with, which are those of the bench', () => {
    const bench = dependenciesOf('bench').dependencies
    const { dependencies } = dependenciesOf('test/docs/compare')
    const installed = { bullmq: dependenciesOf('.').devDependencies?.bullmq, ...dependencies }
    const imports = TOOLS.flatMap((tool) => [...programOf(tool).matchAll(/ from '([^.'][^']*)'/g)])
    expect([...new Set(imports.map((match) => match[1]))].sort()).toEqual(
      Object.keys(installed).sort(),
    )
    for (const [name, version] of Object.entries(installed)) {
      expect(readPage('docs/compare/README.md')).toContain(`\`${name}\` ${version}`)
      expect(bench?.[name] ?? version).toBe(version)
    }
  })
})

interface N8nWorkflow {
  readonly name: string
  readonly nodes: readonly { readonly name: string }[]
  readonly connections: Readonly<Record<string, { readonly main: readonly N8nTarget[][] }>>
}
interface N8nTarget {
  readonly node: string
}

test('the JSON on docs/compare/n8n.md has what n8n imports: nodes, and connections between them that reach each', () => {
  const [block] = blocksOf(readPage('docs/compare/n8n.md'), 'json')
  const { name, nodes, connections } = JSON.parse(block?.code ?? '') as N8nWorkflow
  expect(name).toBe('order')
  for (const node of nodes) {
    expect(node).toMatchObject({
      id: expect.any(String),
      name: expect.any(String),
      type: expect.stringMatching(/^n8n-nodes-base\.\w+$/),
      typeVersion: expect.any(Number),
      position: [expect.any(Number), expect.any(Number)],
      parameters: expect.any(Object),
    })
  }
  const names = nodes.map((node) => node.name)
  expect(new Set(names).size).toBe(nodes.length)
  const targets = Object.values(connections).flatMap(({ main }) => main.flat())
  for (const target of targets) expect(target).toMatchObject({ type: 'main', index: 0 })
  expect(['Order', ...targets.map(({ node }) => node)].sort()).toEqual([...names].sort())
  const asked = [...(block?.code ?? '').matchAll(/\$\('([^']+)'\)/g)].map((match) => match[1])
  expect(names).toEqual(expect.arrayContaining([...Object.keys(connections), ...asked]))
})

function programOf(tool: string): string {
  return blocksOf(readPage(`docs/compare/${tool}.md`), 'typescript')[0]?.code ?? ''
}

function errorsIn(names: readonly string[]): readonly string[] {
  const tsc = join(ROOT, 'node_modules/typescript-native/bin/tsc')
  try {
    execFileSync(process.execPath, [tsc, ...OPTIONS, ...names], { cwd: PLACE, encoding: 'utf8' })
    return []
  } catch (error) {
    return (error as { stdout: string }).stdout.split('\n').filter((line) => /^\S/.test(line))
  }
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function dependenciesOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest
}
