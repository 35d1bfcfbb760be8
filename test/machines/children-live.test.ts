// Machines and their children: started with a transition, heard of by another, alone or together.

import { expect, test } from 'vitest'
import { machine, type TransitionContext, typed, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'a machine with children', (database) => {
  const world = worldOn(database)

  const doubling = () =>
    workflow(fresh('double'), async (_, n: number) => {
      if (n < 0) throw new Error('negative')
      return n * 2
    })

  /** Starts what `start` says, and ends with what it hears. */
  const parentOf = (start: (ctx: TransitionContext) => Promise<unknown>, slow = false) =>
    machine(fresh('parent'), {
      transitions: {
        begin: {
          to: slow ? 'resting' : 'waiting',
          run: async (_: object, ctx: TransitionContext) => void (await start(ctx)),
        },
        ...(slow && {
          rested: { from: 'resting', to: 'waiting', after: 400, run: async () => {} },
        }),
        routed: {
          from: 'waiting',
          to: 'end',
          wait: true,
          run: async (_: object, outcome: unknown) => outcome,
        },
      },
    })

  test('[E13] is told of the end of a child by the transition that it names', async () => {
    const double = doubling()
    const id = fresh('child')
    const parent = parentOf((ctx) => ctx.start(double, 21, { id, callback: 'routed' }))
    const engine = await world.open([double, parent])
    const run = await engine.start(parent)
    expect(await run.result()).toEqual({ id, status: 'completed', output: 42 })
    expect(await engine.get(id)).toMatchObject({ parentId: run.id })
  })

  test('[E13] is told once, also of one that ends before the machine waits, and after a restart', async () => {
    const double = doubling()
    const parent = parentOf((ctx) => ctx.start(double, 1, { callback: 'routed' }), true)
    const engine = await world.open([double, parent], { kernel: { framesMax: 0 } })
    const run = await engine.start(parent)
    expect(await run.result()).toMatchObject({ status: 'completed', output: 2 })
  })

  test('is told of a child that failed', async () => {
    const double = doubling()
    const parent = parentOf((ctx) => ctx.start(double, -1, { callback: 'routed' }))
    const engine = await world.open([double, parent])
    expect(await (await engine.start(parent)).result()).toMatchObject({
      status: 'failed',
      error: { message: 'negative' },
    })
  })

  test('starts none if the transition fails', async () => {
    const double = doubling()
    const id = fresh('child')
    const parent = parentOf(async (ctx) => {
      await ctx.start(double, 1, { id })
      throw new Error('no')
    })
    const engine = await world.open([double, parent])
    const run = await engine.start(parent)
    await eventually(() => run.status()).toBe('failed')
    expect(await engine.get(id)).toBeNull()
  })

  test('hears of several at once: all, allSettled, sequence', async () => {
    const double = doubling()
    const both = (ns: readonly number[], how: 'all' | 'allSettled' | 'sequence') =>
      parentOf((ctx) =>
        ctx[how](
          ns.map((n) => [double, n] as const),
          { callback: 'routed' },
        ),
      )
    const definitions = {
      all: both([1, 2, 3], 'all'),
      broken: both([1, -2, 3], 'all'),
      settled: both([1, -2], 'allSettled'),
      sequence: both([1, 2, 3], 'sequence'),
      halted: both([1, -2, 3], 'sequence'),
    }
    const engine = await world.open([double, ...Object.values(definitions)], {
      kernel: { framesMax: 0 },
    })
    const results: Record<string, unknown> = {}
    for (const [name, definition] of Object.entries(definitions)) {
      results[name] = await (await engine.start(definition)).result({ timeout: '30s' })
    }
    const failed = { status: 'failed', error: { message: 'negative' } }
    expect(results).toMatchObject({
      all: { status: 'completed', output: [2, 4, 6] },
      broken: failed,
      settled: { status: 'completed', output: [{ status: 'completed', output: 2 }, failed] },
      sequence: { status: 'completed', output: [2, 4, 6] },
      halted: failed,
    })
    const halted = await engine.list({ workflow: double, limit: 500 })
    expect(halted.items.length).toBe(3 + 3 + 2 + 3 + 2)
  })

  test('stops them when it is cancelled in the middle of a transition, or by a process that has not executed it', async () => {
    const endless = workflow(fresh('endless'), async (wf) => wf.waitFor('never'))
    const parent = machine(fresh('parent'), {
      input: typed<string>(),
      transitions: {
        begin: {
          to: 'open',
          run: async (_: object, ctx: TransitionContext<string>) => {
            await ctx.start(endless, undefined, { id: ctx.input })
          },
        },
        rest: { from: 'open', to: 'resting', run: async () => {} },
        work: {
          from: 'resting',
          to: 'end',
          wait: true,
          run: async (_: object, __: unknown, ctx: TransitionContext<string>) => {
            await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
          },
        },
      },
    })
    const engine = await world.open([endless, parent], { kernel: { framesMax: 0 } })
    const [cold, busy] = [fresh('cold'), fresh('busy')]
    const runs = [await engine.start(parent, cold), await engine.start(parent, busy)]
    for (const run of runs) await eventually(async () => (await run.get()).place).toBe('resting')
    await runs[1]?.signal('work')
    await eventually(() => runs[1]?.status()).toBe('running')
    for (const run of runs) await run.cancel('enough')
    for (const run of runs) await eventually(() => run.status()).toBe('cancelled')
    for (const id of [cold, busy]) {
      await eventually(async () => (await engine.get(id))?.status).toBe('cancelled')
    }
  })

  test('stops them when it ends, and when it is cancelled', async () => {
    const endless = workflow(fresh('endless'), async (wf) => wf.waitFor('never'))
    const [one, two] = [fresh('one'), fresh('two')]
    const parent = machine(fresh('parent'), {
      input: typed<string>(),
      transitions: {
        begin: {
          to: 'open',
          run: async (_: object, ctx: TransitionContext<string>) =>
            void (await ctx.start(endless, undefined, { id: ctx.input })),
        },
        close: { from: 'open', to: 'end', wait: true, run: async () => {} },
      },
    })
    const engine = await world.open([endless, parent])
    const [first, second] = [await engine.start(parent, one), await engine.start(parent, two)]
    for (const id of [one, two])
      await eventually(async () => (await engine.get(id))?.status).toBe('waiting')
    await first.trigger('close')
    await second.cancel('enough')
    for (const id of [one, two])
      await eventually(async () => (await engine.get(id))?.status).toBe('cancelled')
  })

  test('hears of a child as an event, and may be a child itself', async () => {
    const double = doubling()
    const counting = machine(fresh('counting'), {
      initial: 'idle',
      context: { heard: null as unknown },
      states: {
        idle: {
          on: {
            GO: {
              target: 'asking',
              actions: ({ start, event }) =>
                start(double, Number(event.n), { callback: 'DOUBLED' }),
            },
          },
        },
        asking: {
          on: {
            DOUBLED: {
              target: 'done',
              actions: ({ context, event }) => Object.assign(context, { heard: event.output }),
            },
          },
        },
        done: { final: true },
      },
      output: ({ context }) => context.heard,
    })
    const asking = workflow(fresh('asking'), async (wf) => {
      const run = await wf.start('count', counting, {})
      await run.signal('GO', { n: 4 })
      return run.result()
    })
    const engine = await world.open([double, counting, asking])
    const id = fresh('c')
    await engine.send(counting, id, { type: 'GO', n: 21 })
    expect(await engine.handle(counting, id).result()).toBe(42)
    expect(await (await engine.start(asking)).result()).toBe(8)
  })
})
