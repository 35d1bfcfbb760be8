// What is published: packed as npm packs it, looked at by the tools that look at packages, and installed into an empty project.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT, read } from '../tidy/repository.js'

const shell = promisify(execFile)
const MB = 1024 * 1024
/** What a user gets with `npm install perdure`; more of it needs a reason. */
const PACKAGES_MAX = 45
const INSTALLED_MB_MAX = 80
const PACKED_MB_MAX = 4

interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}
const place = mkdtempSync(join(tmpdir(), 'perdure-package-'))
const project = join(place, 'project')
let packed: Packed

beforeAll(async () => {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', place]
  const { stdout } = await shell('npm', args, { cwd: ROOT, maxBuffer: 64 * MB })
  packed = (JSON.parse(stdout) as [Packed])[0]
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "name": "empty", "type": "module" }')
  const tarball = join(place, packed.filename)
  const how = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--omit=dev']
  await shell('npm', ['install', ...how, tarball], { cwd: project, maxBuffer: 64 * MB })
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

test('it has what was built, the migrations and the documents, and nothing else', () => {
  const top = new Set(packed.files.map(({ path }) => path.split('/').slice(0, 1).join('/')))
  const known = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'docs', 'llms.txt', 'package.json']
  expect([...top].sort()).toEqual([...known, 'sql'].sort())
  const strange = packed.files.filter(({ path }) =>
    /\.(test|tsbuildinfo|log|env)\b|\/\.|node_modules/.test(path),
  )
  expect(strange).toEqual([])
  expect(packed.size / MB).toBeLessThan(PACKED_MB_MAX)
})

test('publint finds nothing to say', async () => {
  const pkgDir = join(project, 'node_modules/perdure')
  const { messages } = await publint({ pkgDir, pack: false, strict: true })
  const pkg = JSON.parse(read('package.json')) as Record<string, unknown>
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})

test('every entry has types that fit, for whoever resolves modules as Node or a bundler does', async () => {
  const data = new Uint8Array(readFileSync(join(place, packed.filename)))
  const result = await checkPackage(createPackageFromTarballData(data))
  if (!result.types) throw new Error('there are no types')
  // It is a package of ES modules: `require` of it is for Node 20.19 and newer, and the resolution of Node 10 knows no exports.
  const found = result.problems.filter((problem) => {
    const isOld = 'resolutionKind' in problem && problem.resolutionKind === 'node10'
    return !isOld && problem.kind !== 'CJSResolvesToESM'
  })
  expect(found).toEqual([])
})

test('installed into an empty project without a script of anybody, a workflow runs and the command answers', async () => {
  const program = `
    import { createEngine, workflow } from 'perdure'
    const hello = workflow('hello', async (wf, name) => wf.do('greet', () => 'Hello, ' + name))
    const engine = await createEngine({ workflows: [hello], database: 'memory:' })
    console.log((await engine.run(hello, 'Ada')).output)
    await engine.close()
  `
  writeFileSync(join(project, 'main.js'), program)
  const env = { ...process.env, LOG_LEVEL: 'error' }
  const ran = await shell(process.execPath, ['main.js'], { cwd: project, env })
  expect(ran.stdout).toBe('Hello, Ada\n')
  const command = join(project, 'node_modules/.bin/perdure')
  const { stdout } = await shell(command, ['--version'], { cwd: project })
  expect(stdout.trim()).toBe((JSON.parse(read('package.json')) as { version: string }).version)
})

test('what comes with it stays within its bounds', () => {
  const installed = JSON.parse(
    readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8'),
  ) as { packages: Record<string, unknown> }
  const count = Object.keys(installed.packages).length
  const size = bytesBelow(join(project, 'node_modules')) / MB
  console.info(
    `${count} packages, ${size.toFixed(1)} MB; packed ${(packed.size / MB).toFixed(1)} MB`,
  )
  expect(count).toBeLessThanOrEqual(PACKAGES_MAX)
  expect(size).toBeLessThanOrEqual(INSTALLED_MB_MAX)
})

function bytesBelow(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += bytesBelow(path)
    else if (entry.isFile()) bytes += readFileSync(path).byteLength
  }
  return bytes
}
