// The programs of this folder compile, and every mistake in them is refused (an unused @ts-expect-error fails).

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const isBuilt = existsSync(path('../../dist/index.d.ts'))
let said: readonly string[] = []

beforeAll(async () => {
  const published = isBuilt ? ['tsconfig.published.json'] : []
  const args = [path('compile.mjs'), 'tsconfig.json', 'tsconfig.legacy.json', ...published]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  said = JSON.parse(stdout) as string[]
})

test('every program compiles and every mistake is refused', () => {
  expect(said[0]).toBe('no problems')
})

test('so it is with experimentalDecorators', () => {
  expect(said[1]).toBe('no problems')
})

test('so it is with the declarations that are published', (context) => {
  context.skip(!isBuilt, 'dist is missing: npm run build')
  expect(said[2]).toBe('no problems')
})

test.for(['typescript-5', 'typescript-native'])(
  'so it is with the declarations that are published, under %s',
  async (compiler, context) => {
    context.skip(!isBuilt, 'dist is missing: npm run build')
    const tsc = path(`../../node_modules/${compiler}/bin/tsc`)
    const args = [tsc, '-p', path('tsconfig.published.json'), '--noEmit', '--pretty', 'false']
    const { stdout } = await promisify(execFile)(process.execPath, args).catch(
      (error: { stdout: string }) => error,
    )
    expect(stdout).toBe('')
  },
)
