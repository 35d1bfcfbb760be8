// Mistakes in machines, each refused by the compiler, with either kind of decorators.
import {
  createEngine,
  Guard,
  machine,
  Transition,
  type TransitionContext,
  typed,
  workflow,
} from 'perdure'
import { z } from 'zod'
import { Review, review } from './04-approval.js'
import { picking } from './06-events.js'

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
    a: {
      on: {
        GO: {
          target: 'b',
          actions: ({ context }) => {
            // @ts-expect-error no such field
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

machine('review', {
  input: z.object({ owner: z.string() }),
  transitions: {
    // @ts-expect-error no such option
    write: { to: 'reviewing', runn: () => {} },
    approve: {
      from: 'reviewing',
      to: 'end',
      wait: true,
      schema: z.object({ by: z.string() }),
      // @ts-expect-error payload does not fit the schema
      run: (_state, note: { byy: string }) => note.byy,
    },
    expire: {
      from: 'reviewing',
      to: 'end',
      after: '7d',
      // @ts-expect-error the input has no such field
      run: (_state, ctx) => ctx.input.ownr,
    },
  },
})
// @ts-expect-error one or the other
machine('m', { initial: 'a', context: {}, states: { a: {} }, transitions: { x: { to: 'end' } } })

// engine
const engine = await createEngine({ workflows: [Review, review, picking] })
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
