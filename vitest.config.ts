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
  simulation: minutes(3),
  conformance: minutes(2),
  testing: minutes(2),
  http: minutes(2),
  browser: minutes(2),
  bullmq: minutes(2),
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
  'support',
  'testing',
  'types',
]
/** Left out as well: the slowest files of the others. */
const SLOW_FILES = [
  'test/simulation/defects.test.ts',
  ...['dev-reload', 'serve-processes'].map((name) => `test/cli/${name}.test.ts`),
  ...['database', 'forks-live', 'rounds-live'].map((name) => `test/functions/${name}.test.ts`),
  ...['places', 'failing', 'events', 'children'].map(
    (name) => `test/machines/${name}-live.test.ts`,
  ),
]
const isFast = process.env.PERDURE_TEST_FAST === '1'

/**
 * Vite leaves standard decorators as they are, and Node does not know them: such files go through tsc, as those of users do.
 * Files in a folder `legacy` are left to Vite, which lowers legacy ones if their tsconfig says so.
 */
const decorators = {
  name: 'decorators',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!/\.ts$/.test(id) || id.includes('/legacy/') || !/^\s*@[A-Z]\w*\(/m.test(code)) return null
    const { ES2022: target } = ts.ScriptTarget
    const { ESNext: module } = ts.ModuleKind
    const compilerOptions = { target, module, sourceMap: true, verbatimModuleSyntax: true }
    const made = ts.transpileModule(code, { fileName: id, compilerOptions })
    return { code: made.outputText, map: made.sourceMapText ?? null }
  },
}

export default defineConfig({
  test: {
    globalSetup: [path('test/support/global-setup.ts')],
    maxWorkers: 2,
    passWithNoTests: false,
    projects: readdirSync(path('test'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !(isFast && SLOW.includes(entry.name)))
      .map(({ name }) => ({
        plugins: [decorators],
        // Programs of the README and of the docs run as they are printed, on the sources.
        resolve: {
          alias: [
            { find: /^perdure$/, replacement: path('src/index.ts') },
            { find: /^perdure\/(\w+)$/, replacement: path('src/$1/index.ts') },
            ...(name === 'docs'
              ? [{ find: /^@electric-sql\/pglite$/, replacement: path('test/support/pglite.mjs') }]
              : []),
          ],
        },
        test: {
          name,
          ...(name === 'browser' && { globalSetup: [path('test/browser/global-setup.ts')] }),
          include: [`test/${name}/**/*.test.ts`],
          exclude: isFast ? SLOW_FILES : [],
          environment: 'node',
          testTimeout: TIMEOUTS_MS[name] ?? TIMEOUT_MS,
          hookTimeout: TIMEOUTS_MS[name] ?? TIMEOUT_MS,
        },
      })),
  },
})
