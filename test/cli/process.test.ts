// The program itself: dist/cli/main.js as a process of its own, alone, in a terminal, and on PostgreSQL.

import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { createEngine } from '../../src/index.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { perdure } from './captured.js'
import { DEFINITIONS, served } from './world.js'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const TERMINAL = fileURLToPath(new URL('./terminal.py', import.meta.url))
const world = served()
const folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly exit: number | null
  readonly out: string
  readonly err: string
}

async function started(command: string, words: readonly string[], stdin = ''): Promise<Ended> {
  const env = { PATH: process.env.PATH, TERM: 'xterm' }
  const child = spawn(command, words, { cwd: folder, env })
  child.stdin.end(stdin)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { exit: await ended, out, err }
}

/** What was typed after what; what was shown, without colours and without what was drawn over. */
async function inTerminal(words: readonly string[], steps: readonly object[]) {
  const lines = steps.map((step) => JSON.stringify(step)).join('\n')
  const all = [TERMINAL, '80', process.execPath, MAIN, ...words]
  const { out, err } = await started('python3', all, lines)
  expect(err).toBe('')
  const { shown, exit } = JSON.parse(out) as { shown: string; exit: number }
  // What is drawn over begins where its line begins.
  const drawn = shown
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\r\u001b[2K').at(-1) ?? '')
    .join('\n')
  return {
    exit,
    isColoured: shown.includes('\u001b[32m'),
    lines: stripVTControlCharacters(drawn).split('\n'),
  }
}

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import pty'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('a process reads .env, stdin and its options, and ends with the code of the run', async () => {
  writeFileSync(join(folder, '.env'), `PERDURE_URL=${world.url}\n`)
  const run = await started(process.execPath, [MAIN, 'run', 'quick', '--input', '-'], '{"n":1}')
  expect({ exit: run.exit, out: run.out }).toEqual({ exit: 0, out: '{"input":{"n":1}}\n' })
  expect(run.err).toMatch(/^quick [\w-]{36}\n {2}✓ completed +\d/)
  const order = ['run', 'order', '--input', '{"item":"tea"}', '--id', 'o-1']
  const waits = await started(process.execPath, [MAIN, ...order])
  expect(waits.exit).toBe(3)
  expect(waits.err).not.toContain('\u001b')
  const wrong = await started(process.execPath, [MAIN, 'rnu'])
  expect(wrong).toMatchObject({ exit: 2, out: '' })
})

const ORDER = ['run', 'order', '--input', '{"item":"tea"}', '--id']

test.skipIf(!hasPython())(
  'a terminal is asked for what the run waits for (needs python3 for a pseudo-terminal)',
  async () => {
    writeFileSync(join(folder, '.env'), `PERDURE_URL=${world.url}\n`)
    const { exit, lines, isColoured } = await inTerminal(
      [...ORDER, 'o-2'],
      [
        { after: 'ok (y/n)', type: 'perhaps\n' },
        { after: 'please: y or n', type: 'y\n' },
        { after: 'note', type: 'well packed\n' },
      ],
    )
    expect(exit).toBe(0)
    expect(isColoured).toBe(true)
    const text = lines.map((line) => line.trimEnd()).join('\n')
    expect(text).toContain('? approval · ok (y/n) perhaps\n    please: y or n\n')
    expect(text).toContain('? approval · note (may be left out) well packed\n')
    expect(text).toMatch(
      /✓ approval +\{"ok":true,"note":"wel.*\n {2}✓ completed .*\n\{"item":"tea"/,
    )
    // Nothing is told twice.
    expect(lines.filter((line) => line.includes('… approval'))).toHaveLength(1)
  },
)

test.skipIf(!hasPython())(
  'Ctrl-C in a terminal leaves the run going (needs python3 for a pseudo-terminal)',
  async () => {
    writeFileSync(join(folder, '.env'), `PERDURE_URL=${world.url}\n`)
    const steps = [{ after: 'ok (y/n)', type: '\u0003' }]
    const { exit, lines } = await inTerminal([...ORDER, 'o-3'], steps)
    expect(exit).toBe(130)
    expect(lines.join('\n')).toContain(
      'o-3 goes on without you; follow it again: perdure watch o-3',
    )
    expect((await world.engine.get('o-3'))?.status).toBe('waiting')
  },
)

describeOn(['postgres18'], 'perdure --database', (database) => {
  test('talks to the runs of other processes without a server', async () => {
    const schema = freshSchema()
    const url = urlOf(database)
    const engine = await createEngine({ database: url, schema, workflows: DEFINITIONS })
    try {
      const options = { env: { DATABASE_URL: url } }
      const say = (...words: string[]) => perdure([...words, '--schema', schema], options)
      const ran = await say('run', 'order', '--input', '{"item":"tea"}', '--id', 'o-1')
      expect(ran.exit).toBe(3)
      expect(ran.err.at(-1)).toBe('  perdure signal o-1 approval')
      expect((await say('signal', 'o-1', 'approval', '{"ok":true}')).exit).toBe(0)
      const watched = await say('watch', 'o-1')
      expect(watched).toMatchObject({ exit: 0 })
      expect(watched.out.at(-1)).toBe('{"item":"tea"}')
      expect((await say('start', 'ordr')).err[0]).toBe(
        'There is no definition "ordr". [DEFINITION_UNKNOWN]',
      )
    } finally {
      await engine.close()
    }
  })
})
