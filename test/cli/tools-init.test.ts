// perdure init: what it makes works with the package as it is published.

import { execFile, execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newFolder, perdure } from './tools-support.js'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')

/** As npm install would leave it: the package from its archive, the others as this repository has them. */
function install(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as { readonly filename: string }[]
  execFileSync('tar', ['-xzf', packed?.filename ?? ''], { cwd: folder })
  renameSync(join(folder, 'package'), join(modules, 'perdure'))
}

/** What it writes, if it ends well. */
async function bin(folder: string, name: string, ...argv: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_ENV: 'test', NO_COLOR: '1' }
  const file = join(folder, 'node_modules', name)
  const { stdout } = await run(process.execPath, [file, ...argv], { cwd: folder, env }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${name}: ${error.stdout}${error.stderr}`)
    },
  )
  return stdout
}

test('a new folder has a workflow, whose test passes, whose types are right, and which runs', async () => {
  const cwd = newFolder()
  const { exit, out } = await perdure(['init', 'my-workflows'], { cwd })
  expect(exit).toBe(0)
  expect(out).toContain('  my-workflows/workflows/hello.ts')
  expect(out).toContain('  cd my-workflows\n  npm install\n  npm test')
  const folder = join(cwd, 'my-workflows')
  expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
    name: 'my-workflows',
    type: 'module',
  })
  expect(readFileSync(join(folder, 'README.md'), 'utf8').split('\n').length).toBeLessThan(15)
  install(folder)

  writeFileSync(
    join(folder, 'run.ts'),
    `import { createEngine } from 'perdure'
import { hello } from './workflows/hello.js'
const engine = await createEngine({ workflows: [hello], database: 'memory:' })
await engine.start(hello, 'Ada', { id: 'h-1' })
while ((await engine.get('h-1'))?.status !== 'waiting') await new Promise((again) => setTimeout(again, 20))
console.log((await engine.explain('h-1')).sentence)
await engine.close()
`,
  )
  const [tested, , ran] = await Promise.all([
    bin(folder, 'vitest/vitest.mjs', 'run'),
    // Exit 1 if a type is wrong.
    bin(folder, 'typescript/bin/tsc'),
    bin(folder, 'tsx/dist/cli.mjs', 'run.ts'),
  ])
  expect(tested).toMatch(/Tests +1 passed/)
  expect(ran).toContain('h-1 is not moving because it sleeps')
}, 120_000)

test('a folder that has such files is refused, and left as it is', async () => {
  const cwd = newFolder()
  writeFileSync(join(cwd, 'package.json'), '{}')
  const { exit, err } = await perdure(['init'], { cwd })
  expect(exit).toBe(1)
  expect(err).toContain('has files of that name already: package.json. [FOLDER_TAKEN]')
  expect(readdirSync(cwd)).toEqual(['package.json'])
})
