// Stubs take the place of code, and of nothing else.

import { expect, test } from 'vitest'
import { type Step, task, typed, workflow } from '../../src/index.js'
import { answersTo } from '../../src/testing/names.js'
import { kindsOf, refusalOf } from '../support/world.js'
import { open } from './kit.js'

const real: string[] = []
const charge = task('charge', { retries: 2 }, (input: { amount: number }) => {
  real.push('charge')
  return { paymentId: `p-${input.amount}` }
})
const order = workflow('order', async (wf, input: { amount: number }) => {
  const payment = await wf.do('take the money', charge, input)
  const parcel = await wf.do('pack', () => {
    real.push('pack')
    return 'parcel'
  })
  await wf.transaction('ship', (tx) => tx.query('insert into shipments values (1)'))
  await wf.waitFor('received')
  return { ...payment, parcel }
})

test('a stub of a task gets its input, and its result is the result', async () => {
  const engine = await open([order, charge])
  const charged = engine.stub(charge, async ({ amount }) => ({ paymentId: `stub-${amount}` }))
  const packed = engine.stub(order, 'pack', () => 'box')
  const shipped = engine.stub(order, 'ship', (step) => step.key)
  const run = await engine.start(order, { amount: 3 })
  await run.signal('received')
  await engine.settle()
  expect(await run.result()).toEqual({ paymentId: 'stub-3', parcel: 'box' })
  expect(charged.calls).toEqual([{ amount: 3 }])
  expect(packed.calls.map(({ run, attempt }) => [run.workflow, attempt])).toEqual([['order', 1]])
  expect(shipped.calls[0]?.key).toContain('/ship')
  expect(real.splice(0)).toEqual([])
})

test('a stub is as durable as the step: recorded once, replayed from the journal', async () => {
  const engine = await open([order, charge])
  const charged = engine.stub(charge, () => ({ paymentId: 'p' }))
  const packed = engine.stub(order, 'pack', () => ({ since: new Date(1) }))
  engine.stub(order, 'ship', () => undefined)
  const run = await engine.start(order, { amount: 3 })
  await engine.settle()
  await engine.crash()
  await run.signal('received')
  expect(await run.result()).toEqual({ paymentId: 'p', parcel: { since: new Date(1) } })
  expect([charged.calls.length, packed.calls.length]).toEqual([1, 1])
  expect(engine.executions(run.id, 'pack')).toBe(1)
  expect(await kindsOf(engine, run.id)).toEqual([
    'run.created',
    'child.started',
    'child.ended',
    'step.completed',
    'step.completed',
    'wait.opened',
    'message.taken',
    'run.completed',
  ])
})

test('a stub that throws is retried as the step would be', async () => {
  const engine = await open([charge])
  const charged = engine.stub(charge, (_, step) => {
    if (step.attempt < 3) throw new Error('declined')
    return { paymentId: `attempt ${step.attempt}` }
  })
  const run = await engine.start(charge, { amount: 1 })
  await engine.advance('1min')
  expect(await run.result()).toEqual({ paymentId: 'attempt 3' })
  expect(charged.calls).toHaveLength(3)
  expect(engine.executions(run.id, 'run')).toBe(3)
})

test('what a stub returns must be storable, as what the step returns', async () => {
  const engine = await open([order, charge])
  engine.stub(order, 'pack', () => () => {})
  const run = await engine.start(order, { amount: 1 })
  await engine.settle()
  expect((await run.get()).error).toMatchObject({ code: 'VALUE_UNSTORABLE' })
  real.splice(0)
})

test('a whole workflow can be stubbed, and its result is recorded too', async () => {
  const parent = workflow('parent', async (wf) => {
    const child = await wf.do('child', order, { amount: 7 })
    await wf.waitFor('go')
    return child
  })
  const engine = await open([parent, order, charge])
  const ordered = engine.stub(order, ({ amount }) => ({ paymentId: `${amount}`, parcel: 'none' }))
  const run = await engine.start(parent)
  await engine.settle()
  await engine.crash()
  await run.signal('go')
  expect(await run.result()).toEqual({ paymentId: '7', parcel: 'none' })
  expect(ordered.calls).toEqual([{ amount: 7 }])
  expect(real).toEqual([])
})

test('a stub gets the input as the schema made it, also from a parent', async () => {
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) => ({ value: { n: Number((value as { n: string }).n) } }),
    },
  }
  const double = task('double', { input: schema }, ({ n }: { n: number }) => n * 2)
  const parent = workflow('parent', (wf) => wf.do('twice', 'double', { n: '4' }))
  const engine = await open([double, parent])
  const doubled = engine.stub(double, ({ n }) => n + n)
  expect(await (await engine.start(parent)).result()).toBe(8)
  expect(doubled.calls).toEqual([{ n: 4 }])
})

test('the last stub counts, and each has its own calls', async () => {
  const engine = await open([charge])
  const first = engine.stub(charge, () => ({ paymentId: 'first' }))
  const second = engine.stub(charge, () => ({ paymentId: 'second' }))
  const run = await engine.start(charge, { amount: 1 })
  expect(await run.result()).toEqual({ paymentId: 'second' })
  expect([first.calls.length, second.calls.length]).toEqual([0, 1])
})

test('a stub belongs to its engine, not to the definition', async () => {
  const one = await open([charge])
  const other = await open([charge])
  one.stub(charge, () => ({ paymentId: 'stub' }))
  const stubbed = await one.start(charge, { amount: 1 })
  const plain = await other.start(charge, { amount: 1 })
  expect(await stubbed.result()).toEqual({ paymentId: 'stub' })
  expect(await plain.result()).toEqual({ paymentId: 'p-1' })
  expect(real.splice(0)).toEqual(['charge'])
})

test('an engine opened behind another has none of its stubs', async () => {
  const first = await open([charge])
  first.stub(charge, () => ({ paymentId: 'stub' }))
  await first.close()
  const next = await open([charge])
  expect(await (await next.start(charge, { amount: 2 })).result()).toEqual({ paymentId: 'p-2' })
  real.splice(0)
})

test('steps of one name are counted together, and each by its number', async () => {
  const twice = workflow('twice', async (wf) => {
    await wf.do('say', () => 1)
    await wf.do('say', () => 2)
  })
  const engine = await open([twice])
  const run = await engine.start(twice)
  await engine.settle()
  expect(engine.executions(run.id, 'say')).toBe(2)
  expect(engine.executions(run.id, 'say#2')).toBe(1)
  expect(engine.executions(run.id, 'not said')).toBe(0)
})

test('a stub for a step that is a run of its own says what to stub instead', async () => {
  const engine = await open([order, charge])
  engine.stub(order, 'take the money', () => ({ paymentId: 'p' }))
  const run = await engine.start(order, { amount: 1 })
  await engine.settle()
  const { message } = await refusalOf(run.result())
  expect(message).toContain(
    '"take the money" of "order" cannot be called: the step is a run of "charge"',
  )
})

test('stub refuses what this engine does not have', async () => {
  const engine = await open([charge])
  const stub = engine.stub as (...args: unknown[]) => unknown
  const unknown = (() => {
    try {
      return stub(order, 'pack', () => 1)
    } catch (error) {
      return error
    }
  })()
  expect(unknown).toMatchObject({ code: 'DEFINITION_UNKNOWN' })
  expect((unknown as { hint: string }).hint).toContain('charge')
  expect(() => stub('charge', () => 1)).toThrow('not a definition')
  expect(() => stub(charge, 'run')).toThrow('a function')
  expect(() => stub(charge, '', () => 1)).toThrow('name of a step')
})

test('a definition of the same name is another definition', async () => {
  const engine = await open([charge])
  const namesake = task(
    'charge',
    { input: typed<{ amount: number }>() },
    (_: unknown, step: Step) => step.key,
  )
  expect(() => engine.stub(namesake, () => 'x')).toThrow('not a definition of this engine')
})

test.each([
  ['charge', 1, 'charge', true],
  ['charge', 2, 'charge#2', true],
  ['charge', 2, 'charge', true],
  ['charge', 1, 'charge#2', false],
  ['recharge', 1, 'charge', false],
  ['renewals@3/charge', 1, 'charge', true],
  ['renewals@3/charge', 1, 'renewals@3/charge', true],
  ['renewals@3/charge', 1, 'renewals@2/charge', false],
  ['undo:charge', 1, 'undo:charge', true],
  ['undo:charge#2', 1, 'undo:charge', true],
  ['undo:renewals@3/charge', 1, 'undo:charge', true],
  ['undo:charge', 1, 'charge', false],
  ['charge', 1, 'undo:charge', false],
])('the step %s, number %d, is what a test calls %s: %s', (name, occurrence, asked, is) => {
  expect(answersTo(name, occurrence, asked)).toBe(is)
})

test('a step inside a loop and an undo are stubbed by the names that the code gave', async () => {
  const renewals = workflow('renewals', (wf) =>
    wf.loop('renew', 1, async (wf, month) => {
      const paid = await wf.do('charge', () => 'the real bank', { undo: () => 'the real refund' })
      if (month === 3) throw new Error(`${paid} too much`)
      await wf.sleep('a month', '30 days')
      return month + 1
    }),
  )
  const engine = await open([renewals])
  const charged = engine.stub(renewals, 'charge', () => 'stub')
  const refunded = engine.stub(renewals, 'undo:charge', () => undefined)
  const run = await engine.start(renewals)
  await engine.advance('30 days')
  await engine.crash()
  await engine.advance('30 days')
  expect((await run.get()).error).toMatchObject({ message: 'stub too much' })
  expect(charged.calls).toHaveLength(3)
  expect(engine.executions(run.id, 'charge')).toBe(3)
  expect(engine.executions(run.id, 'renew@2/charge')).toBe(1)
  expect(engine.executions(run.id, 'undo:charge')).toBe(refunded.calls.length)
  expect(refunded.calls.length).toBeGreaterThan(0)
})

test('errors that a step is not retried for stop the stub too', async () => {
  const once = workflow('once', (wf) =>
    wf.do('call', () => 1, { retry: { attempts: 5, stopOn: ['TypeError'] } }),
  )
  const engine = await open([once])
  const called = engine.stub(once, 'call', () => {
    throw new TypeError('no use')
  })
  const run = await engine.start(once)
  await engine.advance('1h')
  expect(await run.status()).toBe('failed')
  expect(called.calls).toHaveLength(1)
})
