import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const minutes = (count: number) => count * 60_000

/** One project per folder of test/, with how long one of its tests may take. */
const FOLDERS = {
  tidy: minutes(1),
  model: minutes(0.25),
  kernel: minutes(0.5),
  support: minutes(1),
  contract: minutes(1),
  simulation: minutes(3),
  functions: minutes(1),
  conformance: minutes(2),
  docs: minutes(2),
  crash: minutes(10),
}
const SLOW = ['crash', 'support']
const isFast = process.env.PERDURE_TEST_FAST === '1'

export default defineConfig({
  test: {
    globalSetup: [path('test/support/global-setup.ts')],
    maxWorkers: 2,
    passWithNoTests: false,
    projects: Object.entries(FOLDERS)
      .filter(([name]) => existsSync(path(`test/${name}`)) && !(isFast && SLOW.includes(name)))
      .map(([name, timeoutMs]) => ({
        // Programs of the README and of the docs run as they are printed, on the sources.
        resolve: {
          alias: [
            { find: /^perdure$/, replacement: path('src/index.ts') },
            { find: /^perdure\/(\w+)$/, replacement: path('src/$1/index.ts') },
          ],
        },
        test: {
          name,
          include: [`test/${name}/**/*.test.ts`],
          environment: 'node',
          testTimeout: timeoutMs,
          hookTimeout: Math.max(minutes(1), timeoutMs),
        },
      })),
  },
})
