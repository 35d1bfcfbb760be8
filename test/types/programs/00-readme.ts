import { createEngine, typed, workflow } from 'perdure'
import { stripe, validate } from './shop.js'

export const order = workflow(
  'order',
  {
    signals: { approval: typed<{ ok: boolean; by: string }>() },
  },
  async (wf, order: { id: string; amount: number }) => {
    await wf.do('validate', () => validate(order))

    const payment = await wf.do(
      'charge',
      (step) => stripe.charge(order.amount, { idempotencyKey: step.key }),
      {
        retries: 3,
        retryDelay: '2s',
        undo: (payment) => stripe.refund(payment.id),
      },
    )

    const approval = await wf.waitFor('approval', { timeout: '24h' })
    if (!approval.ok) return wf.cancel(`refused by ${approval.by}`)

    await wf.sleep('cooling-off period', '2 days')
    await wf.transaction('ship', (tx) =>
      tx.query('insert into shipments values ($1, $2)', [order.id, payment.id]),
    )
    return payment
  },
)

const engine = await createEngine({ workflows: [order] })
const run = await engine.start(order, { id: 'o-1', amount: 100 }, { id: 'o-1' })
await run.signal('approval', { ok: true, by: 'ada' })
