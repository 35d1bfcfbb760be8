// The programs of this folder compile, and every mistake in them is refused (an unused @ts-expect-error fails).

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

function compile(project: string): Promise<string> {
  const args = [path('../../node_modules/typescript/bin/tsc'), '-p', path(project), '--noEmit']
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: path('.') }, (error, stdout, stderr) =>
      resolve(error ? stdout + stderr : 'no problems'),
    )
  })
}

test('every program compiles and every mistake is refused', async () => {
  expect(await compile('tsconfig.json')).toBe('no problems')
})

test('so it is with experimentalDecorators', async () => {
  expect(await compile('tsconfig.legacy.json')).toBe('no problems')
})

test('so it is with the declarations that are published', async (context) => {
  context.skip(!existsSync(path('../../dist/index.d.ts')), 'dist is missing: npm run build')
  expect(await compile('tsconfig.published.json')).toBe('no problems')
})
