// Machines whose transitions fail: retries, error places, timeouts, what is rolled back and what stays.

import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  ErrorDocument,
  fatal,
  machine,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, worldOn } from '../support/world.js'

const FAST = { delay: 5, backoff: 'fixed' } as const

describeOn(['pglite', 'postgres18', 'redis'], 'a transition that fails', (database) => {
  const world = worldOn(database)

  /** start → (work) → end, with what happens at each execution given as a list: an error text, or null for success. */
  function failing(options: object, ends: readonly (string | null)[], more: object = {}) {
    const attempts: number[] = []
    const definition = machine(fresh('failing'), {
      state: typed<{ n: number }>(),
      transitions: {
        begin: { to: 'working', run: async () => ({ n: 1 }) },
        work: {
          from: 'working',
          to: 'end',
          ...options,
          run: async (state: { n: number }, ctx: TransitionContext) => {
            attempts.push(ctx.retryCount)
            state.n = 99
            await ctx.documents.save('made', { attempt: ctx.attempt })
            const end = ends[attempts.length - 1] ?? null
            if (end !== null) throw new Error(end)
            return 'worked'
          },
        },
        ...more,
      },
    })
    return { definition, attempts }
  }

  const recover = {
    recover: { from: 'broken', to: 'end', wait: true, run: async (_: object, how: string) => how },
  } as const

  test('[E05] [E07] [R03] without a policy runs once, changes nothing, and waits for a person', async () => {
    const { definition, attempts } = failing({}, ['no', null])
    const engine = await world.open([definition])
    const run = await engine.start(definition)
    await eventually(() => run.status()).toBe('failed')
    expect(await run.get()).toMatchObject({
      place: 'working',
      hasError: true,
      retryable: true,
      state: { n: 1 },
      error: { message: 'no', step: 'work', attempt: 1 },
    })
    expect((await engine.checkpoints(run.id)).items).toHaveLength(1)
    expect(await engine.documents(run.id, 'made')).toEqual([])
    expect(await world.row(run.id)).toMatchObject({ owner: null, dueAt: null })
    expect(attempts).toEqual([0])
  })

  test('[E24] [R16] is run again by a retry, exactly once for each, and its error is gone when it succeeds', async () => {
    const { definition, attempts } = failing({}, ['no', 'no again', null])
    const engine = await world.open([definition])
    const run = await engine.start(definition)
    await eventually(() => run.status()).toBe('failed')
    const retry = () => engine.retry(run.id, { expectedAttempt: 1 })
    const both = await Promise.allSettled([retry(), retry()])
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await eventually(async () => (await run.get()).attempt).toBe(2)
    await eventually(() => run.status()).toBe('failed')
    expect(attempts).toEqual([0, 1])
    await run.retry()
    expect(await run.result()).toBe('worked')
    expect(await run.get()).toMatchObject({ hasError: false, error: null })
    expect(attempts).toEqual([0, 1, 2])
  })

  test('[E20] [R01] [R05] [R06] with retry: 3 runs four times, due 1, 2 and 4 seconds after each failure', async () => {
    const { definition, attempts } = failing({ retry: 3 }, ['1', '2', '3', '4'])
    const engine = await world.open([definition])
    const run = await engine.start(definition)
    for (const [at, seconds] of [1, 2, 4].entries()) {
      await eventually(async () => attempts.length).toBe(at + 1)
      await eventually(() => run.status()).toBe('waiting')
      const info = await run.get()
      expect(info).toMatchObject({ reason: 'retry', place: 'working', hasError: true })
      const failed = (await all(engine.history(run.id))).findLast(
        ({ kind }) => kind === 'step.failed',
      )
      const until = info.status === 'waiting' ? (info.until?.getTime() ?? 0) : 0
      expect(Math.abs(until - Number(failed?.at) - seconds * 1_000)).toBeLessThan(50)
      expect(await world.row(run.id)).toMatchObject({ owner: null })
      await world.advance(seconds * 1_000)
    }
    await eventually(() => run.status()).toBe('failed')
    expect(attempts).toEqual([0, 1, 2, 3])
    expect(await run.get()).toMatchObject({ place: 'working' })
  })

  test('[E21] [E22] waits for its retry as a row that another process takes up', async () => {
    const { definition, attempts } = failing({ retry: { attempts: 1, delay: '1h' } }, ['no', null])
    const first = await world.open([definition])
    const run = await first.start(definition)
    await eventually(() => run.status()).toBe('waiting')
    await first.close()
    const second = await world.open([definition])
    await world.advance(3_600_000)
    expect(await second.handle(definition, run.id).result()).toBe('worked')
    expect(attempts).toEqual([0, 1])
  })

  test('[R07] with a fixed delay waits as long before every retry', async () => {
    const { definition, attempts } = failing(
      { retry: { attempts: 2, delay: 700, backoff: 'fixed' } },
      ['1', '2', null],
    )
    const engine = await world.open([definition])
    const run = await engine.start(definition)
    expect(await run.result()).toBe('worked')
    const entries = await all(engine.history(run.id))
    const failures = entries.filter(({ kind }) => kind === 'step.failed')
    const delays = failures.map(({ at, until }) => Number(until) - Number(at))
    // Decided within the millisecond before it is written down.
    for (const delay of delays) expect(Math.abs(delay - 700)).toBeLessThan(50)
    expect(attempts).toEqual([0, 1, 2])
  })

  test('[R02] [E23] with a place goes there at its first failure, with its error and its ways out', async () => {
    const { definition, attempts } = failing({ retry: { place: 'broken' } }, ['no'], recover)
    const engine = await world.open([definition])
    const run = await engine.start(definition)
    await eventually(() => run.status()).toBe('waiting')
    expect(await run.get()).toMatchObject({
      place: 'broken',
      reason: 'signal',
      hasError: true,
      error: { message: 'no' },
      state: { n: 1 },
      available: [{ kind: 'transition', name: 'recover' }],
    })
    expect(await engine.explain(run.id)).toMatchObject({
      sentence: `${run.id} is not moving because it is at "broken" and waits for 'recover', because of this: no.`,
      next: [
        { command: `engine.trigger('${run.id}', 'recover', { … })` },
        { command: `engine.retry('${run.id}')` },
      ],
    })
    expect(attempts).toEqual([0])
    // [R21]
    expect(await engine.trigger(run.id, 'recover', 'by hand')).toMatchObject({ hasError: false })
    expect(await run.result()).toBe('by hand')
  })

  test('[R04] [R20] [R21] with attempts and a place tries again first; a retry by hand is one more, with the same end', async () => {
    const policy = { retry: { attempts: 2, ...FAST, place: 'broken' } }
    const { definition, attempts } = failing(policy, ['1', '2', '3', '4', null], recover)
    const engine = await world.open([definition], { kernel: { framesMax: 0 } })
    const run = await engine.start(definition)
    await eventually(async () => (await run.get()).place).toBe('broken')
    expect(attempts).toEqual([0, 1, 2])
    await run.retry()
    await eventually(async () => attempts.length).toBe(4)
    await eventually(() => run.status()).toBe('waiting')
    expect(await run.get()).toMatchObject({ place: 'broken', error: { message: '4' } })
    await run.retry()
    expect(await run.result()).toBe('worked')
    expect(attempts).toHaveLength(5)
    const documents = await engine.documents(run.id, ErrorDocument)
    expect(documents.map(({ content }) => content.error)).toEqual(['1', '2', '3', '4'])
    expect(new Set(documents.map(({ id }) => id)).size).toBe(4)
  })

  test('[E26] [R08] [R09] that takes too long is cut, tried again by its policy, and says so in these words', async () => {
    let executions = 0
    const slow = machine(fresh('slow'), {
      transitions: {
        analyze: {
          to: 'end',
          timeout: 50,
          retry: { attempts: 2, ...FAST },
          run: async (_: object, ctx: TransitionContext) => {
            executions += 1
            await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
          },
        },
      },
    })
    const engine = await world.open([slow])
    const run = await engine.start(slow)
    await eventually(() => run.status()).toBe('failed')
    expect(executions).toBe(3)
    expect((await run.get()).error?.message).toBe("Transition 'analyze' timed out after 50ms")
  })

  test('[R10] loses the right to write when its time is over', async () => {
    const late: unknown[] = []
    const slow = machine(fresh('late'), {
      transitions: {
        write: {
          to: 'end',
          timeout: 40,
          run: async (state: { n?: number }, ctx: TransitionContext) => {
            await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
            state.n = 1
            const tried = [
              () => ctx.documents.save('late', {}),
              () => ctx.start('child'),
              async () => ctx.emit('late', {}),
              async () => ctx.setOutput(1),
            ]
            for (const write of tried)
              late.push(
                await write().then(
                  () => 'written',
                  (error) => error.code,
                ),
              )
          },
        },
      },
    })
    const engine = await world.open([slow])
    const run = await engine.start(slow)
    await eventually(() => run.status()).toBe('failed')
    await eventually(async () => late).toEqual(Array(4).fill('STEP_TIMED_OUT'))
    expect(await run.get()).toMatchObject({ place: 'start', state: {} })
    expect((await engine.documents(run.id)).map(({ className }) => className)).toEqual([
      'ErrorDocument',
    ])
  })

  test('[R14] [R15] leaves a document for every failed attempt, in order, each with its attempt', async () => {
    const { definition } = failing({ retry: { attempts: 2, ...FAST } }, ['1', '2', '3'])
    const engine = await world.open([definition])
    const run = await engine.start(definition)
    await eventually(() => run.status()).toBe('failed')
    const documents = await engine.documents(run.id, ErrorDocument)
    expect(documents.map(({ content, attempt, step }) => [content.error, attempt, step])).toEqual([
      ['1', 1, 'work'],
      ['2', 2, 'work'],
      ['3', 3, 'work'],
    ])
  })

  test('[R17] keeps what it assigned to `this`, also after a restart, and for no other run', async () => {
    const seen: number[] = []
    @Workflow({ name: fresh('fields') })
    class Counting {
      tries = 0
      helper = { service: () => 'not stored' }

      @Transition({ to: 'end', retry: { attempts: 2, delay: '1h' } })
      async work() {
        this.tries += 1
        seen.push(this.tries)
        if (this.tries < 3) throw new Error(`try ${this.tries}`)
        return `${this.tries} ${this.helper.service()}`
      }
    }
    const first = await world.open([Counting])
    const run = await first.start(Counting)
    await eventually(() => run.status()).toBe('waiting')
    await first.close()
    const second = await world.open([Counting], { kernel: { framesMax: 0 } })
    const other = await second.start(Counting)
    await eventually(() => other.status()).toBe('waiting')
    await world.advance(3_600_000)
    await eventually(async () => seen.length).toBeGreaterThanOrEqual(4)
    for (const { id } of [run, other])
      await eventually(() => second.handle(Counting, id).status()).toBe('waiting')
    await world.advance(3 * 3_600_000)
    expect(await second.handle(Counting, run.id).result()).toBe('3 not stored')
    expect(await other.result()).toBe('3 not stored')
    expect(seen.toSorted()).toEqual([1, 1, 2, 2, 3, 3])
  })

  test('[R17] keeps what the last of several attempts assigned when a person retries it', async () => {
    const seen: number[] = []
    @Workflow({ name: fresh('fields') })
    class Stubborn {
      tries = 0

      @Transition({ to: 'end', retry: { attempts: 2, ...FAST } })
      async work() {
        this.tries += 1
        seen.push(this.tries)
        if (this.tries < 4) throw new Error(`try ${this.tries}`)
        return this.tries
      }
    }
    const engine = await world.open([Stubborn])
    const run = await engine.start(Stubborn)
    await eventually(() => run.status()).toBe('failed')
    await run.retry()
    expect(await run.result()).toBe(4)
    expect(seen).toEqual([1, 2, 3, 4])
  })

  test('[R18] [R19] counts the retries of each transition for itself', async () => {
    const counts: [string, number][] = []
    const both = machine(fresh('both'), {
      transitions: {
        one: {
          to: 'middle',
          retry: { attempts: 3, ...FAST },
          run: async (_: object, ctx: TransitionContext) => {
            counts.push(['one', ctx.retryCount])
            if (ctx.retryCount < 2) throw new Error('one')
          },
        },
        two: {
          from: 'middle',
          to: 'end',
          retry: { attempts: 3, ...FAST },
          run: async (_: object, ctx: TransitionContext) => {
            counts.push(['two', ctx.retryCount])
            if (ctx.retryCount < 1) throw new Error('two')
          },
        },
      },
    })
    const engine = await world.open([both])
    await (await engine.start(both)).result()
    expect(counts).toEqual([
      ['one', 0],
      ['one', 1],
      ['one', 2],
      ['two', 0],
      ['two', 1],
    ])
  })

  test('[R22] that waits is tried again with the payload it came with', async () => {
    const given: unknown[] = []
    const asking = machine(fresh('asking'), {
      transitions: {
        ask: { to: 'asking', run: async () => {} },
        answer: {
          from: 'asking',
          to: 'end',
          wait: true,
          retry: { attempts: 1, ...FAST },
          run: async (_: object, payload: { text: string }) => {
            given.push(payload)
            if (given.length < 3) throw new Error('no')
            return payload.text
          },
        },
      },
    })
    const engine = await world.open([asking], { kernel: { framesMax: 0 } })
    const run = await engine.start(asking)
    await eventually(() => run.status()).toBe('waiting')
    expect(await run.trigger('answer', { text: 'forty-two' })).toMatchObject({ hasError: true })
    await eventually(() => run.status()).toBe('failed')
    await run.retry()
    expect(await run.result()).toBe('forty-two')
    expect(given).toEqual(Array(3).fill({ text: 'forty-two' }))
  })

  test('[R24] because its new state does not fit the schema is decided like every other failure', async () => {
    const strict = machine(fresh('strict'), {
      state: z.object({ n: z.number().default(0) }),
      transitions: {
        work: {
          to: 'end',
          retry: { place: 'broken' },
          run: async (state: { n: number }) => {
            state.n = 'seven' as unknown as number
          },
        },
        ...recover,
      },
    })
    const engine = await world.open([strict])
    const run = await engine.start(strict)
    await eventually(() => run.status()).toBe('waiting')
    expect(await run.get()).toMatchObject({ place: 'broken', error: { code: 'PAYLOAD_INVALID' } })
    await run.trigger('recover', 'so')
    expect(await run.result()).toBe('so')
  })

  test('that says fatal is not tried again', async () => {
    let executions = 0
    const wrong = machine(fresh('wrong'), {
      transitions: {
        call: {
          to: 'end',
          retry: 3,
          run: async () => {
            executions += 1
            throw fatal('the key is wrong')
          },
        },
      },
    })
    const engine = await world.open([wrong])
    const run = await engine.start(wrong)
    await eventually(() => run.status()).toBe('failed')
    expect(executions).toBe(1)
  })

  test('[E25] [R11] has five minutes, or what the environment or it itself says, and leaves no timer behind', async () => {
    const limits: (number | null)[] = []
    const timed = machine(fresh('timed'), {
      transitions: {
        usual: { to: 'b', run: async () => {} },
        own: { from: 'b', to: 'c', timeout: '2s', run: async () => {} },
        none: { from: 'c', to: 'end', timeout: 0, run: async () => {} },
      },
    })
    const watched = {
      execute: (execution: {
        order: { timeoutMs: number | null; execute(attempt: never): never }
        attempt: unknown
      }) => {
        limits.push(execution.order.timeoutMs)
        return execution.order.execute(execution.attempt as never)
      },
    } as never
    const engine = await world.open([timed], { kernel: watched })
    await (await engine.start(timed)).result()
    const told = await world.open([timed], {
      kernel: watched,
      env: { DEFAULT_TRANSITION_TIMEOUT: '60000' },
    })
    await engine.close()
    await (await told.start(timed)).result()
    await told.close()
    const never = await world.open([timed], {
      kernel: watched,
      env: { DEFAULT_TRANSITION_TIMEOUT: '0' },
    })
    await (await never.start(timed)).result()
    expect(limits).toEqual([300_000, 2_000, null, 60_000, 2_000, null, null, 2_000, null])
    const timers = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const limited = await world.open([timed])
    await (await limited.start(timed)).result()
    const before = timers()
    await Promise.all(Array.from({ length: 50 }, async () => (await limited.start(timed)).result()))
    expect(timers()).toBeLessThan(before + 20)
  })

  // Redis has no transactions.
  if (database.name !== 'redis') {
    test('[R13] rolls back what it wrote through its own transaction', async () => {
      await world.sql('create table if not exists @schema@.written (run text)')
      const writing = machine(fresh('writing'), {
        transitions: {
          write: {
            to: 'end',
            run: async (_: object, ctx: TransitionContext) => {
              await ctx.transaction((tx) =>
                tx.query(`insert into ${world.schema}.written values ($1)`, [ctx.run.id]),
              )
              throw new Error('no')
            },
          },
        },
      })
      const engine = await world.open([writing])
      const run = await engine.start(writing)
      await eventually(() => run.status()).toBe('failed')
      expect(
        await world.sql('select 1 as one from @schema@.written where run = $1::text', [run.id]),
      ).toEqual([])
    })
  }
})
