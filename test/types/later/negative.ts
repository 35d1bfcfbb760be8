// Mistakes about what is not built yet; those that can be made today are in ../programs/negative.ts.
// Move each over in the change that builds what it is about.

import {
  cel,
  createEngine,
  Guard,
  graph,
  machine,
  Transition,
  type TransitionContext,
  typed,
  workflow,
} from 'perdure'
import pg from 'pg'
import { z } from 'zod'
import { order } from '../programs/01-order.js'
import { createUser } from '../programs/02-signup.js'
import { subscription } from './03-subscription.js'
import { Review, review } from './04-approval.js'
import { picking } from './06-events.js'
import { events, routing } from './07-graph.js'

export const w = workflow(
  'w',
  { signals: { go: typed<{ n: number }>() } },
  async (wf, _: { k: string }) => {
    // @ts-expect-error child input
    await wf.start('c', Review, { topic: 'x' })
  },
)

// machines
export class Bad {
  // @ts-expect-error payload does not fit the schema
  @Transition({ from: 'a', to: 'b', wait: true, schema: z.object({ ok: z.boolean() }) })
  async approve(_s: object, p: { okay: boolean }) {
    return p
  }
  // @ts-expect-error an automatic transition gets (state, ctx), not a payload
  @Transition({ from: 'a', to: 'b' }) async auto(_s: object, p: { okay: boolean }) {
    return p
  }
  // @ts-expect-error no such guard
  @Guard('isOwnr') @Transition({ from: 'b', to: 'end' }) async end(
    _s: object,
    _c: TransitionContext,
  ) {}
  // @ts-expect-error `to` is missing
  @Transition({ from: 'b' }) async nowhere() {}
  isOwner() {
    return true
  }
  @Guard('isOwner')
  @Transition({ from: ['b', 'c'], to: 'end', retry: { attempts: 2, place: 'x' } })
  async fine(_s: { n?: number }, c: TransitionContext<{ a: 1 }>) {
    c.input.a
  }
  @Guard((s: { n: number }) => s.n > 1) @Transition({ from: 'd', to: 'end' }) async alsoFine() {}
}
// @ts-expect-error unknown target
machine('m', { initial: 'a', context: { n: 0 }, states: { a: { on: { GO: 'c' } }, b: {} } })
// @ts-expect-error unknown initial
machine('m', { initial: 'x', context: { n: 0 }, states: { a: {}, b: {} } })
machine('m', {
  initial: 'a',
  context: { n: 0 },
  events: { GO: typed<{ by: string }>() },
  states: {
    // @ts-expect-error undeclared event
    a: { on: { GONE: 'b' } },
    b: {},
  },
})
machine('m', {
  initial: 'a',
  context: { n: 0 },
  events: { GO: typed<{ by: string }>() },
  states: {
    // @ts-expect-error no such field
    a: {
      on: {
        GO: {
          target: 'b',
          actions: ({ context }) => {
            context.m = 1
          },
        },
      },
    },
    b: {},
  },
})
machine('m', {
  initial: 'a',
  context: { n: 0 },
  events: { GO: typed<{ by: string }>() },
  states: {
    // @ts-expect-error guards are synchronous
    a: { on: { GO: { target: 'b', guard: async () => true } } },
    b: {},
  },
})
// events need not be declared: then they are loose
machine('loose', {
  initial: 'open',
  context: { n: 0 },
  states: {
    open: {
      on: {
        INC: {
          actions: (c) => {
            c.context.n += c.event.by
          },
        },
        CLOSE: 'closed',
      },
    },
    closed: { final: true },
  },
})

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
// @ts-expect-error undeclared event
await engine.send(picking, 'p', { type: 'STRAT' })
// @ts-expect-error payload missing
await engine.send(picking, 'p', { type: 'ASSIGN' })
// @ts-expect-error no such state
;(await engine.send(picking, 'p', { type: 'COMPLETE' })).state === 'finished'
const r = await engine.start(Review, { topic: 't', owner: 'o' })
// @ts-expect-error no such transition
await r.trigger('aprove', { by: 'x' })
// @ts-expect-error wrong payload
await r.trigger('approve', { byy: 'x' })
// @ts-expect-error an automatic transition cannot be triggered
await r.trigger('write', { by: 'x' })
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
