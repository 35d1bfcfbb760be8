// The order, as a function: effects on the outside, a failure that is retried, a sleep, and a write to a table of its own.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as work } from 'node:timers/promises'
import { type Step, workflow } from 'perdure'

interface Order {
  readonly id: string
  readonly amount: number
}

export const order = workflow('order', async (wf, order: Order) => {
  await wf.do('validate', () => {
    if (!(order.amount > 0)) throw new RangeError('an order needs an amount')
  })

  const payment = await wf.do('charge', (step) => charge(order, step), {
    retries: 3,
    retryDelay: '2s',
  })

  await wf.sleep('cooling-off', '4s')

  const parcel = await wf.do('pack', async () => {
    await work(600)
    return `parcel-${order.id}`
  })
  const shipments = await wf.transaction('ship', async (tx) => {
    await tx.query('create schema if not exists shop')
    await tx.query('create table if not exists shop.shipments (order_id text, parcel text)')
    await tx.query('insert into shop.shipments values ($1, $2)', [order.id, parcel])
    const count = 'select count(*)::int as count from shop.shipments where order_id = $1'
    return (await tx.query(count, [order.id])).rows[0]?.count
  })
  await wf.do('receipt', () => work(400))
  return { payment, shipments }
})

/** The file that stands for the bank: one line per real charge. */
const LEDGER = process.env.PERDURE_DEMO_LEDGER ?? '.perdure/ledger.txt'

/** The bank: down at the first attempt; later it charges a key once, however often it is asked. */
async function charge(order: Order, { key, attempt }: Step): Promise<string> {
  await work(300)
  if (attempt === 1) throw new Error('card network down')
  const charges = existsSync(LEDGER) ? readFileSync(LEDGER, 'utf8') : ''
  if (!charges.includes(`key ${key}\n`)) {
    mkdirSync(dirname(LEDGER), { recursive: true })
    appendFileSync(LEDGER, `${order.id} charged ${order.amount} key ${key}\n`)
  }
  return `pay-${order.id}`
}
