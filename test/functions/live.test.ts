import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import type { Hint } from '../../src/kernel/ports.js'
import { makeSender, openHints, readHints, writeHint } from '../../src/live-hints.js'
import { makeQuiet, openLivePorts, standardLog } from '../../src/live-ports.js'
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
  ]

  test('survive the way as text, and what a newer version says is left out', () => {
    expect(readHints(`${hints.map(writeHint).join(' ')} zfuture`)).toEqual(hints)
  })

  test('the first goes out at once, the next are gathered, each once', async () => {
    const sent: string[] = []
    const sender = makeSender((payload) => sent.push(payload))
    for (const word of ['a', 'b', 'c', 'b']) sender.send(word)
    expect(sent).toEqual(['a'])
    await new Promise((resolve) => setTimeout(resolve, 30))
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
  test('writes warnings and errors in one line each, and nothing else', () => {
    const lines: string[] = []
    const log = standardLog((line) => lines.push(line))
    log.debug('a')
    log.info('b')
    log.warn('two\n  lines', { error: new TypeError('x'), big: 5n })
    log.error('plain')
    expect(lines).toEqual([
      'perdure warn: two lines {"error":"TypeError: x","big":"5"}\n',
      'perdure error: plain\n',
    ])
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
