// As kill -9: what was begun is not heard of any more, and a new worker takes over.

import { expect, onTestFinished, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { createTestEngine } from '../../src/testing/index.js'
import { all, gate, kindsOf, refusalOf } from '../support/world.js'
import { open, quiet } from './kit.js'

const order = workflow('order', async (wf) => {
  await wf.do('charge', () => 'charged')
  const by = await wf.waitFor('approval')
  await wf.sleep('cooling off', '2 days')
  await wf.do('ship', () => 'shipped')
  return by
})

test('a new worker goes on from what is recorded', async () => {
  const engine = await open([order])
  const run = await engine.start(order)
  await engine.settle()
  await engine.crash()
  await run.signal('approval', 'ada')
  await engine.crash()
  await engine.advance('1 day')
  await engine.crash()
  await engine.advance('1 day')
  expect(await run.result()).toBe('ada')
  expect(engine.executions(run.id, 'charge')).toBe(1)
  expect(engine.executions(run.id, 'ship')).toBe(1)
})

test('nothing is released: the run is counted as crashed, and the clock has not moved', async () => {
  const held = gate()
  const hanging = workflow('hanging', (wf) =>
    wf.do('hang', async (step) => {
      if (step.run.id === 'h' && engine.executions('h', 'hang') === 1) await held.passed
      return 'done'
    }),
  )
  const engine = await open([hanging])
  const before = engine.now()
  const run = await engine.start(hanging, undefined, { id: 'h' })
  await expect.poll(() => engine.executions('h', 'hang')).toBe(1)
  await engine.crash()
  expect(await run.result()).toBe('done')
  expect(engine.executions('h', 'hang')).toBe(2)
  expect(engine.now()).toEqual(before)
  // What the dead worker's code returns now goes nowhere.
  held.open()
  await engine.settle()
  expect(await kindsOf(engine, 'h')).toEqual(['run.created', 'step.completed', 'run.completed'])
})

test.each([
  ['before', 1],
  ['after', 2],
] as const)('crashAt %s a step: its code runs %d times in all', async (when, times) => {
  const engine = await open([order])
  const run = await engine.start(order)
  engine.crashAt('charge', when)
  await engine.settle()
  expect(engine.executions(run.id, 'charge')).toBe(times)
  await run.signal('approval', 'ada')
  await engine.advance('2 days')
  expect(await run.result()).toBe('ada')
})

test('crashAt counts once, for the next time only', async () => {
  const engine = await open([order])
  engine.crashAt('charge')
  for (const id of ['a', 'b']) await engine.start(order, undefined, { id })
  await engine.settle()
  const times = ['a', 'b'].map((id) => engine.executions(id, 'charge'))
  expect(times.sort()).toEqual([1, 2])
})

test('crashAt a step that is a task ends the worker that executes the task', async () => {
  const send = task('send', (text: string) => `sent ${text}`)
  const welcome = workflow('welcome', (wf) => wf.do('say hello', send, 'hello'))
  const engine = await open([welcome, send])
  engine.crashAt('say hello', 'after')
  const run = await engine.start(welcome)
  expect(await run.result()).toBe('sent hello')
  expect(engine.executions(run.id, 'say hello')).toBe(2)
})

test('a step that failed and crashed is not counted as failed', async () => {
  const once = workflow('once', (wf) =>
    wf.do('fail once', () => {
      if (engine.executions('o', 'fail once') === 1) throw new Error('no')
      return 'yes'
    }),
  )
  const engine = await open([once])
  engine.crashAt('fail once', 'after')
  const run = await engine.start(once, undefined, { id: 'o' })
  expect(await run.result()).toBe('yes')
})

const stocks = workflow('stocks', async (wf) => {
  await wf.transaction('make', (tx) => tx.query('create table stock (n int)'))
  await wf.transaction('take', (tx) => tx.query('insert into stock values (1)'))
  return wf.transaction('count', async (tx) => {
    const { rows } = await tx.query<{ n: number }>('select count(*)::int as n from stock')
    return rows[0]?.n
  })
})

test.each(['before', 'after'] as const)(
  'a crash %s leaves a transaction without a trace',
  async (when) => {
    const engine = await open([stocks])
    engine.crashAt('take', when)
    const run = await engine.start(stocks)
    expect(await run.result()).toBe(1)
  },
)

test('numbers that a dead worker took from a sequence are given back', async () => {
  const numbered = workflow('numbered', async (wf) => {
    await wf.transaction('make', (tx) => tx.query('create table numbered (id serial)'))
    const insert = 'insert into numbered default values returning id'
    const ids: unknown[] = []
    for (let i = 0; i < 2; i += 1) {
      const { rows } = await wf.transaction('insert', (tx) => tx.query(insert))
      ids.push(rows[0]?.id)
    }
    return ids
  })
  const engine = await open([numbered])
  engine.crashAt('insert', 'after')
  engine.crashAt('insert#2', 'after')
  expect(await (await engine.start(numbered)).result()).toEqual([1, 2])
})

test('a crash in the middle of a transaction frees the database', async () => {
  const inside = gate()
  const hanging = workflow('hanging', (wf) =>
    wf.transaction('hang', async (tx) => {
      await tx.query('create table once (n int)')
      inside.open()
      if (engine.executions('h', 'hang') === 1) await new Promise(() => {})
      return 'done'
    }),
  )
  const engine = await open([hanging])
  const run = await engine.start(hanging, undefined, { id: 'h' })
  await inside.passed
  await engine.crash()
  expect(await run.result()).toBe('done')
})

test('handles, results that are waited for and listeners outlive a crash', async () => {
  const heard: string[] = []
  const engine = await open([order])
  const stop = engine.on('step.completed', ({ step }) => heard.push(step))
  engine.on('run.resumed', ({ after }) => heard.push(`resumed after ${after}`))
  const run = await engine.start(order)
  const result = run.result()
  await engine.advance('1h')
  await engine.crash()
  await run.signal('approval', 'ada')
  await engine.settle()
  expect(heard).toEqual(['charge', 'resumed after charge'])
  stop()
  await engine.advance('2 days')
  expect(await result).toBe('ada')
  expect(heard).toHaveLength(2)
})

test('what the dead worker has stored and not told is told by the next one', async () => {
  const heard = new Set<string>()
  const engine = await open([order])
  const run = await engine.start(order)
  await engine.settle()
  engine.on('run.cancelled', ({ runId }) => heard.add(runId))
  await Promise.all([run.cancel('enough'), engine.crash()])
  await engine.settle()
  expect(await run.status()).toBe('cancelled')
  expect([...heard]).toEqual([run.id])
})

test('a run that crashes its worker five times in a row fails', async () => {
  const engine = await open([order])
  for (let i = 0; i < 5; i += 1) engine.crashAt('charge', 'after')
  const run = await engine.start(order)
  await engine.settle()
  expect(engine.executions(run.id, 'charge')).toBe(5)
  expect((await run.get()).error).toMatchObject({ code: 'WORKER_CRASHED' })
})

test('a retry whose worker dies is done once', async () => {
  let isDown = true
  const down = workflow('down', (wf) =>
    wf.do('call', () => {
      if (isDown) throw new Error('down')
      return 'up'
    }),
  )
  const engine = await open([down])
  const run = await engine.start(down)
  await engine.settle()
  isDown = false
  await Promise.all([run.retry(), engine.crash()])
  expect(await run.result()).toBe('up')
  expect((await run.get()).attempt).toBe(2)
})

test('a crash that never came is told when the engine is closed', async () => {
  const engine = await createTestEngine({ workflows: [order], log: quiet })
  await engine.start(order)
  engine.crashAt('chrage')
  await engine.settle()
  const error = await refusalOf(engine.close())
  expect(error).toMatchObject({ code: 'STEP_NOT_REACHED', step: 'chrage' })
  expect(error.hint).toBe('did you mean "charge"?')
  await engine.close()
})

test('crashAt refuses what is no step and no moment', async () => {
  const engine = await open([order])
  expect(() => engine.crashAt('')).toThrow('name of a step')
  expect(() => engine.crashAt('charge', 'while' as 'after')).toThrow("'before' or 'after'")
})

test('the tables of one test are not those of another', async () => {
  for (let i = 0; i < 2; i += 1) {
    const engine = await createTestEngine({ workflows: [stocks] })
    onTestFinished(() => engine.close())
    const run = await engine.start(stocks)
    expect(await run.result()).toBe(1)
    if (i === 0) expect(await all(engine.list())).toHaveLength(1)
  }
})

test('an engine that follows a closed one finds nothing of it', async () => {
  const first = await createTestEngine({ workflows: [stocks, order] })
  await first.start(stocks, undefined, { id: 's' })
  await first.start(order, undefined, { id: 'o' })
  await first.settle()
  await first.close()
  const next = await open([stocks, order])
  expect(await all(next.list())).toEqual([])
  expect(await (await next.start(stocks, undefined, { id: 's' })).result()).toBe(1)
})
