import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import ts from 'typescript'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Hint } from '../../src/kernel/ports.js'
import { makeSender, openHints, readHints, writeHint } from '../../src/live-hints.js'
import { type LogOptions, standardLog } from '../../src/live-log.js'
import { makeQuiet, openLivePorts } from '../../src/live-ports.js'
import type { Uid } from '../../src/model/ids.js'
import type { Driver } from '../../src/store/driver.js'

describe('quiet', () => {
  test('uses one macrotask for all that was asked in one', () => {
    const flushes: (() => void)[] = []
    const quiet = makeQuiet((flush) => flushes.push(flush))
    const called: number[] = []
    for (const n of [1, 2, 3]) quiet.next(() => called.push(n))
    expect([flushes.length, called]).toEqual([1, []])
    flushes[0]?.()
    expect(called).toEqual([1, 2, 3])
  })

  test('keeps what is asked while it answers for the next one', () => {
    const flushes: (() => void)[] = []
    const quiet = makeQuiet((flush) => flushes.push(flush))
    const called: string[] = []
    quiet.next(() => quiet.next(() => called.push('inner')))
    flushes[0]?.()
    expect([flushes.length, called]).toEqual([2, []])
    flushes[1]?.()
    expect(called).toEqual(['inner'])
  })

  test('one that throws takes none of the others with it', () => {
    const flushes: (() => void)[] = []
    const quiet = makeQuiet((flush) => flushes.push(flush))
    const called: string[] = []
    quiet.next(() => {
      throw new Error('mine')
    })
    quiet.next(() => called.push('other'))
    expect(() => flushes[0]?.()).toThrow('mine')
    flushes[1]?.()
    expect(called).toEqual(['other'])
  })

  test('calls back when the promises that could go on have gone on', async () => {
    const called: string[] = []
    const quiet = makeQuiet()
    const over = new Promise<void>((resolve) =>
      quiet.next(() => {
        called.push('quiet')
        resolve()
      }),
    )
    void (async () => {
      for (let i = 0; i < 50; i += 1) await Promise.resolve()
      called.push('body')
    })()
    await over
    expect(called).toEqual(['body', 'quiet'])
  })
})

describe('hints', () => {
  const hints: Hint[] = [
    { kind: 'due', definition: 'order' },
    { kind: 'due', definition: null },
    { kind: 'mail', uid: 'u-1' as Uid },
    { kind: 'ended' },
    { kind: 'watched', uid: 'u-2' as Uid },
    { kind: 'changed', uid: 'u-2' as Uid },
  ]

  test('survive the way as text, and what a newer version says is left out', () => {
    expect(readHints(`${hints.map(writeHint).join(' ')} zfuture`)).toEqual(hints)
  })

  test('the first goes out at once, the next are gathered, each once', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const sent: string[] = []
    const sender = makeSender((payload) => sent.push(payload))
    for (const word of ['a', 'b', 'c', 'b']) sender.send(word)
    expect(sent).toEqual(['a'])
    vi.advanceTimersByTime(30)
    expect(sent).toEqual(['a', 'b c'])
    sender.send('d')
    sender.send('e')
    sender.close()
    expect(sent).toEqual(['a', 'b c', 'd', 'e'])
  })

  test('no payload is longer than PostgreSQL takes', () => {
    const sent: string[] = []
    const sender = makeSender((payload) => sent.push(payload))
    for (let i = 0; i < 1_000; i += 1) sender.send(`m${'x'.repeat(36)}${i}`)
    sender.close()
    expect(sent.every((payload) => payload.length < 8_000)).toBe(true)
    expect(sent.join(' ').split(' ')).toHaveLength(1_000)
  })

  test('a database that cannot listen costs latency only', async () => {
    const warned: string[] = []
    const log = { ...standardLog(), warn: (message: string) => void warned.push(message) }
    const driver = {
      notify: () => {},
      listen: () => Promise.reject(new Error('pooler')),
    } as unknown as Driver
    const opened = await openHints(driver, 'perdure', log)
    opened.publish({ kind: 'ended' })
    await opened.close()
    expect(warned).toEqual(['this process hears no notifications; it polls'])
  })
})

describe('the clock', () => {
  test('cuts what a timer cannot hold instead of firing at once', async () => {
    const { clock } = await openLivePorts({} as never, standardLog(), {})
    let fired = false
    const off = clock.after(2 ** 31 + 5_000, () => {
      fired = true
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    off()
    expect(fired).toBe(false)
  })
})

describe('the log', () => {
  const said = (options: LogOptions): string[] => {
    const lines: string[] = []
    const now = () => new Date(2026, 0, 2, 3, 4, 5, 6)
    const log = standardLog({ env: {}, write: (line) => lines.push(line), now, ...options })
    log.debug('a')
    log.info('b', { runId: 'o-1', attempt: 2 })
    log.warn('two\n  lines', { error: new TypeError('x'), big: 5n, nested: { apiKey: 'sk-1' } })
    log.error('plain', { authorization: 'Bearer x' })
    return lines.map((line) => stripVTControlCharacters(line))
  }

  test('is for people in a terminal', () => {
    const lines = said({ isTerminal: true })
    expect(lines[0]).toBe('03:04:05 info  b runId=o-1 attempt=2\n')
    expect(lines[1]).toMatch(
      /^03:04:05 warn {2}two lines error=\{"name":"TypeError","message":"x".*\} big="5" nested=\{"apiKey":"\[hidden\]"\}\n$/,
    )
    expect(lines[2]).toBe('03:04:05 error plain authorization=[hidden]\n')
    expect(lines).toHaveLength(3)
  })

  test('is JSON elsewhere, one object a line, without secrets', () => {
    const lines = said({ isTerminal: false })
    const objects = lines.map((line) => JSON.parse(line))
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
    expect(objects[0]).toEqual({
      time: new Date(2026, 0, 2, 3, 4, 5, 6).toISOString(),
      level: 'info',
      message: 'b',
      runId: 'o-1',
      attempt: 2,
    })
    expect(objects[1]).toMatchObject({ error: { name: 'TypeError', message: 'x' }, big: '5' })
    expect(objects[2].authorization).toBe('[hidden]')
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const odd: string[] = []
    standardLog({ env: {}, isTerminal: false, write: (line) => odd.push(line) }).warn('odd', cycle)
    expect(JSON.parse(odd[0] ?? '')).toMatchObject({ level: 'warn', message: 'odd' })
  })

  test('says as much as LOG_LEVEL, in the form of LOG_FORMAT', () => {
    const count = (env: Record<string, string>) => said({ env }).length
    expect(
      ['debug', 'info', 'warn', 'error', 'silent'].map((LOG_LEVEL) => count({ LOG_LEVEL })),
    ).toEqual([4, 3, 2, 1, 0])
    expect(said({ env: { LOG_FORMAT: 'json' }, isTerminal: true })[0]).toMatch(/^\{/)
    expect(said({ env: { LOG_FORMAT: 'text' }, isTerminal: false })[0]).toMatch(/^03:04:05/)
  })
})

describe('fault points', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-faults-'))
  const program = join(folder, 'program.mjs')
  const source = readFileSync(new URL('../../src/live-faults.ts', import.meta.url), 'utf8')
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
  writeFileSync(
    program,
    `${ts.transpileModule(source, { compilerOptions: options }).outputText}
    const fault = makeFault(process.env)
    for (let i = 0; i < 3; i += 1) { fault('here'); fault('a:b'); console.log(i) }`,
  )
  const run = (env: Record<string, string>) =>
    new Promise<{ out: string; signal: string | null }>((resolve) => {
      const child = spawn(process.execPath, [program], { env: { ...process.env, ...env } })
      let out = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => {
          out += chunk
        })
      }
      child.on('close', (_code, signal) => resolve({ out, signal }))
    })

  test('kill the process at the asked hit', async () => {
    expect(await run({ PERDURE_FAULT: 'here:2' })).toEqual({ out: '0\n', signal: 'SIGKILL' })
  })

  test('stop it if asked, at a point whose name has a colon', async () => {
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, PERDURE_FAULT: 'a:b:1:stop' },
      stdio: 'ignore',
    })
    const state = () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.[0]
    await expect.poll(state, { timeout: 5_000 }).toBe('T')
    child.kill('SIGKILL')
  })

  test('count what was hit', async () => {
    const file = join(folder, 'counts')
    expect(await run({ PERDURE_FAULT_COUNT: file })).toEqual({ out: '0\n1\n2\n', signal: null })
    expect(readFileSync(file, 'utf8')).toBe('here 3\na:b 3\n')
  })
})
