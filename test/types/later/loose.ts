// Where types are not known, nothing is in the way.
import { type Client, createEngine, type Engine } from 'perdure'
import { order } from '../programs/01-order.js'
import { Review } from '../programs/04-approval.js'
import { routingJson } from '../programs/07-graph.js'
export async function f(engine: Engine, client: Client) {
  const run = await engine.start('anything', { a: 1 }, { id: 'x' })
  await run.signal('whatever', { b: 2 })
  await run.trigger('whatever', 5)
  const out = await run.result()
  await client.send('machine', 'id', { type: 'GO', by: 'x' })
  for await (const r of engine.list({ workflow: 'order', status: 'failed' }))
    console.log(r.id, r.output)
  return out
}
const mixed = await createEngine({ workflows: [order, Review, routingJson] })
export const typedOne = (
  await (await mixed.start('order', { id: 'x', amount: 1, email: 'e' })).result()
).trackingId
export const looseOne = await mixed.start('review', { topic: 't' })
export const looseJson = await mixed.start('lead-routing-json', { any: 'thing' })
const client = await createEngine({ worker: false })
await client.start('order', { id: 'x' })
await client.start('order')
export const passed: Engine = mixed
export const out = f(mixed, mixed)
