// One process of the fleet: `worker` executes orders, `serve` answers HTTP and executes nothing. It says "ready" and its address
// when it is there, and ends in order on SIGTERM.

import pg from 'pg'
import { serve } from '../../dist/http/index.js'
import { createEngine, workflow } from '../../dist/index.js'

const [role] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2 })
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

const engine = await createEngine({
  workflows: [order],
  worker: role === 'worker' && { lease: process.env.LEASE },
})
const serving = role === 'serve' ? await serve(engine, { port: 0, rateLimit: false }) : null

process.once('SIGTERM', async () => {
  await serving?.close()
  await engine.close()
  await pool.end()
  process.exit(0)
})
process.stdout.write(`ready ${serving?.url ?? ''}\n`)
// Whoever has started it holds this open, and it ends with them.
process.stdin.on('end', () => process.exit(1)).resume()
