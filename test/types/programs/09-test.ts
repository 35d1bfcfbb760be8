// 9. Testing the order: two days in a millisecond, a crash in the middle, a crash everywhere.
import assert from 'node:assert/strict'
import test from 'node:test'
import { crashEverywhere, createTestEngine } from 'perdure/testing'
import { order } from './01-order.js'
import { createUser, signup, tasks } from './02-signup.js'

const input = { id: 'o-1', amount: 100, email: 'a@b.example' }
const open = async () => {
  const engine = await createTestEngine({ workflows: [order] })
  await engine.transaction((tx) =>
    tx.query('create table shipments (id serial, order_id text, payment_id text)'),
  )
  engine.stub(order, 'charge', () => ({ paymentId: 'p-1' }))
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
  assert.equal(await run.status(), 'completed')
  assert.equal((await run.result()).trackingId, '1')
})
test('nobody approves: cancelled after a day, and refunded', async () => {
  await using engine = await open()
  const run = await engine.start(order, input)
  await engine.advance('24h')
  await assert.rejects(run.result(), { code: 'WORKFLOW_CANCELLED' })
})
test('a crash before or after any commit changes nothing', async () => {
  const { commits } = await crashEverywhere(open, async (engine) => {
    const run = await engine.start(order, { ...input, express: true })
    await run.signal('approval', { ok: true, by: 'ada' })
    await engine.settle()
    return run.result()
  })
  assert.ok(commits > 3)
})
test('tasks are stubbed by their definition', async () => {
  await using engine = await createTestEngine({ workflows: [signup, ...tasks] })
  const created = engine.stub(createUser, (input) => ({ id: 'u-1', email: input.email }))
  await engine.start('signup', { email: 'a@b' })
  await engine.crash()
  await engine.settle()
  assert.equal(created.calls[0]?.email, 'a@b')
})
