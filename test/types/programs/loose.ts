// Where types are not known, nothing is in the way.
import { type Client, createEngine, type Definition, type Engine } from 'perdure'
import { order } from './01-order.js'
import { signup } from './02-signup.js'
import { Review } from './04-approval.js'

export async function f(engine: Engine, client: Client) {
  const run = await engine.start('anything', { a: 1 }, { id: 'x' })
  await run.signal('whatever', { b: 2 })
  await run.trigger('whatever', 5)
  const out = await run.result()
  await client.signal('id', 'name', { any: 'thing' })
  await client.send('machine', 'id', { type: 'GO', by: 'x' })
  for await (const r of engine.list({ workflow: 'order', status: 'failed' }))
    console.log(r.id, r.output)
  return out
}
const some: readonly Definition[] = [order, signup]
const mixed = await createEngine({ workflows: [order, Review, ...some] })
export const looseOne = await mixed.start('review', { topic: 't' })
const known = await createEngine({ workflows: [order, signup] })
export const typedOne = (
  await (await known.start('order', { id: 'x', amount: 1, email: 'e' })).result()
).trackingId
const client = await createEngine({ worker: false })
await client.start('order', { id: 'x' })
await client.start('order')
export const passed: Engine = known
export const out = f(known, known)
