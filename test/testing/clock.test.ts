// The clock that is moved by hand.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { all, refusalOf } from '../support/world.js'
import { open } from './kit.js'

const DAY_MS = 24 * 60 * 60 * 1000
const START = new Date('2026-02-27T12:00:00Z')
const after = (ms: number): Date => new Date(START.getTime() + ms)

const subscription = workflow('subscription', async (wf, input: { days: number }) => {
  const paid: Date[] = []
  for (let day = 1; day <= input.days; day += 1) {
    await wf.sleep('a day', '1 day')
    paid.push(await wf.do('pay', () => wf.now()))
  }
  return paid
})

test('a workflow of thirty days takes moments, and no real timer', async () => {
  const engine = await open([subscription], { now: START })
  const run = await engine.start(subscription, { days: 30 })
  const askedBy: string[] = []
  const real = globalThis.setTimeout
  const timers = vi.spyOn(globalThis, 'setTimeout')
  timers.mockImplementation(((...given: Parameters<typeof real>) => {
    askedBy.push(new Error('asked for').stack ?? '')
    return real(...given)
  }) as typeof real)
  const startedAt = performance.now()
  await engine.advance('30 days')
  const tookMs = performance.now() - startedAt
  timers.mockRestore()
  const paid = await run.result()
  expect(paid).toEqual(Array.from({ length: 30 }, (_, i) => after((i + 1) * DAY_MS)))
  // The database has timers of its own, for the statistics it keeps.
  expect(askedBy.filter((stack) => !stack.includes('@electric-sql/pglite'))).toEqual([])
  console.log(`30 days in 60 commits: ${tookMs.toFixed(0)} ms`)
  expect(tookMs).toBeLessThan(30_000)
})

test('an engine behind the first opens in moments', async () => {
  await (await open([subscription])).close()
  const startedAt = performance.now()
  await (await open([subscription])).close()
  const tookMs = performance.now() - startedAt
  console.log(`opened and closed in ${tookMs.toFixed(0)} ms`)
  expect(tookMs).toBeLessThan(3_000)
})

test('the clock stands still until it is moved, for the code and for the database', async () => {
  const times = workflow('times', async (wf) => {
    const before = wf.now()
    await wf.do('wait for real', () => sleep(20))
    return [before, wf.now()]
  })
  const engine = await open([times], { now: START })
  const run = await engine.start(times)
  expect(await run.result()).toEqual([START, START])
  const info = await run.get()
  expect([info.createdAt, info.startedAt, info.finishedAt]).toEqual([START, START, START])
  expect(engine.now()).toEqual(START)
  await engine.advance('90min')
  expect(engine.now()).toEqual(after(90 * 60_000))
  await engine.start(times, undefined, { id: 'later' })
  expect((await engine.get('later'))?.createdAt).toEqual(engine.now())
})

test('advance goes through every due time in order, settling at each', async () => {
  const seen: string[] = []
  const sleeper = workflow('sleeper', async (wf, input: { name: string; hours: number }) => {
    for (let i = 1; i <= 2; i += 1) {
      await wf.sleep('sleep', `${input.hours}h` as '1h')
      await wf.do('wake', () => void seen.push(`${input.name}${i}`))
    }
  })
  const engine = await open([sleeper], { now: START })
  await engine.start(sleeper, { name: 'five', hours: 5 })
  await engine.start(sleeper, { name: 'three', hours: 3 })
  await engine.start(sleeper, { name: 'four', hours: 4 })
  await engine.advance('9h')
  expect(seen).toEqual(['three1', 'four1', 'five1', 'three2', 'four2'])
  await engine.advance('1h')
  expect(seen.at(-1)).toBe('five2')
})

test('nothing happens a millisecond early', async () => {
  const engine = await open([subscription])
  const run = await engine.start(subscription, { days: 1 })
  await engine.advance(DAY_MS - 1)
  expect(await run.status()).toBe('waiting')
  await engine.advance(1)
  expect(await run.status()).toBe('completed')
})

test('what needs neither time nor a message goes on by itself', async () => {
  const double = task('double', (n: number) => n * 2)
  const parent = workflow('parent', (wf, n: number) => wf.do('twice', double, n))
  const engine = await open([parent, double])
  expect(await engine.run(parent, 21)).toMatchObject({ status: 'completed', output: 42 })
})

test('retries, timeouts of waits, delays and deadlines come by the clock', async () => {
  const tries: Date[] = []
  const flaky = workflow('flaky', async (wf) => {
    await wf.do(
      'try',
      () => {
        tries.push(engine.now())
        if (tries.length < 4) throw new Error('not yet')
      },
      { retry: { attempts: 5, delay: '10s', backoff: 'exponential' } },
    )
    return wf.waitFor('go', { timeout: '1h', orNull: true })
  })
  const forever = workflow('forever', { timeout: '2 days' }, (wf) => wf.waitFor('never'))
  const engine = await open([flaky, forever], { now: START })
  const run = await engine.start(flaky, undefined, { delay: '1min' })
  const late = await engine.start(forever)
  await engine.settle()
  expect(tries).toEqual([])
  await engine.advance('1h')
  expect(tries).toEqual([60_000, 70_000, 90_000, 120_000].map(after))
  expect(await run.status()).toBe('waiting')
  await engine.advance('2min')
  expect(await run.result()).toBe(null)
  await engine.advance('2 days')
  expect(await late.status()).toBe('timed_out')
})

test('a step that does not come back is timed out by the clock', async () => {
  const hanging = workflow('hanging', (wf) =>
    wf.do('hang', (step) => new Promise((_, no) => step.signal.addEventListener('abort', no)), {
      timeout: '10s',
      retries: 1,
      retryDelay: '1min',
    }),
  )
  const engine = await open([hanging], { patience: '20ms' })
  const run = await engine.start(hanging)
  await engine.advance('70s')
  expect(engine.executions(run.id, 'hang')).toBe(2)
  expect(await run.status()).toBe('running')
  await engine.advance('10s')
  expect(await run.status()).toBe('failed')
  expect((await refusalOf(run.result())).message).toContain('timed out after 10000 ms')
})

test('a stateless run has the same clock, and the same stubs', async () => {
  const engine = await open([subscription], { now: START })
  const stub = engine.stub(subscription, 'pay', () => new Date(0))
  const ran = engine.run(subscription, { days: 2 }, { stateless: true })
  await engine.advance('2 days')
  expect(await ran).toMatchObject({ output: [new Date(0), new Date(0)] })
  expect(stub.calls).toHaveLength(2)
  expect((await all(engine.list())).length).toBe(0)
})

test('two engines have two clocks', async () => {
  const one = await open([subscription], { now: START })
  const two = await open([subscription], { now: START })
  const first = await one.start(subscription, { days: 1 }, { id: 'same' })
  const second = await two.start(subscription, { days: 1 }, { id: 'same' })
  await one.advance('1 day')
  expect([await first.status(), await second.status()]).toEqual(['completed', 'waiting'])
  expect(two.now()).toEqual(START)
})

test('the same seed gives the same ids', async () => {
  const ids: string[] = []
  for (const seed of [7, 7, 8]) {
    const engine = await open([subscription], { now: START, seed })
    ids.push((await engine.start(subscription, { days: 1 })).id)
  }
  expect(ids[0]).toBe(ids[1])
  expect(ids[0]).not.toBe(ids[2])
})

test('a test that forgets an await is served in order', async () => {
  const engine = await open([subscription], { now: START })
  const run = await engine.start(subscription, { days: 2 })
  const first = engine.advance('1 day')
  await engine.advance('1 day')
  await first
  expect(await run.status()).toBe('completed')
  expect(engine.now()).toEqual(after(2 * DAY_MS))
})
