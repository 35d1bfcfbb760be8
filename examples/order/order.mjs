// The order: three effects on the outside, two waits, and a write to a table of its own.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as work } from 'node:timers/promises'
import { typed, workflow } from '../../dist/index.js'

/** In the order in which they run. */
export const STEPS = ['validate', 'charge', 'pack', 'ship', 'receipt']
export const RETRIES = 3

/** `ledger`: the file that stands for the bank. */
export function orderWorkflow(ledger) {
  const signals = { approval: typed() }
  return workflow('order', { signals }, async (wf, order) => {
    await wf.do('validate', () => {
      if (!(order.amount > 0)) throw new RangeError('an order needs an amount')
    })

    const payment = await wf.do('charge', (step) => charge(ledger, order, step), {
      retries: RETRIES,
      retryDelay: '2s',
    })

    await wf.sleep('cooling-off', '4s')
    const { by } = await wf.waitFor('approval', { timeout: '24h' })

    const parcel = await wf.do('pack', async () => {
      await work(600)
      return `parcel-${order.id}`
    })
    const shipments = await wf.transaction('ship', async (tx) => {
      await tx.query('create schema if not exists shop')
      await tx.query('create table if not exists shop.shipments (order_id text, parcel text)')
      await tx.query('insert into shop.shipments values ($1, $2)', [order.id, parcel])
      const count = 'select count(*)::int as count from shop.shipments where order_id = $1'
      return (await tx.query(count, [order.id])).rows[0].count
    })
    await wf.do('receipt', () => work(400))
    return { payment, shipments, by }
  })
}

/** The bank: down at the first attempt; later it charges a key once, however often it is asked. */
async function charge(ledger, order, { key, attempt }) {
  await work(300)
  if (attempt === 1) throw new Error('card network down')
  if (!charges(ledger).some((line) => line.endsWith(key))) {
    mkdirSync(dirname(ledger), { recursive: true })
    appendFileSync(ledger, `${order.id} charged ${order.amount} key ${key}\n`)
  }
  return `pay-${order.id}`
}

/** One line per real charge. */
export function charges(ledger) {
  if (!existsSync(ledger)) return []
  return readFileSync(ledger, 'utf8').split('\n').filter(Boolean)
}
