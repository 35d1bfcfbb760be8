import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { freePorts } from '../support/guarded.mjs'
import { provideRedis, startRedis } from '../support/redis.mjs'
import { eventually } from '../support/world.js'
import { missing, POLLING, redis, Stage, TITLE } from './stage.js'

const AWAY = 'warn: Redis is away: runs go on by polling'
const BACK = 'info: Redis is back: processes hear hints again'
const RUNS = 60

describe.skipIf(missing !== null)(`Redis under ${TITLE}`, () => {
  test('[X03] flushed again and again, loses no run, timer, retry or signal (F13)', async () => {
    const server = await provideRedis()
    onTestFinished(() => server.stop())
    const stage = new Stage(server.url)
    const executed: string[] = []
    const lived = workflow('lived', async (wf) => {
      await wf.sleep('nap', 150)
      await wf.do(
        'flaky',
        ({ attempt }) => {
          if (attempt === 1) throw new Error('not yet')
          executed.push(wf.run.id)
        },
        { retry: { attempts: 3, delay: 100 } },
      )
      return wf.waitFor('go')
    })
    await stage.open([lived], { kernel: POLLING })
    await stage.open([lived], { kernel: POLLING })
    const caller = await stage.caller([lived])
    await stage.acquainted()
    const client = new Redis(server.url)
    let flushes = 0
    const flush = async () => {
      await client.flushall()
      flushes += 1
    }
    const flushing = setInterval(() => void flush(), 20)
    onTestFinished(() => {
      clearInterval(flushing)
      client.disconnect()
    })
    const items = Array.from({ length: RUNS }, () => ({ input: undefined }))
    const runs = await caller.startMany(lived, items)
    await eventually(() => executed.length).toBe(RUNS)
    await Promise.all(runs.map((run, i) => run.signal('go', i)))
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map((_, i) => i))
    expect(new Set(executed).size).toBe(RUNS)
    expect(flushes).toBeGreaterThan(5)
  })
})

describe.skipIf(missing !== null || !redis.isOurs)(`Redis that comes and goes, ${TITLE}`, () => {
  const double = task('double', (n: number) => n * 2)
  const triple = task('triple', (n: number) => n * 3)

  test('is absent at boot: the engine opens, says so once, runs by its poll, and hears hints when Redis comes (F13)', async () => {
    const [port = 0] = await freePorts(1)
    const stage = new Stage(`redis://127.0.0.1:${port}`)
    const polling = await stage.open([double], { kernel: POLLING })
    // Of what this one has, nothing can be done without hints.
    const hearing = await stage.open([triple])
    const caller = await stage.caller([double, triple])
    await stage.acquainted()
    expect(await (await caller.start(double, 4)).result()).toBe(8)
    const waiting = await caller.start(triple, 4)
    expect(await waiting.status()).toBe('pending')
    await eventually(() => polling.lines).toEqual([AWAY])

    const server = await startRedis({ port })
    onTestFinished(() => server.stop())
    for (const { lines } of [polling, hearing, caller]) {
      await eventually(() => lines).toEqual([AWAY, BACK])
    }
    // Each has a second connection, to listen on, which comes back by itself.
    await eventually(() => stage.listeners()).toBe(3)
    // What nobody had heard of is taken along with the next one.
    expect(await (await caller.start(triple, 5)).result()).toBe(15)
    expect(await waiting.result()).toBe(12)
  })

  test('is restarted: what it had is lost, and the next hints are heard (F13)', async () => {
    const first = await startRedis()
    const stage = new Stage(first.url)
    const worker = await stage.open([double])
    const caller = await stage.caller([double])
    await stage.acquainted()
    expect(await (await caller.start(double, 1)).result()).toBe(2)
    await first.stop()
    await eventually(() => worker.lines).toEqual([AWAY])
    await eventually(() => caller.lines).toEqual([AWAY])
    const lost = await caller.start(double, 2)
    const second = await startRedis({ port: first.port })
    onTestFinished(() => second.stop())
    await eventually(() => caller.lines).toEqual([AWAY, BACK])
    expect(await (await caller.start(double, 3)).result()).toBe(6)
    expect(await lost.result()).toBe(4)
  })

  test('is away when an engine closes: that takes no longer', async () => {
    const [port] = await freePorts(1)
    const stage = new Stage(`redis://127.0.0.1:${port}`)
    const engine = await stage.open([double])
    const from = performance.now()
    await engine.close()
    expect(performance.now() - from).toBeLessThan(5_000)
  })
})
