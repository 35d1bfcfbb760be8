import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { defineConfig } from 'vitest/config'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const minutes = (count: number) => count * 60_000

/** How long one test may take. Each folder of test/ is a project of its own. */
const TIMEOUTS_MS: Readonly<Record<string, number>> = {
  model: minutes(0.25),
  types: minutes(3),
  kernel: minutes(0.5),
  mounting: minutes(4),
  package: minutes(4),
  simulation: minutes(3),
  conformance: minutes(2),
  testing: minutes(2),
  http: minutes(2),
  browser: minutes(2),
  bullmq: minutes(2),
  redis: minutes(2),
  demo: minutes(6),
  docs: minutes(4),
  cli: minutes(3),
  crash: minutes(10),
  fleet: minutes(10),
}
const TIMEOUT_MS = minutes(1)
const SLOW = [
  'browser',
  'bullmq',
  'conformance',
  'crash',
  'demo',
  'docs',
  'embedded',
  'fleet',
  'golden',
  'mounting',
  'nestjs',
  'orms',
  'package',
  'redis',
  'support',
  'testing',
  'types',
]
/** Left out as well: the slowest files of the others. */
const SLOW_FILES = [
  ...['contract/differential', 'functions/database', 'functions/divergence', 'tidy/generated'].map(
    (name) => `test/${name}.test.ts`,
  ),
  ...['graphs/live', 'graphs/stored', 'http/client', 'http/insight', 'http/streams'].map(
    (name) => `test/${name}.test.ts`,
  ),
  ...['defects', 'races', 'simulation'].map((name) => `test/simulation/${name}.test.ts`),
  ...['dev-reload', 'hostile', 'process', 'serve-processes', 'talk'].map(
    (name) => `test/cli/${name}.test.ts`,
  ),
  ...['doctor', 'init', 'migrate', 'running'].map((name) => `test/cli/tools-${name}.test.ts`),
  ...['forks', 'operating', 'rounds', 'scopes', 'transactions'].map(
    (name) => `test/functions/${name}-live.test.ts`,
  ),
  ...['places', 'failing', 'events', 'children'].map(
    (name) => `test/machines/${name}-live.test.ts`,
  ),
]
/** Files of these share what they have loaded: they leave nothing behind that another could see. */
const SHARED = [
  ...['conformance', 'contract', 'functions', 'graphs', 'http', 'kernel', 'machines', 'model'],
  ...['simulation', 'studio', 'testing', 'tidy'],
]
const isFast = process.env.PERDURE_TEST_FAST === '1'

/**
 * Vite leaves standard decorators as they are, and Node does not know them: such files go through tsc, as those of users do.
 * What imports NestJS gets the legacy ones, with metadata. A folder `legacy` is left to Vite, which lowers them if its tsconfig says so.
 */
const decorators = {
  name: 'decorators',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!/\.ts$/.test(id) || id.includes('/legacy/') || !/^\s*@[A-Z]\w*\(/m.test(code)) return null
    const isOfNest = /from '@nestjs\//.test(code)
    const compilerOptions = {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      sourceMap: true,
      verbatimModuleSyntax: true,
      experimentalDecorators: isOfNest,
      emitDecoratorMetadata: isOfNest,
    }
    const made = ts.transpileModule(code, { fileName: id, compilerOptions })
    return { code: made.outputText, map: made.sourceMapText ?? null }
  },
}

/** The tests of a folder run once more for each of these: with those versions of its peers in the place of the usual ones. */
const MAJORS: Readonly<Record<string, readonly string[]>> = { nestjs: ['10', '12'], bullmq: ['5'] }
const PEERS = /^(@nestjs\/[\w-]+|rxjs|reflect-metadata|bullmq|ioredis)$/

/** Takes all cores by itself: a project that comes behind all others, so that what it says of its time is true. */
const ALONE = 'test/simulation/worlds.test.ts'

interface Project {
  readonly name: string
  readonly folder: string
  readonly major: string | null
  readonly isAlone?: boolean
}

const projects = readdirSync(path('test'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !(isFast && SLOW.includes(entry.name)))
  .flatMap(({ name }): Project[] => [
    { name, folder: name, major: null },
    ...(isFast ? [] : (MAJORS[name] ?? [])).map((major) => ({
      name: `${name}-${major}`,
      folder: name,
      major,
    })),
  ])
  .concat({ name: 'worlds', folder: 'simulation', major: null, isAlone: true })

export default defineConfig({
  test: {
    globalSetup: [path('test/support/global-setup.ts')],
    maxWorkers: 2,
    passWithNoTests: false,
    // A source is transformed once for all projects, and not again until it changes.
    experimental: { fsModuleCache: true, fsModuleCachePath: path('.cache/vitest') },
    projects: projects.map(({ name, folder, major, isAlone = false }) => ({
      plugins: [decorators],
      // Programs of the README and of the docs run as they are printed, on the sources.
      resolve: {
        alias: [
          { find: /^perdure$/, replacement: path('src/index.ts') },
          { find: /^perdure\/(\w+)$/, replacement: path('src/$1/index.ts') },
          ...(major === null
            ? []
            : [
                {
                  find: PEERS,
                  replacement: path(`test/${folder}/majors/${major}/node_modules/$1`),
                },
              ]),
          ...(name === 'docs'
            ? [{ find: /^@electric-sql\/pglite$/, replacement: path('test/support/pglite.mjs') }]
            : []),
        ],
      },
      test: {
        name,
        ...(name === 'browser' && { globalSetup: [path('test/browser/global-setup.ts')] }),
        include: [isAlone ? ALONE : `test/${folder}/**/*.test.ts`],
        exclude: [
          '**/node_modules/**',
          ...(isAlone ? [] : [ALONE]),
          ...(isFast ? SLOW_FILES : []),
          // As it is published, which is with our own packages; and what no version changes.
          ...(major === null ? [] : ['**/example.test.ts', '**/options.test.ts']),
        ],
        environment: 'node',
        sequence: { groupOrder: isAlone ? 1 : 0 },
        isolate: !SHARED.includes(name),
        ...(major !== null && { env: { PEER_MAJOR: major } }),
        testTimeout: TIMEOUTS_MS[folder] ?? TIMEOUT_MS,
        hookTimeout: TIMEOUTS_MS[folder] ?? TIMEOUT_MS,
      },
    })),
  },
})
