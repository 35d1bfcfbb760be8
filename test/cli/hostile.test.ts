// What is given to the commands by mistake or in bad faith: it harms nothing, and is told what is wrong.

import { spawn } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { announce } from '../../src/cli/address.js'
import { harmless } from '../../src/cli/io.js'
import { warnOfReadable } from '../../src/cli/secrets.js'
import { perdure } from './captured.js'
import { served } from './world.js'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const world = served()
const folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function started(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const all = { PATH: process.env.PATH, ...env }
  const child = spawn(process.execPath, [MAIN, ...words], { cwd: folder, env: all })
  return { child, ended: new Promise<number | null>((done) => child.once('close', done)) }
}

const dev = (folderOf: string) => started(['dev', '--database', `file:${folderOf}`, '--port', '0'])

test('B118 a data directory that everybody may write to is refused with 2, and what to do', async () => {
  const data = join(folder, 'wide')
  mkdirSync(data)
  chmodSync(data, 0o777)
  const { child, ended } = dev(data)
  const said = await text(child.stderr)
  expect(said).toContain('everybody on this machine may write to the directory (mode 777)')
  expect(said).toContain(
    'next: chmod o-w wide, or name a directory inside it (it is made), then start again',
  )
  expect(await ended).toBe(2)
  expect(readdirSync(data)).toEqual([])
})

test('B118 where a process serves, and its token, is for its owner alone, whatever was there', () => {
  const file = join(folder, 'server.json')
  writeFileSync(join(folder, 'other'), 'mine')
  symlinkSync(join(folder, 'other'), file)
  const withdraw = announce(folder, { url: 'http://127.0.0.1:1', pid: process.pid, token: 't' })
  expect(lstatSync(file).mode & 0o777).toBe(0o600)
  expect(lstatSync(file).isSymbolicLink()).toBe(false)
  expect(readFileSync(join(folder, 'other'), 'utf8')).toBe('mine')
  withdraw()
})

test('B118 a file with a secret that everybody may read is warned of, and one without is not', () => {
  const lines: string[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (line: string) => void lines.push(line) }
  const file = (name: string, content: string, mode: number): string => {
    writeFileSync(join(folder, name), content)
    chmodSync(join(folder, name), mode)
    return join(folder, name)
  }
  const wide = [
    file('tokens.env', 'PERDURE_TOKENS=admin:s3cret', 0o644),
    file('url.env', 'DATABASE_URL=postgres://app:s3cret@db/app', 0o604),
    file('perdure.config.ts', "export default { serve: { tokens: [{ token: 's3cret' }] } }", 0o644),
  ]
  const fine = [
    file('mine.env', 'PERDURE_TOKENS=admin:s3cret', 0o600),
    file('plain.env', 'DATABASE_URL=postgres://db/app', 0o644),
    join(folder, 'nowhere.env'),
    null,
  ]
  warnOfReadable([...wide, ...fine], log)
  expect(lines).toEqual(
    wide.map(
      (path) =>
        `${path} has a secret, and everybody on this machine may read it: chmod o-r ${path}`,
    ),
  )
})

test.each(['the directory', 'lock', 'postgres'])(
  'B119 a data directory is refused with 2 if a link is %s',
  async (what) => {
    const data = join(folder, `linked-${what.replace(' ', '-')}`)
    const elsewhere = mkdtempSync(join(folder, 'elsewhere-'))
    if (what !== 'the directory') mkdirSync(data)
    symlinkSync(elsewhere, what === 'the directory' ? data : join(data, what))
    const { child, ended } = dev(data)
    const said = await text(child.stderr)
    expect(said).toContain(`is a symbolic link to ${elsewhere}. [DATABASE_UNSAFE]`)
    expect(said).toMatch(/next: (name the directory that it leads to|remove )/)
    expect(await ended).toBe(2)
    expect(readdirSync(elsewhere)).toEqual([])
  },
)

test('B116 the password of a database is in no message', async () => {
  const url = 'postgres://ada:hush-hush@127.0.0.1:1/none'
  const { exit, out, err } = await perdure(['doctor', '--database', url])
  expect(exit).not.toBe(0)
  expect([...out, ...err].join('\n')).not.toContain('hush-hush')
})

test.each(['-x', '--help', 'a\nb', '\u001b]0;owned\u0007'])(
  'B117 %j is no id of a run, and is not obeyed',
  async (id) => {
    const { exit } = await perdure(['--url', world.url, 'explain', '--', id])
    expect(exit).toBe(1)
  },
)

test('B117 of the language of terminals only colours and line ends are passed on', () => {
  expect(harmless('\u001b]0;owned\u0007 a\u009b2J\r')).toBe('�]0;owned� a�2J�')
  expect(harmless('\u001b[31mred\u001b[39m\n\tb')).toBe('\u001b[31mred\u001b[39m\n\tb')
})

test.each(['70000', '-1', 'http', '1.5'])('B120 the port %s is refused with 2', async (port) => {
  const { child, ended } = started(['dev', `--port=${port}`])
  expect(await text(child.stderr)).toContain('65535')
  expect(await ended).toBe(2)
})

test('B120 a port that is taken is refused with 2, and says so', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((listening) => other.once('listening', listening))
  const { port } = other.address() as { port: number }
  writeFileSync(join(folder, 'a.workflow.mjs'), WORKFLOW)
  const { child, ended } = started(['dev', '--port', String(port), '--database', 'memory:'])
  expect(await text(child.stderr)).toContain(String(port))
  expect(await ended).toBe(2)
  other.close()
})

const WORKFLOW = `import { workflow } from 'perdure'
export const nothing = workflow('nothing', async () => null)
`

test('B121 more than 4 MiB from stdin is refused, and not read to its end', async () => {
  const { child, ended } = started(['start', 'order', '--input', '-', '--url', world.url])
  child.stdin.on('error', () => {}) // it has heard enough
  const said = text(child.stderr)
  const part = Buffer.alloc(1024 * 1024, ' ')
  for (let sent = 0; sent < 64 && child.exitCode === null; sent += 1) {
    if (!child.stdin.write(part)) {
      await Promise.race([new Promise((go) => child.stdin.once('drain', go)), ended])
    }
  }
  expect(await said).toContain('More than 4 MiB')
  expect(await ended).toBe(2)
})

test('B122 a file .env is not read in production', async () => {
  writeFileSync(join(folder, '.env'), `PERDURE_URL=${world.url}\n`)
  const there = started(['runs'])
  expect(await there.ended).toBe(0)
  const produced = started(['runs'], { NODE_ENV: 'production' })
  expect(await produced.ended).toBe(2)
  rmSync(join(folder, '.env'))
})

test('B123 who has read enough of the output is no failure', async () => {
  const { child, ended } = started(['help', '--url', world.url])
  child.stdout.destroy()
  const err = await text(child.stderr)
  expect(err).not.toContain('EPIPE')
  expect(await ended).toBe(0)
})

test('B124 an unknown command and an unknown option are refused with 2, with what is near', async () => {
  const command = await perdure(['strat'])
  expect(command).toMatchObject({ exit: 2 })
  expect(command.err.join('\n')).toContain('start')
  const option = await perdure(['runs', '--staus', 'failed'])
  expect(option).toMatchObject({ exit: 2 })
  expect(option.err.join('\n')).toContain('--status')
})
