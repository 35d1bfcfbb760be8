import { expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { crashEverywhere, createTestEngine, simulate } from '../../src/testing/index.js'
import { refusalOf } from '../support/world.js'
import { quiet } from './kit.js'

const charge = task('charge', (amount: number) => ({ paid: amount }))
const order = workflow('order', async (wf, amount: number) => {
  await wf.transaction('make', (tx) => tx.query('create table shipments (id serial)'))
  const payment = await wf.do('charge', charge, amount)
  const approval = await wf.waitFor('approval', { timeout: '1 day' })
  await wf.sleep('cooling off', '2 days')
  const shipments = await wf.transaction('ship', async (tx) => {
    await tx.query('insert into shipments default values')
    const { rows } = await tx.query<{ n: number }>('select count(*)::int as n from shipments')
    return rows[0]?.n
  })
  return { payment, approval, shipments, at: wf.now() }
})
const openOrder = () => createTestEngine({ workflows: [order, charge], log: quiet })

test('a crash before or after any commit changes nothing', async () => {
  const started: string[] = []
  const { commits, output } = await crashEverywhere(openOrder, async (engine) => {
    const run = await engine.start(order, 100)
    started.push(run.id)
    await run.signal('approval', 'ada')
    await engine.advance('2 days')
    return run.result()
  })
  expect(output).toMatchObject({ payment: { paid: 100 }, approval: 'ada', shipments: 1 })
  expect(commits).toBeGreaterThan(6)
  expect(started).toHaveLength(1 + 2 * commits)
})

test('a start, a signal and a cancel that were cut off are done once', async () => {
  const counted = workflow('counted', async (wf) => {
    const heard: unknown[] = []
    for (;;) {
      const { name, payload } = await wf.waitFor(['add', 'stop'])
      if (name === 'stop') return heard
      heard.push(payload)
    }
  })
  const open = () => createTestEngine({ workflows: [counted], log: quiet })
  const { output } = await crashEverywhere(open, async (engine) => {
    const run = await engine.start(counted)
    const other = await engine.start(counted)
    for (const n of [1, 2, 3]) await run.signal('add', n)
    await other.cancel('enough')
    await run.signal('stop')
    await engine.settle()
    const { items } = await engine.list()
    return [await run.result(), await other.status(), items.length]
  })
  expect(output).toEqual([[1, 2, 3], 'cancelled', 2])
})

test('a retry that was cut off is done once', async () => {
  const flaky = workflow('flaky', (wf, calls: string) => wf.do('call', () => called(calls)))
  const counts = new Map<string, number>()
  const called = (key: string): string => {
    counts.set(key, (counts.get(key) ?? 0) + 1)
    if (failing) throw new Error('down')
    return 'up'
  }
  let failing = true
  const open = () => createTestEngine({ workflows: [flaky], log: quiet })
  const { output } = await crashEverywhere(open, async (engine) => {
    failing = true
    const run = await engine.start(flaky, 'x')
    await engine.settle()
    failing = false
    await run.retry()
    await engine.settle()
    return [await run.result(), (await run.get()).attempt]
  })
  expect(output).toEqual(['up', 2])
})

test('state outside of the steps is found, and the commit is named', async () => {
  const forgetful = workflow('forgetful', async (wf, memory: string) => {
    const calls = memories.get(memory) ?? 0
    memories.set(memory, calls + 1)
    await wf.do('first', () => 1)
    return wf.do('second', () => (calls === 0 ? 'as before' : 'called again'))
  })
  const memories = new Map<string, number>()
  let memory = 0
  const open = () => createTestEngine({ workflows: [forgetful], log: quiet })
  const crashed = crashEverywhere(open, async (engine) => {
    memory += 1
    return (await engine.start(forgetful, `m${memory}`)).result()
  })
  const error = await refusalOf(crashed)
  expect(error.code).toBe('OUTCOME_CHANGED')
  expect(error.message).toMatch(
    /^A crash before commit 2 of 3 \(step\.completed "first"\) changes the outcome\. Without it: 'as before'\. With it: 'called again'\.$/,
  )
})

test('a scenario that throws only with a crash is told with its error', async () => {
  const plain = workflow('plain', (wf) => wf.do('only', () => 1))
  const open = () => createTestEngine({ workflows: [plain], log: quiet })
  const crashed = crashEverywhere(open, async (engine) => {
    const run = await engine.start(plain)
    await engine.settle()
    if (engine.executions(run.id, 'only') > 1) throw new Error('charged twice')
    return 'fine'
  })
  const error = await refusalOf(crashed)
  expect(error.message).toMatch(
    /before commit 2 .*step\.completed "only".*it throws Error: charged twice/,
  )
  expect(error.cause).toMatchObject({ message: 'charged twice' })
})

test('a scenario that throws without a crash throws that', async () => {
  const failing = crashEverywhere(openOrder, async () =>
    Promise.reject(new Error('my own mistake')),
  )
  await expect(failing).rejects.toThrow('my own mistake')
})

test('a scenario that does not end after a crash is told, and where', async () => {
  const plain = workflow('plain', (wf) => wf.do('only', () => 1))
  const open = () => createTestEngine({ workflows: [plain], log: quiet })
  const crashed = crashEverywhere(open, async (engine) => {
    const run = await engine.start(plain)
    await engine.settle()
    if (engine.executions(run.id, 'only') > 1) await new Promise(() => {})
  })
  expect((await refusalOf(crashed)).message).toMatch(
    /before commit 2 .*it has not ended after \d+ ms/,
  )
})

test('what went wrong first is told, not what closing finds', async () => {
  const plain = workflow('plain', (wf) => wf.do('only', () => 1))
  const open = () => createTestEngine({ workflows: [plain], log: quiet })
  const crashed = crashEverywhere(open, async (engine) => {
    engine.crashAt('another')
    throw new Error('the scenario is wrong')
  })
  await expect(crashed).rejects.toThrow('the scenario is wrong')
})

test('only test engines are opened', async () => {
  expect(
    await refusalOf(
      crashEverywhere(
        async () => ({}) as never,
        async () => 1,
      ),
    ),
  ).toMatchObject({
    code: 'OPTION_INVALID',
  })
})

test('simulate: rows of transactions are there once, whatever dies', async () => {
  const ship = workflow('ship', async (wf, id: string) => {
    await wf.transaction('book', (tx) => tx.query('insert into bookings values ($1)', [id]))
    await wf.transaction('book', (tx) => tx.query('insert into bookings values ($1)', [id]))
    return 'shipped'
  })
  let seen: unknown
  const count = 'select count(*)::int as n, count(ended)::int as ended from bookings'
  const report = await simulate(ship, {
    seeds: 8,
    setup: (engine) =>
      engine.transaction((tx) => tx.query('create table bookings (id text, ended int)')),
    scenario: async (engine) => {
      // The rows of the caller and the run are there together, too.
      const { id } = await engine.transaction(async (tx) => {
        await tx.query('insert into bookings values ($1, 1)', ['the caller'])
        return engine.start(ship, 's-1', { transaction: tx, id: 's-1' })
      })
      await engine.settle()
      const { rows } = await engine.transaction((tx) => tx.query(count))
      seen = [await engine.handle(ship, id).result(), rows]
      return seen
    },
  })
  expect(report.text).toMatch(/^"ship" ended the same way/)
  expect(report.crashPoints).toBeGreaterThan(3)
  expect(seen).toEqual(['shipped', [{ n: 3, ended: 1 }]])
})

test('simulate: a transaction that its database refuses fails as it would elsewhere', async () => {
  const twice = workflow('twice', async (wf) => {
    const insert = 'insert into once values (1)'
    await wf.transaction('first', (tx) => tx.query(insert))
    return wf.transaction('second', (tx) => tx.query(insert))
  })
  const seen: unknown[] = []
  await simulate(twice, {
    seeds: 0,
    crash: false,
    setup: (engine) =>
      engine.transaction((tx) =>
        tx.query('create table once (n int unique deferrable initially deferred)'),
      ),
    scenario: async (engine) => {
      const run = await engine.start(twice)
      await engine.settle()
      const { status, error } = await run.get()
      const { rows } = await engine.transaction((tx) => tx.query('select n from once'))
      seen.push([status, error?.message, rows])
      return seen.at(-1)
    },
  })
  expect(seen[0]).toEqual(['failed', expect.stringContaining('duplicate key'), [{ n: 1 }]])
})
