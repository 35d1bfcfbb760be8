// 1. Order: retries, undo, approval, sleep, transaction.

import { createEngine, PerdureError, workflow } from 'perdure'
import { z } from 'zod'
import { CardDeclined, mail, stripe } from './services.js'

export const order = workflow(
  'order',
  {
    input: z.object({
      id: z.string(),
      amount: z.number().positive(),
      email: z.email(),
      express: z.boolean().default(false),
    }),
    signals: { approval: z.object({ ok: z.boolean(), by: z.string() }) },
    state: z.object({ phase: z.enum(['charging', 'approval', 'shipping']) }),
  },
  async (wf, order) => {
    wf.setState({ phase: 'charging' })
    const payment = await wf.do(
      'charge',
      (step) => stripe.charge(order.amount, { idempotencyKey: step.key, signal: step.signal }),
      {
        retry: { attempts: 3, delay: '2s', stopOn: [CardDeclined] },
        timeout: '30s',
        undo: (payment, step) => stripe.refund(payment.paymentId, { idempotencyKey: step.key }),
      },
    )

    wf.setState({ phase: 'approval' })
    const approval = await wf.waitFor('approval', { timeout: '24h', orNull: true })
    if (!approval?.ok)
      return wf.cancel(approval ? `refused by ${approval.by}` : 'nobody approved within a day')

    if (!order.express) await wf.sleep('cooling-off period', '2 days')
    wf.setState({ phase: 'shipping' })
    const shipment = await wf.transaction('ship', async (tx) => {
      const { rows } = await tx.query<{ id: string }>(
        'insert into shipments (order_id, payment_id) values ($1, $2) returning id',
        [order.id, payment.paymentId],
      )
      return { trackingId: rows[0]?.id ?? '' }
    })
    await wf.do(
      'tell the customer',
      () => mail.send(order.email, `on its way: ${shipment.trackingId}`),
      { retries: 5, retryDelay: '1m' },
    )
    return shipment
  },
)

export const engine = await createEngine({ workflows: [order], errors: [CardDeclined] })
const run = await engine.start(
  order,
  { id: 'ord-1042', amount: 100, email: 'a@b.example' },
  { id: 'ord-1042', tags: { customer: 'acme' } },
)
await run.signal('approval', { ok: true, by: 'ada' })
try {
  const { trackingId } = await run.result({ timeout: '1h' })
  console.log(trackingId.toUpperCase())
} catch (error) {
  if (PerdureError.is(error, 'WORKFLOW_CANCELLED')) console.log(error.message)
  else if (PerdureError.is(error, 'WORKFLOW_FAILED') && error.cause instanceof CardDeclined)
    console.log(error.cause.reason)
  else throw error
}
const byName = await engine.start('order', { id: 'o2', amount: 5, email: 'x@y.example' }) // typed by name, from the engine
const seen = await byName.get()
if (seen.status === 'completed') console.log(seen.output.trackingId)
if (seen.status === 'waiting' && seen.reason === 'signal')
  console.log(
    seen.state.phase,
    seen.available.map((offer) => offer.name),
  )
