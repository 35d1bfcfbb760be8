// What is inferred of machines, exactly. Never executed; npm test checks the types.

import {
  createEngine,
  type Engine,
  Guard,
  type InputOf,
  machine,
  type OutputOf,
  type Schema,
  type Sent,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
  workflow,
} from '../../src/index.js'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(proof: Equal<A, B>): void

/** In and out apart: `note` has a default. */
declare const decision: Schema<
  { by: string; note?: string | undefined },
  { by: string; note: string }
>

@Workflow({ name: 'review', state: typed<object>() })
class Review {
  static input = typed<{ owner: string }>()
  static output = typed<{ by: string }>()
  count = 0

  @Transition({ to: 'reviewing' })
  async write(_state: object, ctx: TransitionContext<{ owner: string }>) {
    this.count += ctx.input.owner.length
  }

  @Guard('isOwner')
  @Transition({ from: 'reviewing', to: 'end', wait: true, schema: decision })
  async approve(_state: object, { by }: { by: string; note: string }) {
    return { by }
  }

  @Transition({ from: 'reviewing', to: 'end', wait: true })
  async reject(_state: object, note?: string) {
    return { by: note ?? 'nobody' }
  }

  // A payload of which nothing is known may be anything.
  @Transition({ from: ['reviewing'], to: 'end', wait: true, retry: { attempts: 1, place: 'x' } })
  poke() {}

  isOwner(_state: object, { by }: { by: string }, ctx: TransitionContext<{ owner: string }>) {
    return by === ctx.input.owner
  }
}
same<InputOf<typeof Review>, { owner: string }>(true)
same<OutputOf<typeof Review>, { by: string }>(true)

const picking = machine('picking', {
  initial: 'idle',
  context: { items: 0, by: null as string | null },
  events: { START: typed<{ items: number }>(), DECIDE: decision },
  states: {
    idle: {
      entry: ({ event }) => {
        same<typeof event.type, 'START' | 'DECIDE'>(true)
      },
      on: {
        START: 'picking',
        DECIDE: [
          {
            guard: ({ event }) => event.note !== '',
            actions: ({ context, event }) => {
              same<typeof context, { items: number; by: string | null }>(true)
              context.by = event.by + event.note
            },
          },
        ],
        TIMEOUT: {
          actions: ({ event }) => {
            same<typeof event, { type: 'TIMEOUT' }>(true)
          },
        },
      },
    },
    picking: { final: true },
  },
  output: ({ state, context }) => ({ state, items: context.items }),
})
same<OutputOf<typeof picking>, { state: 'idle' | 'picking'; items: number }>(true)
same<InputOf<typeof picking>, Partial<{ items: number; by: string | null }> | undefined>(true)

const object = machine('object', {
  input: typed<{ owner: string }>(),
  state: typed<{ draft: string }>(),
  transitions: {
    write: {
      to: 'open',
      run: (state, ctx) => {
        same<typeof state, { draft: string }>(true)
        same<typeof ctx.input, { owner: string }>(true)
      },
    },
    decide: {
      from: 'open',
      to: 'end',
      wait: true,
      schema: decision,
      run: (_state, payload, ctx) => {
        same<typeof payload, { by: string; note: string }>(true)
        ctx.setOutput(payload.note)
      },
    },
    annotated: { from: 'open', to: 'end', wait: true, run: (_state, by: number) => by },
  },
})
/** Without schemas whoever writes the code says what it is given. */
export const plain = machine('plain', {
  transitions: {
    go: { to: 'a', run: (state: { n: number }, ctx: TransitionContext) => ctx.place + state.n },
    end: { from: 'a', to: 'end', wait: true, run: (_state: object, why: string) => why },
  },
})

export async function use(): Promise<void> {
  const engine = await createEngine({ workflows: [Review, picking, object] })
  const review = await engine.start(Review, { owner: 'ada' }, { id: 'r' })
  // What a method takes is what its schema gives: the class does not know what went in.
  await review.trigger('approve', { by: 'ada', note: '' })
  await review.signal('reject')
  await review.signal('reject', 'no')
  await review.trigger('poke', { any: 'thing' })
  same<Awaited<ReturnType<typeof review.result>>, { by: string }>(true)
  // The name of a class is not known to the types: any name is allowed, and gives what is not known.
  const named = await engine.start('review', { owner: 'ada' })
  same<Awaited<ReturnType<typeof named.result>>, unknown>(true)

  const sent = await engine.send(picking, 'p', { type: 'DECIDE', by: 'ada' })
  same<typeof sent, Sent<'idle' | 'picking', { items: number; by: string | null }>>(true)
  const byName = await engine.send('picking', 'p', { type: 'START', items: 1 }, { id: 'm' })
  same<typeof byName.state, string>(true)
  const pick = await engine.start(picking)
  await pick.trigger('DECIDE', { by: 'ada' })

  const run = await engine.start(object, { owner: 'ada' })
  await run.trigger('decide', { by: 'ada' })
  await run.trigger('annotated', 5)
  same<Awaited<ReturnType<typeof run.get>>['state'], { draft: string }>(true)

  const passed: Engine = engine
  await passed.send('machine', 'id', { type: 'GO', by: 'x', n: [1] })
}

export const parent = workflow('parent', async (wf) => {
  const { by } = await wf.do('review', Review, { owner: 'ada' }, { timeout: '3d' })
  const picked = await wf.do('pick', picking, { items: 1 })
  same<typeof picked.items, number>(true)
  await wf.handle(Review, 'r').signal('approve', { by, note: '' })
})
