// Mistakes about what is not built yet; those that can be made today are in ../programs/negative.ts.
// Move each over in the change that builds what it is about.

import { cel, createEngine, graph } from 'perdure'
import pg from 'pg'
import { z } from 'zod'
import { order } from '../programs/01-order.js'
import { createUser } from '../programs/02-signup.js'
import { subscription } from '../programs/03-subscription.js'
import { Review, review } from '../programs/04-approval.js'
import { picking } from '../programs/06-events.js'
import { events, routing } from './07-graph.js'

// graphs
graph({
  id: 'g',
  nodes: [{ id: 'a', type: 'merge' }],
  // @ts-expect-error no such node
  edges: [{ from: 'a', to: 'b' }],
})
graph({
  id: 'g',
  edges: [],
  nodes: [
    // @ts-expect-error no such type
    { id: 'a', type: 'condtion', config: { if: cel`true` } },
  ],
})
graph({
  id: 'g',
  edges: [],
  nodes: [
    // @ts-expect-error an expression is an object, not a text
    { id: 'a', type: 'condition', config: { if: 'x > 1' } },
  ],
})
graph('g', { input: z.object({ email: z.string(), n: z.number() }) }, (g) => {
  // @ts-expect-error no such field
  g.do('u', createUser, { email: g.input.emial })
  // @ts-expect-error a number where a text is needed
  g.do('u', createUser, { email: g.input.n })
  // @ts-expect-error missing field
  g.do('u', createUser, {})
  const user = g.do('u', createUser, { email: g.input.email })
  // @ts-expect-error no such output
  cel`${user.nam} == 'x'`
  return user.id
})

// engine
export const engine = await createEngine({
  workflows: [order, subscription, review, picking, routing],
  events,
})
const h = await engine.start(order, { id: 'o1', amount: 5, email: 'x' }, { id: undefined })
const info = await h.get()
// @ts-expect-error no such place in the state
if (info.state.phase === 'done') {
}
const client = await new pg.Pool().connect()
const pending = await engine.start(
  order,
  { id: 'o2', amount: 1, email: 'x' },
  { transaction: client },
)
// @ts-expect-error nothing to await before COMMIT
await pending.result()
// @ts-expect-error documents have a shape
;(await engine.documents('x', Review))[0]?.content.nope
