// The order as a user would test it: two days in a moment, a crash in the middle, a crash everywhere.

import { PerdureError, task, typed, workflow } from 'perdure'
import { crashEverywhere, createTestEngine } from 'perdure/testing'
import { expect, test } from 'vitest'
import { quiet } from './kit.js'

interface Order {
  readonly id: string
  readonly amount: number
  readonly express?: boolean
}
const order = workflow(
  'order',
  { signals: { approval: typed<{ ok: boolean; by: string }>() } },
  async (wf, order: Order) => {
    const payment = await wf.do(
      'charge',
      (): Promise<{ paymentId: string }> => Promise.reject(new Error('the real bank')),
      { retries: 3, undo: () => Promise.reject(new Error('the real refund')) },
    )
    const approval = await wf.waitFor('approval', { timeout: '24h', orNull: true })
    if (!approval?.ok) return wf.cancel(approval ? `refused by ${approval.by}` : 'nobody approved')
    if (!order.express) await wf.sleep('cooling-off period', '2 days')
    const shipment = await wf.transaction('ship', async (tx) => {
      const insert =
        'insert into shipments (order_id, payment_id) values ($1, $2) returning id::text'
      const { rows } = await tx.query<{ id: string }>(insert, [order.id, payment.paymentId])
      return { trackingId: rows[0]?.id }
    })
    await wf.do('tell the customer', () => Promise.reject(new Error('the real mail')))
    return shipment
  },
)

const input = { id: 'o-1', amount: 100 }
const open = async () => {
  const engine = await createTestEngine({ workflows: [order], log: quiet })
  await engine.transaction((tx) =>
    tx.query('create table shipments (id serial, order_id text, payment_id text)'),
  )
  engine.stub(order, 'charge', () => ({ paymentId: 'p-1' }))
  engine.stub(order, 'undo:charge', () => undefined)
  engine.stub(order, 'tell the customer', () => undefined)
  return engine
}

test('an approved order ships two days later and charges once', async () => {
  await using engine = await open()
  const run = await engine.start(order, input)
  engine.crashAt('charge', 'after')
  await engine.settle()
  await run.signal('approval', { ok: true, by: 'ada' })
  await engine.advance('2 days')
  expect(await run.status()).toBe('completed')
  expect(await run.result()).toEqual({ trackingId: '1' })
  expect(engine.executions(run.id, 'ship')).toBe(1)
})

test('nobody approves: cancelled after a day, and refunded', async () => {
  await using engine = await open()
  const run = await engine.start(order, input)
  await engine.advance('24h')
  await expect(run.result()).rejects.toMatchObject({ code: 'WORKFLOW_CANCELLED' })
  expect(engine.executions(run.id, 'undo:charge')).toBe(1)
  await expect(run.signal('approval', { ok: true, by: 'late' })).rejects.toBeInstanceOf(
    PerdureError,
  )
})

test('a crash before or after any commit changes nothing', async () => {
  const { commits, output } = await crashEverywhere(open, async (engine) => {
    const run = await engine.start(order, { ...input, express: true })
    await run.signal('approval', { ok: true, by: 'ada' })
    await engine.settle()
    return run.result()
  })
  expect(commits).toBeGreaterThan(3)
  expect(output).toEqual({ trackingId: '1' })
})

test('tasks are stubbed by their definition', async () => {
  const createUser = task('createUser', async (_: { email: string }): Promise<{ id: string }> => {
    throw new Error('the real database')
  })
  const signup = workflow('signup', async (wf, input: { email: string }) => {
    const user = await wf.do('Create user', createUser, { email: input.email }, { retries: 3 })
    await wf.sleep('Wait 5 minutes', '5min')
    return user
  })
  await using engine = await createTestEngine({ workflows: [signup, createUser] })
  const created = engine.stub(createUser, () => ({ id: 'u-1' }))
  const run = await engine.start('signup', { email: 'a@b' })
  await engine.crash()
  await engine.settle()
  expect(created.calls[0]?.email).toBe('a@b')
  await engine.advance('5min')
  expect(await run.result()).toEqual({ id: 'u-1' })
})
