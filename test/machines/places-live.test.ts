// Machines on real databases: places, transitions, waits, guards, state, checkpoints, documents.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  document,
  Guard,
  machine,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, refusalOf, worldOn } from '../support/world.js'

const COLD = { kernel: { framesMax: 0 } }

describeOn(['pglite', 'postgres18', 'redis'], 'a machine', (database) => {
  const world = worldOn(database)

  /** start → drafted → (approve) → end; each transition notes that it ran. */
  function review() {
    const ran: string[] = []
    @Workflow({ name: fresh('review') })
    class Review {
      static state = z.object({ text: z.string().default(''), rounds: z.number().default(0) })

      @Transition({ to: 'written' })
      async write(state: { text: string; rounds: number }) {
        ran.push('write')
        state.text = 'draft'
        state.rounds += 1
      }

      @Transition({ from: 'written', to: 'reviewing' })
      async check(state: { text: string }) {
        ran.push('check')
        return { ...state, text: `${state.text}, checked` }
      }

      @Transition({
        from: 'reviewing',
        to: 'end',
        wait: true,
        schema: z.object({ by: z.string() }),
      })
      async approve(state: { text: string }, payload: { by: string }) {
        ran.push('approve')
        return { text: state.text, by: payload.by }
      }

      @Transition({ from: 'reviewing', to: 'written', wait: true })
      async reject(state: { rounds: number }, why: string) {
        ran.push(`reject ${why}`)
        state.rounds += 1
      }
    }
    return { Review, ran }
  }

  test('[E01] begins as pending or running at "start" with the state {} and one unit of work', async () => {
    const slow = machine(fresh('slow'), {
      transitions: { go: { to: 'end', run: async () => 'done' } },
    })
    const engine = await world.open([slow], { options: { worker: false } })
    const run = await engine.start(slow)
    expect(await run.get()).toMatchObject({
      status: 'pending',
      place: 'start',
      state: {},
      kind: 'machine',
    })
    expect((await engine.list({ workflow: slow })).items).toHaveLength(1)
  })

  test('[E02] [E10] [E11] runs every automatic transition in one pass, and rests where only others may go on', async () => {
    const { Review, ran } = review()
    const engine = await world.open([Review])
    const run = await engine.start(Review)
    await eventually(() => run.status()).toBe('waiting')
    expect(ran).toEqual(['write', 'check'])
    const info = await run.get()
    expect(info).toMatchObject({
      place: 'reviewing',
      reason: 'signal',
      until: null,
      state: { text: 'draft, checked', rounds: 1 },
    })
    expect(info).toMatchObject({
      available: [
        { kind: 'transition', name: 'approve' },
        { kind: 'transition', name: 'reject', schema: null },
      ],
    })
    expect(await world.row(run.id)).toMatchObject({ owner: null, dueAt: null, epoch: 1 })
  })

  test('[E03] [E29] has one checkpoint for each transition, numbered from 1, and its result at the end', async () => {
    const { Review } = review()
    const engine = await world.open([Review])
    const run = await engine.start(Review)
    await eventually(() => run.status()).toBe('waiting')
    await run.trigger('reject', 'too short')
    await eventually(() => run.status()).toBe('waiting')
    expect(await run.trigger('approve', { by: 'ada' })).toMatchObject({ place: 'end' })
    expect(await run.result()).toEqual({ text: 'draft, checked, checked', by: 'ada' })
    expect(await run.status()).toBe('completed')
    const { items } = await engine.checkpoints(run.id, { order: 'oldest' })
    expect(items.map(({ version, place }) => [version, place])).toEqual([
      [1, 'written'],
      [2, 'reviewing'],
      [3, 'written'],
      [4, 'reviewing'],
      [5, 'end'],
    ])
    expect(items[1]?.state).toEqual({ text: 'draft, checked', rounds: 1 })
    expect(items[2]?.state).toEqual({ text: 'draft, checked', rounds: 2 })
  })

  test('[E29] keeps a result that was published before a wait', async () => {
    const early = machine(fresh('early'), {
      transitions: {
        begin: {
          to: 'open',
          run: async (_: object, ctx: TransitionContext) => ctx.setOutput({ so: 'far' }),
        },
        close: { from: 'open', to: 'end', wait: true, run: async () => {} },
      },
    })
    const engine = await world.open([early], COLD)
    const run = await engine.start(early)
    await eventually(() => run.status()).toBe('waiting')
    await run.trigger('close')
    expect(await run.result()).toEqual({ so: 'far' })
  })

  test('[E08] [E12] [E21] goes on in another process with the transition that comes next', async () => {
    const { Review, ran } = review()
    const first = await world.open([Review])
    const run = await first.start(Review)
    await eventually(() => run.status()).toBe('waiting')
    await first.close()
    const second = await world.open([Review])
    await second.trigger(run.id, 'approve', { by: 'bob' })
    expect(await second.handle(Review, run.id).result()).toMatchObject({ by: 'bob' })
    expect(ran).toEqual(['write', 'check', 'approve'])
  })

  test('[E13] [E14] [E15] takes a trigger where it waits for it, and refuses it elsewhere with what it can take', async () => {
    const { Review } = review()
    const engine = await world.open([Review])
    const run = await engine.start(Review)
    await eventually(() => run.status()).toBe('waiting')
    const refused = await refusalOf(engine.trigger(run.id, 'aprove', { by: 'ada' }))
    expect(refused).toMatchObject({
      code: 'TRANSITION_UNAVAILABLE',
      details: { place: 'reviewing', available: ['approve', 'reject'] },
    })
    expect(refused.message).toBe(
      `Run ${run.id} is at "reviewing" and cannot take 'aprove': it does not leave that place.`,
    )
    expect(refused.hint).toContain("did you mean 'approve'?")
    const both = await Promise.allSettled([
      run.trigger('approve', { by: 'ada' }),
      run.trigger('approve', { by: 'bob' }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await run.result()).toMatchObject({ by: expect.stringMatching(/ada|bob/) })
  })

  test('[E14] keeps a signal until a place takes it', async () => {
    const { Review } = review()
    const engine = await world.open([Review], { options: { worker: false } })
    const run = await engine.start(Review)
    await run.signal('approve', { by: 'early bird' })
    const worker = await world.open([Review])
    expect(await worker.handle(Review, run.id).result()).toMatchObject({ by: 'early bird' })
  })

  test('[E16] leaves the run where it waits if a payload does not fit, and tells the sender', async () => {
    const { Review } = review()
    const engine = await world.open([Review])
    const run = await engine.start(Review)
    await eventually(() => run.status()).toBe('waiting')
    const refused = await refusalOf(engine.trigger(run.id, 'approve', { by: 7 }))
    expect(refused.code).toBe('PAYLOAD_INVALID')
    expect(refused.details).toMatchObject({ issues: [{ path: ['by'] }] })
    expect(await run.get()).toMatchObject({ status: 'waiting', place: 'reviewing' })
    await run.trigger('approve', { by: 'ada' })
  })

  describe('guards', () => {
    test('[E17] choose the first that may run: by priority, then in order', async () => {
      @Workflow({ name: fresh('guarded') })
      class Guarded {
        static input = typed<{ amount: number }>()

        @Transition({ to: 'deciding' })
        async begin(_state: object, ctx: TransitionContext<{ amount: number }>) {
          return { amount: ctx.input.amount }
        }

        @Transition({ from: 'deciding', to: 'end' })
        async usual() {
          return 'usual'
        }

        @Transition({ from: 'deciding', to: 'end', priority: 1 })
        @Guard('isLarge')
        async large() {
          return 'large'
        }

        @Transition({ from: 'deciding', to: 'end', priority: 2 })
        @Guard('isHuge')
        async huge() {
          return 'huge'
        }

        isLarge(state: { amount: number }) {
          return state.amount > 10
        }

        async isHuge(state: { amount: number }) {
          await Promise.resolve()
          return state.amount > 100
        }
      }
      const engine = await world.open([Guarded], COLD)
      const results = await Promise.all(
        [5, 50, 500].map(async (amount) => (await engine.start(Guarded, { amount })).result()),
      )
      expect(results).toEqual(['usual', 'large', 'huge'])
    })

    test('[E17] of a wait transition see its payload, and refuse without a trace', async () => {
      const owned = machine(fresh('owned'), {
        state: typed<{ owner: string }>(),
        transitions: {
          begin: { to: 'open', run: async () => ({ owner: 'ada' }) },
          close: {
            from: 'open',
            to: 'end',
            wait: true,
            guard: (state: { owner: string }, by: string) => by === state.owner,
            run: async (_state: { owner: string }, by: string) => by,
          },
        },
      })
      const engine = await world.open([owned])
      const run = await engine.start(owned)
      await eventually(() => run.status()).toBe('waiting')
      const refused = await refusalOf(engine.trigger(run.id, 'close', 'bob'))
      expect(refused.code).toBe('TRANSITION_UNAVAILABLE')
      expect(refused.message).toContain('its guard says no')
      expect(await run.get()).toMatchObject({ status: 'waiting', place: 'open', hasError: false })
      expect((await engine.checkpoints(run.id)).items).toHaveLength(1)
      await run.trigger('close', 'ada')
      expect(await run.result()).toBe('ada')
    })

    test('[E18] [R24] that give back no boolean, or throw, are the failure of their transition', async () => {
      let isBroken = true
      const doubtful = machine(fresh('doubtful'), {
        transitions: {
          begin: { to: 'choosing', run: async () => {} },
          go: {
            from: 'choosing',
            to: 'end',
            guard: () => (isBroken ? ('yes' as unknown as boolean) : true),
            run: async () => 'went',
          },
        },
      })
      const engine = await world.open([doubtful])
      const run = await engine.start(doubtful)
      await eventually(() => run.status()).toBe('failed')
      expect(await run.get()).toMatchObject({
        place: 'choosing',
        retryable: true,
        error: { message: expect.stringContaining("the guard of transition 'go'") },
      })
      isBroken = false
      await run.retry()
      expect(await run.result()).toBe('went')
    })

    test('that all say no leave the run where it is, failed, until a retry asks them again', async () => {
      let isOpen = false
      const shut = machine(fresh('shut'), {
        transitions: {
          begin: { to: 'choosing', run: async () => {} },
          go: { from: 'choosing', to: 'end', guard: () => isOpen, run: async () => 'went' },
        },
      })
      const engine = await world.open([shut])
      const run = await engine.start(shut)
      await eventually(() => run.status()).toBe('failed')
      expect((await run.get()).error?.message).toContain('every guard says no')
      isOpen = true
      await run.retry()
      expect(await run.result()).toBe('went')
    })
  })

  test('expires where it has been for as long as it may', async () => {
    const patient = machine(fresh('patient'), {
      transitions: {
        ask: { to: 'asking', run: async () => {} },
        answer: {
          from: 'asking',
          to: 'end',
          wait: true,
          run: async (_: object, text: string) => text,
        },
        expire: { from: 'asking', to: 'end', after: '7d', run: async () => 'nobody' },
      },
    })
    const engine = await world.open([patient])
    const run = await engine.start(patient)
    await eventually(() => run.status()).toBe('waiting')
    const info = await run.get()
    const until = info.status === 'waiting' ? info.until?.getTime() : 0
    expect(until).toBe(info.startedAt && until ? until : -1)
    await world.advance(7 * 86_400_000 + 1_000)
    expect(await run.result()).toBe('nobody')
  })

  test('[E17] asks the guard of a late transition too, once', async () => {
    const asked: string[] = []
    const late = machine(fresh('late'), {
      transitions: {
        ask: { to: 'asking', run: async () => {} },
        early: {
          from: 'asking',
          to: 'end',
          after: 50,
          guard: () => asked.push('early') === 0,
          run: async () => 'early',
        },
        late: { from: 'asking', to: 'end', after: 150, run: async () => 'late' },
      },
    })
    const engine = await world.open([late])
    expect(await (await engine.start(late)).result()).toBe('late')
    expect(asked).toEqual(['early'])
  })

  describe('documents', () => {
    const Draft = document('Draft', z.object({ title: z.string() }))

    test('[E03] [E06] [R12] are visible from their checkpoint on, and as before after a failed attempt', async () => {
      let fails = true
      const seen: unknown[] = []
      const writing = machine(fresh('writing'), {
        transitions: {
          begin: {
            to: 'drafted',
            run: async (_: object, ctx: TransitionContext) => {
              await ctx.documents.save(Draft, { title: 'one' }, { key: 'draft' })
              await ctx.documents.save('note', { text: 'kept' })
            },
          },
          again: {
            from: 'drafted',
            to: 'end',
            run: async (_: object, ctx: TransitionContext) => {
              seen.push((await ctx.documents.find(Draft, 'draft'))?.content)
              await ctx.documents.save(Draft, { title: 'two' }, { key: 'draft' })
              expect((await ctx.documents.all(Draft)).map(({ content }) => content)).toEqual([
                { title: 'two' },
              ])
              if (fails) throw new Error('not yet')
            },
          },
        },
      })
      const engine = await world.open([writing])
      const run = await engine.start(writing)
      await eventually(() => run.status()).toBe('failed')
      const contents = async () =>
        (await engine.documents(run.id)).map(({ className, content }) => [className, content])
      expect(await contents()).toEqual([
        ['Draft', { title: 'one' }],
        ['note', { text: 'kept' }],
        ['ErrorDocument', { error: 'not yet' }],
      ])
      fails = false
      await run.retry()
      await run.result()
      expect(seen).toEqual([{ title: 'one' }, { title: 'one' }])
      expect(await contents()).toEqual([
        ['Draft', { title: 'two' }],
        ['note', { text: 'kept' }],
        ['ErrorDocument', { error: 'not yet' }],
      ])
      const { items } = await engine.checkpoints(run.id, { order: 'oldest' })
      expect(items.map(({ documentIds }) => documentIds.length)).toEqual([2, 3])
      expect(items[0]?.documentIds[0]).not.toBe(items[1]?.documentIds[0])
    })
  })

  test('[E27] [E28] runs without a database: every automatic transition in one call, and no further than a wait', async () => {
    const { Review } = review()
    const direct = machine(fresh('direct'), {
      state: typed<{ n: number }>(),
      transitions: {
        one: { to: 'middle', run: async () => ({ n: 1 }) },
        two: {
          from: 'middle',
          to: 'end',
          run: async (state: { n: number }, ctx: TransitionContext) => {
            await ctx.documents.save('note', { n: state.n })
            return state.n + 1
          },
        },
      },
    })
    const engine = await world.open([Review, direct])
    const before = await world.counts()
    const outcome = await engine.run(direct, undefined, { stateless: true })
    expect(outcome).toMatchObject({ status: 'completed', output: 2 })
    expect(outcome.documents.map(({ content }) => content)).toEqual([{ n: 1 }])
    expect(await engine.run(Review, undefined, { stateless: true })).toMatchObject({
      status: 'waiting',
    })
    expect(await world.counts()).toEqual(before)
    const parent = machine(fresh('parent'), {
      transitions: {
        begin: { to: 'end', run: (_: object, ctx: TransitionContext) => ctx.start(direct) },
      },
    })
    const other = await world.open([parent, direct])
    const refused = await other.run(parent, undefined, { stateless: true })
    expect(refused).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('a stateless run cannot start a child') },
    })
  })

  test('goes on as a copy from any checkpoint, with another state if one is given, and the other is untouched', async () => {
    const { Review, ran } = review()
    const engine = await world.open([Review])
    const run = await engine.start(Review)
    await eventually(() => run.status()).toBe('waiting')
    await run.trigger('approve', { by: 'ada' })
    await run.result()
    ran.length = 0
    const copy = await engine.fork(run.id, { version: 2 })
    await eventually(() => copy.status()).toBe('waiting')
    expect(ran).toEqual([])
    expect(await copy.get()).toMatchObject({
      place: 'reviewing',
      state: { text: 'draft, checked' },
    })
    await engine.trigger(copy.id, 'approve', { by: 'bob' })
    expect(await copy.result()).toEqual({ text: 'draft, checked', by: 'bob' })
    const edited = await engine.fork(run.id, { version: 1, state: { text: 'mine', rounds: 7 } })
    await eventually(() => edited.status()).toBe('waiting')
    expect(ran).toEqual(['approve', 'check'])
    expect(await edited.get()).toMatchObject({ state: { text: 'mine, checked', rounds: 7 } })
    expect(await run.result()).toEqual({ text: 'draft, checked', by: 'ada' })
    const refused = await refusalOf(engine.fork(run.id, { version: 9 }))
    expect(refused.message).toContain('the version of a checkpoint of the run')
  })

  test('is described with its places, transitions and schemas', async () => {
    const { Review } = review()
    const engine = await world.open([Review])
    const { places, transitions, kind } = engine.describe(Review)
    expect(kind).toBe('machine')
    expect(places.map(({ name }) => name)).toEqual(['start', 'written', 'reviewing', 'end'])
    expect(transitions.map(({ name, from, to, runs }) => [name, from, to, runs])).toEqual([
      ['write', 'start', ['written'], 'at once'],
      ['check', 'written', ['reviewing'], 'at once'],
      ['approve', 'reviewing', ['end'], 'when sent'],
      ['reject', 'reviewing', ['written'], 'when sent'],
    ])
    expect(transitions[2]?.schema).toMatchObject({ properties: { by: { type: 'string' } } })
  })

  // Redis has no transactions.
  if (database.name !== 'redis') {
    test('commits what ctx.transaction wrote with its transition, or not at all', async () => {
      await world.sql('create table if not exists @schema@.shipments (run text, attempt int)')
      const shipping = machine(fresh('shipping'), {
        transitions: {
          ship: {
            to: 'end',
            retry: { attempts: 1, delay: 10 },
            run: async (_: object, ctx: TransitionContext) => {
              const insert = `insert into ${world.schema}.shipments values ($1, $2)`
              await ctx.transaction((tx) => tx.query(insert, [ctx.run.id, ctx.attempt]))
              if (ctx.attempt === 1) throw new Error('the truck broke down')
              await ctx.transaction((tx) => tx.query(insert, [ctx.run.id, ctx.attempt]))
              return 'shipped'
            },
          },
        },
      })
      const engine = await world.open([shipping])
      const run = await engine.start(shipping)
      expect(await run.result()).toBe('shipped')
      const rows = await world.sql('select attempt from @schema@.shipments where run = $1::text', [
        run.id,
      ])
      expect(rows.map(({ attempt }) => attempt)).toEqual([2, 2])
    })
  }
})
