import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { provideRedis, type RedisServer } from '../support/redis.mjs'
import { eventually, fresh, gate } from '../support/world.js'
import { missing, POLLING, Stage, TITLE } from './stage.js'

describe.skipIf(missing !== null)(`hints over ${TITLE}`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await provideRedis()
  })
  afterAll(() => server?.stop())

  test('bring a run to another process, and its end back, without a poll', async () => {
    const stage = new Stage(server.url)
    const double = task('double', (n: number) => n * 2)
    await stage.open([double])
    const caller = await stage.open([double], { worker: false })
    await stage.acquainted()
    const runs = await caller.startMany(
      double,
      [1, 2, 3].map((input) => ({ input })),
    )
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([2, 4, 6])
  })

  test('wake a run at its time when the process that parked it is gone, and one that was started with a delay', async () => {
    const stage = new Stage(server.url)
    const nap = workflow('nap', async (wf, ms: number) => {
      await wf.sleep('nap', ms)
      return 'awake'
    })
    const first = await stage.open([nap])
    const caller = await stage.open([nap], { worker: false })
    await stage.acquainted()
    const run = await caller.start(nap, 1_500)
    await eventually(() => run.status()).toBe('waiting')
    const queue = stage.queue()
    await eventually(() => queue.getDelayedCount()).toBe(1)
    // Opens, and looks once; it hears of nothing but by hints.
    await stage.open([nap])
    await first.close()
    await stage.acquainted()
    const late = await caller.start(nap, 1, { delay: 300 })
    expect(await run.result()).toBe('awake')
    expect(await late.result()).toBe('awake')
    await eventually(() => queue.getJobCountByTypes()).toBe(0)
  })

  test('are jobs with the name of the definition and the id of the run, never its input, and are gone when they are done', async () => {
    const stage = new Stage(server.url)
    const pay = task('pay', (_: { readonly card: string }) => 'paid')
    const caller = await stage.caller([pay])
    await stage.caller([pay])
    await stage.acquainted()
    const run = await caller.start(pay, { card: '4111-1111' }, { id: 'order-7' })
    const later = await caller.start(pay, { card: '4111-1111' }, { id: 'far', delay: '2 days' })
    const queue = stage.queue()
    await eventually(() => queue.getWaitingCount()).toBe(1)
    const [job] = await queue.getJobs()
    expect(job).toMatchObject({ name: 'pay', data: { run: 'order-7', workspace: 'default' } })
    expect(JSON.stringify(job)).not.toContain('4111')
    // Waits of days are left to the database.
    expect(await queue.getDelayedCount()).toBe(0)
    await stage.open([pay])
    expect(await run.result()).toBe('paid')
    await later.cancel()
    await eventually(() => queue.getJobCountByTypes()).toBe(0)
  })

  test('that reach a process without the code, or without a place, are passed on to all', async () => {
    const stage = new Stage(server.url)
    const [held, open] = [gate(), gate()]
    const hold = task('hold', async () => {
      held.open()
      await open.passed
    })
    const echo = task('echo', (n: number) => n)
    await stage.open([])
    const full = await stage.open([hold, echo], { worker: { concurrency: 1 } })
    const holding = await full.start(hold)
    await held.passed
    const caller = await stage.open([hold, echo], { worker: false })
    await stage.open([echo])
    await stage.acquainted()
    const items = Array.from({ length: 12 }, (_, input) => ({ input }))
    const results: number[] = []
    // One after the other: each is a job of its own, and most of them reach one of the first two.
    for (const item of items) results.push(await (await caller.start(echo, item.input)).result())
    expect(results).toEqual(items.map(({ input }) => input))
    open.open()
    await holding.result()
  })

  test('[F11] delivered three times, and again by BullMQ, execute nothing twice', async () => {
    const stage = new Stage(server.url)
    const executed: string[] = []
    const once = workflow('once', async (wf) => {
      await wf.do('step', () => void executed.push(wf.run.id))
      await wf.sleep('nap', 20)
      return wf.do('last', () => void executed.push(wf.run.id))
    })
    const queue = stage.queue()
    for (let i = 0; i < 3; i += 1) await stage.open([once], { kernel: POLLING })
    const caller = await stage.caller([once])
    await stage.acquainted()
    const items = Array.from({ length: 50 }, () => ({ input: undefined }))
    const runs = await caller.startMany(once, items)
    const again = runs.flatMap(({ id }) =>
      [1, 2, 3].map((copy) => ({
        name: 'once',
        data: { run: id, workspace: 'default', version: null },
        opts: { jobId: `${id}-again-${copy}`, removeOnComplete: true, delay: copy * 10 },
      })),
    )
    await queue.addBulk(again)
    await Promise.all(runs.map((run) => run.result()))
    expect(executed).toHaveLength(100)
    expect(new Set(executed).size).toBe(50)
    await eventually(() => queue.getJobCountByTypes()).toBe(0)
  })

  test('[F12] that are all lost cost the time until the next poll, and no run', async () => {
    const stage = new Stage(server.url)
    const queue = stage.queue()
    const name = fresh('lost')
    const lost = workflow(name, async (wf) => {
      await wf.sleep('nap', 100)
      return wf.waitFor('go')
    })
    await stage.caller([lost])
    const caller = await stage.caller([lost])
    await stage.acquainted()
    const runs = await caller.startMany(
      lost,
      Array.from({ length: 20 }, () => ({ input: undefined })),
    )
    await eventually(() => queue.getWaitingCount()).toBe(20)
    // Nobody hears of what is added from now on either.
    const dropping = setInterval(() => void queue.drain(true).catch(() => {}), 5)
    await queue.drain(true)
    await stage.open([lost], { kernel: POLLING })
    await Promise.all(runs.map((run) => run.signal('go', 'gone')))
    const results = await Promise.all(runs.map((run) => run.result()))
    clearInterval(dropping)
    expect(results).toEqual(runs.map(() => 'gone'))
  })
})
