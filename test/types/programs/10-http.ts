// 10. A run from an HTTP handler, found again by its id. (start in a transaction of the user, and the HTTP client: ../later)
import { createServer } from 'node:http'
import { createEngine, PerdureError } from 'perdure'
import pg from 'pg'
import { order } from './01-order.js'

const pool = new pg.Pool()
const engine = await createEngine({ database: pool, workflows: [order] })

createServer(async (_request, response) => {
  try {
    const { rows } = await pool.query<{ id: string }>(
      'insert into orders (amount) values (100) returning id',
    )
    const id = rows[0]?.id ?? ''
    const run = await engine.start(
      order,
      { id, amount: 100, email: 'a@b.example' },
      { id: `order:${id}` },
    )
    response.writeHead(202, { location: `/orders/${run.id}` }).end()
  } catch (error) {
    if (PerdureError.is(error, 'INPUT_INVALID'))
      response.writeHead(422).end(JSON.stringify(error.details.issues.map((i) => i.message)))
    else if (PerdureError.is(error, 'ID_TAKEN')) response.writeHead(409).end(error.details.workflow)
    else response.writeHead(500).end()
  }
}).listen(0)

// A later request finds the run by its id, with its types.
const info = await engine.handle(order, 'order:9').get()
if (info.status === 'completed') console.log(info.output.trackingId)
await engine
  .handle('order', 'order:9')
  .signal('approval', { ok: true, by: 'ada' }, { id: 'click-1' })
for await (const run of engine.list({
  workflow: 'order',
  status: ['failed', 'timed_out'],
  createdAfter: new Date('2026-01-01'),
})) {
  if (run.status === 'failed') console.log(run.id, run.error.message)
}
const page = await engine.list({ status: 'waiting', limit: 20 })
if (page.next) await engine.list({ status: 'waiting', after: page.next })
