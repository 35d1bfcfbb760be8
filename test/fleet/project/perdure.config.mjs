// What the fleet executes. `perdure worker` and `perdure serve` are started in this folder.

import { workflow } from 'perdure'
import pg from 'pg'

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 2,
  allowExitOnIdle: true,
})
pool.on('error', () => {})

/** Each execution is written down, and what a payment service would do: the same key is paid once. */
const effect = async ({ run, key }, name) => {
  await pool.query('insert into executions values ($1, $2, $3)', [run.id, name, process.pid])
  await pool.query('insert into effects values ($1, $2, $3) on conflict do nothing', [
    key,
    run.id,
    name,
  ])
}

const order = workflow('order', async (wf, { n }) => {
  await wf.do('charge', (step) => effect(step, 'charge'))
  await wf.transaction('book', (tx) => tx.query('insert into bookings values ($1)', [wf.run.id]))
  await wf.sleep('pack', 20 + (n % 10) * 20)
  await wf.do('ship', (step) => effect(step, 'ship'))
  return n
})

export default {
  workflows: [order],
  worker: { lease: process.env.LEASE },
  serve: { rateLimit: false },
}

// Whoever has started it holds this open, and it ends with them.
process.stdin.on('end', () => process.exit(1)).resume()
