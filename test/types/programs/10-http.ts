// 10. A run that begins if and only if the user's own transaction commits, from an HTTP handler. (The HTTP client: ../later)
import { createServer } from 'node:http'
import { createEngine, PerdureError } from 'perdure'
import pg from 'pg'
import { order } from './01-order.js'

const pool = new pg.Pool()
const engine = await createEngine({ database: pool, workflows: [order] })

createServer(async (_request, response) => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ id: string }>(
      'insert into orders (amount) values (100) returning id',
    )
    const { id } = await engine.start(
      order,
      { id: rows[0]?.id ?? '', amount: 100, email: 'a@b.example' },
      { id: `order:${rows[0]?.id}`, transaction: client },
    )
    await client.query('commit')
    response.writeHead(202, { location: `/orders/${id}` }).end()
  } catch (error) {
    await client.query('rollback')
    if (PerdureError.is(error, 'INPUT_INVALID'))
      response.writeHead(422).end(JSON.stringify(error.details.issues.map((i) => i.message)))
    else if (PerdureError.is(error, 'ID_TAKEN')) response.writeHead(409).end(error.details.workflow)
    else response.writeHead(500).end()
  } finally {
    client.release()
  }
}).listen(0)

// The same without a pool of one's own: works on the embedded database too, and wakes a worker right after COMMIT.
const { id } = await engine.transaction(async (tx) => {
  await tx.query('insert into orders …')
  return engine.start(
    order,
    { id: 'o-9', amount: 1, email: 'a@b.example' },
    { id: 'order:9', transaction: tx },
  )
})
// A later request finds the run by its id, with its types.
const info = await engine.handle(order, id).get()
if (info.status === 'waiting') console.log(info.state.phase)
await engine.handle(order, id).signal('approval', { ok: true, by: 'ada' }, { id: 'click-1' })
for await (const run of engine.list({
  workflow: 'order',
  status: ['failed', 'timed_out'],
  createdAfter: new Date('2026-01-01'),
})) {
  if (run.status === 'failed') console.log(run.id, run.error.message)
}
const page = await engine.list({ status: 'waiting', limit: 20 })
if (page.next) await engine.list({ status: 'waiting', after: page.next })
