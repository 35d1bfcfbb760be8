// Mistakes about what is not built yet; those that can be made today are in ../programs/negative.ts.
// Move each over in the change that builds what it is about.

import { createEngine } from 'perdure'
import pg from 'pg'
import { order } from '../programs/01-order.js'
import { subscription } from '../programs/03-subscription.js'
import { Review, review } from '../programs/04-approval.js'
import { picking } from '../programs/06-events.js'
import { events, routing } from '../programs/07-graph.js'

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
