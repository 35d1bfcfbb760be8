// What a process loads: nobody waits for code that their command does not execute.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { folderWith, MAIN, ROOT } from './processes.js'

const HOOK = new URL('./loaded.mjs', import.meta.url).href
const HOME = pathToFileURL(ROOT).href
/** fetch itself refuses this port: nobody answers there, on any machine. */
const NOBODY = 'http://127.0.0.1:9'

interface Loaded {
  readonly folders: readonly string[]
  readonly packages: readonly string[]
}

/** Folders of dist and packages. */
function loadedBy(...words: readonly string[]): Loaded {
  const env = { PATH: process.env.PATH }
  const node = ['--import', HOOK, ...words]
  const { stderr } = spawnSync(process.execPath, node, { cwd: folderWith(), env, encoding: 'utf8' })
  const all = (place: string) => {
    const lines = stderr.split('\n').filter((line) => line.startsWith(`loaded ${HOME}${place}/`))
    const names = lines.map((line) => line.slice(`loaded ${HOME}${place}/`.length).split('/'))
    return names.map(([first = '', second]) => (/^@/.test(first) ? `${first}/${second}` : first))
  }
  const folders = all('dist').filter((name) => !name.endsWith('.js'))
  return { folders: unique(folders), packages: unique(all('node_modules')) }
}

const unique = (names: readonly string[]): string[] => [...new Set(names)].sort()

test('perdure --version, help and wrong options load what declares the commands', () => {
  const declared = { folders: ['cli', 'http', 'model'], packages: ['commander', 'picocolors'] }
  expect(loadedBy(MAIN, '--version')).toEqual(declared)
  expect(loadedBy(MAIN, 'worker', '--help')).toEqual(declared)
  expect(loadedBy(MAIN, 'serve', '--concurrency', '1')).toEqual(declared)
})

test('a command that talks to a server loads the client, and neither an engine nor a server', () => {
  const { folders, packages } = loadedBy(MAIN, 'runs', '--url', NOBODY)
  expect(folders).toEqual(['cli', 'client', 'http', 'model'])
  expect(packages).toEqual(['commander', 'devalue', 'picocolors'])
})

test("import 'perdure' loads what definitions are made of, and no engine", () => {
  const { folders, packages } = loadedBy(join(ROOT, 'dist/index.js'))
  expect(folders).toEqual(['authoring', 'model'])
  // Mistakes in graphs and triggers are told where they are made.
  expect(packages).toEqual(['@marcbachmann/cel-js', 'croner', 'devalue', 're2js'])
})

test('a worker loads its driver, and neither a server nor the embedded database', () => {
  const config = { 'perdure.config.mjs': "export default { database: 'postgres://127.0.0.1:9/x' }" }
  const { folders, packages } = loadedBy(MAIN, 'worker', folderWith(config))
  expect(folders).toEqual(expect.arrayContaining(['engine', 'kernel', 'store']))
  expect(packages).toContain('pg')
  const others = ['hono', '@hono/node-server', '@hono/zod-openapi', 'zod', '@electric-sql/pglite']
  expect(packages.filter((name) => others.includes(name))).toEqual([])
})
