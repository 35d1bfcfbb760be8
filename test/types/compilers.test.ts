// One class machine as every compiler leaves it, with standard decorators and with legacy ones: it is the same machine.

import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { transform } from '@swc/core'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { openTestEngine } from '../../src/testing/create-test-engine.js'
import { openMemoryDatabase } from '../../src/testing/memory-database.js'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
/** Inside the repository, so that packages are found; ignored by git. */
const PLACE = path('../../.cache/compilers')
const SOURCE = path('compilers/review.ts')
const KINDS = { standard: { decorators: 'standard' }, legacy: { decorators: 'legacy' } }
const HAPPENED = {
  refused: ['TRANSITION_UNAVAILABLE', 'TRANSITION_UNAVAILABLE'],
  place: 'shelved',
  output: {
    text: 'About bees, version 3',
    by: 'ada',
    seen: ['round 1', 'round 2', 'round 3'],
  },
  texts: [1, 2, 3].map((round) => `Version: About bees, version ${round}`),
  // Nobody has brought reflect-metadata along.
  isMetadataMade: false,
}

async function inNode(
  files: readonly string[],
  args: readonly string[] = [],
  env: object = {},
): Promise<unknown[]> {
  const command = [...args, path('compilers/run.mjs'), ...files]
  const options = { env: { ...process.env, NODE_OPTIONS: '', ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, command, options)
  return JSON.parse(stdout) as unknown[]
}

function byTsc(options: ts.CompilerOptions): string {
  const { ES2022: target } = ts.ScriptTarget
  const { ESNext: module } = ts.ModuleKind
  const compilerOptions = { target, module, ...options }
  return ts.transpileModule(readFileSync(SOURCE, 'utf8'), { compilerOptions }).outputText
}

async function bySwc(transformation: object): Promise<string> {
  const parser = { syntax: 'typescript', decorators: true } as const
  const jsc = { parser, target: 'es2022', transform: transformation } as const
  const { code } = await transform(readFileSync(SOURCE, 'utf8'), { swcrc: false, jsc })
  return code
}

const COMPILED: Readonly<Record<string, () => string | Promise<string>>> = {
  'tsc, standard': () => byTsc({}),
  'tsc, legacy': () => byTsc({ experimentalDecorators: true }),
  'tsc, legacy with metadata': () =>
    byTsc({ experimentalDecorators: true, emitDecoratorMetadata: true }),
  'swc, 2022-03': () => bySwc({ decoratorVersion: '2022-03' }),
  'swc, 2023-11': () => bySwc({ decoratorVersion: '2023-11' }),
  'swc, legacy': () => bySwc({ legacyDecorator: true }),
  'swc, legacy with metadata': () => bySwc({ legacyDecorator: true, decoratorMetadata: true }),
}

describe('a class machine', () => {
  let happened: ReadonlyMap<string, unknown> = new Map()
  beforeAll(async () => {
    mkdirSync(PLACE, { recursive: true })
    const names = Object.keys(COMPILED)
    const files = names.map((name) => join(PLACE, `${name.replace(/\W+/g, '-')}.mjs`))
    for (const [i, make] of Object.values(COMPILED).entries())
      writeFileSync(files[i] ?? '', await make())
    const all = await inNode(files)
    happened = new Map(names.map((name, i) => [name, all[i]]))
  })

  test.each(Object.keys(COMPILED))('is the same one compiled by %s', (name) => {
    const kind = KINDS[name.includes('legacy') ? 'legacy' : 'standard']
    expect(happened.get(name)).toEqual({ ...HAPPENED, ...kind })
  })

  test.each([
    ['standard', 'tsconfig.json'],
    ['legacy', 'tsconfig.legacy.json'],
  ] as const)('is the same one under tsx, %s', async (kind, config) => {
    const env = { TSX_TSCONFIG_PATH: path(`compilers/${config}`) }
    expect(await inNode([SOURCE], ['--import', 'tsx'], env)).toEqual([
      { ...HAPPENED, ...KINDS[kind] },
    ])
  })

  test('is the same one under Vitest, standard, through a plugin that lowers them', async () => {
    expect(await inVitest(SOURCE)).toEqual({ ...HAPPENED, ...KINDS.standard })
  })

  test('is the same one under Vitest, legacy, as Vite lowers them', async () => {
    const folder = join(PLACE, 'legacy')
    mkdirSync(folder, { recursive: true })
    copyFileSync(path('compilers/tsconfig.legacy.json'), join(folder, 'tsconfig.json'))
    copyFileSync(SOURCE, join(folder, 'review.ts'))
    const happened = await inVitest(join(folder, 'review.ts'))
    expect(happened).toEqual({ ...HAPPENED, ...KINDS.legacy })
  })
})

async function inVitest(file: string): Promise<unknown> {
  const { Review, happened } = (await import(
    pathToFileURL(file).href
  )) as typeof import('./compilers/review.js')
  const instead = { openDatabase: openMemoryDatabase, trouble: null }
  const engine = await openTestEngine({ workflows: [Review] }, instead)
  const did = await happened(engine)
  await engine.close()
  return did
}
