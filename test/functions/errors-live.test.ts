// What user code says about an error when it throws it, and what becomes of it.

import { describe, expect, test } from 'vitest'
import {
  createEngine,
  fatal,
  type PgClient,
  ref,
  retryAfter,
  type Step,
  task,
  workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, refusalOf, worldOn } from '../support/world.js'

class PaymentError extends Error {
  override name = 'PaymentError'
}
class CardStolen extends PaymentError {
  override name = 'CardStolen'
}

const POLICY = { retries: 3, retryDelay: 1 } as const

/** The same function as an inline step, as a task and as a transaction. */
function threeWays(fn: (step: Step) => unknown, options: object = POLICY) {
  const queued = task(fresh('queued'), (_: unknown, step) => fn(step))
  return {
    queued,
    definition: workflow(fresh('three'), async (wf, way: string) => {
      if (way === 'inline') return wf.do('a', fn, options)
      if (way === 'queued') return wf.do('a', queued, 1, options)
      return wf.transaction('a', (_tx, step) => fn(step), options)
    }),
  }
}

describeOn(['pglite', 'postgres18'], 'functions', (database) => {
  const world = worldOn(database)

  describe('an error', () => {
    test.each(['inline', 'queued', 'transaction'])(
      'thrown as fatal is not retried, keeps its class, and its text may be given alone (%s)',
      async (way) => {
        const ran: number[] = []
        const { definition, queued } = threeWays(({ attempt }) => {
          ran.push(attempt)
          throw fatal(new CardStolen('stolen'))
        })
        const engine = await world.open([definition, queued], { options: { errors: [CardStolen] } })
        const run = await engine.start(definition, way)
        const error = (await run.result().catch((caught: unknown) => caught)) as Error
        expect(error.cause).toBeInstanceOf(CardStolen)
        expect(ran).toEqual([1])
        expect(fatal('the key is wrong')).toMatchObject({ message: 'the key is wrong' })
      },
    )

    test.each(['with nothing to undo', 'with something to undo'])(
      'thrown with retryAfter by the body of a child workflow delays the next child (%s)',
      async (how) => {
        let first: string | null = null
        const inner = workflow(fresh('inner'), async (wf) => {
          first ??= wf.run.id
          if (how === 'with something to undo') await wf.do('held', () => 1, { undo: () => {} })
          if (first === wf.run.id) throw retryAfter('slow down', '1h')
          return 'at last'
        })
        const outer = workflow(fresh('outer'), async (wf) =>
          wf.do('inner', inner, undefined, POLICY),
        )
        const engine = await world.open([outer, inner], { kernel: { framesMax: 0 } })
        const run = await engine.start(outer)
        const ends = async () =>
          (await all(engine.history(run.id))).filter(({ kind }) => kind === 'child.ended')
        await eventually(ends).toHaveLength(1)
        const [ended] = await ends()
        const after = Number(ended?.until) - Number(ended?.at)
        expect(after).toBeGreaterThan(3_599_000)
        expect(after).toBeLessThanOrEqual(3_600_001)
        await world.advance(3_600_000)
        expect(await run.result()).toBe('at last')
      },
    )

    test.each(['inline', 'queued', 'transaction'])(
      'thrown with retryAfter is not retried before that (%s)',
      async (way) => {
        const { definition, queued } = threeWays(({ attempt }) => {
          if (attempt === 1) throw retryAfter('slow down', '1h')
          return attempt
        })
        const engine = await world.open([definition, queued])
        const run = await engine.start(definition, way)
        const failed = () =>
          world.sql(
            `select (j.meta::jsonb ->> 'retryAt')::float8 - extract(epoch from j.at) * 1000 as after
           from @schema@.journal j join @schema@.runs r using (uid)
          where j.kind = 'step.failed' and (r.id = $1::text or r.parent_id = $1::text)`,
            [run.id],
          )
        await eventually(failed).toHaveLength(1)
        const after = Number((await failed())[0]?.after)
        expect(after).toBeGreaterThan(3_599_000)
        expect(after).toBeLessThanOrEqual(3_600_001)
        await world.advance(3_600_000)
        expect(await run.result()).toBe(2)
      },
    )

    test.each(['inline', 'queued', 'transaction'])(
      'of a class in stopOn, or of a subclass, is not retried (%s)',
      async (way) => {
        const ran: number[] = []
        const stopOn = { retry: { attempts: 3, delay: 1, stopOn: [PaymentError] } }
        const { definition, queued } = threeWays(({ attempt }) => {
          ran.push(attempt)
          throw attempt === 1 ? new Error('network') : new CardStolen('stolen')
        }, stopOn)
        const engine = await world.open([definition, queued])
        expect(await engine.run(definition, way)).toMatchObject({ error: { name: 'CardStolen' } })
        expect(ran).toEqual([1, 2])
      },
    )

    test('thrown as fatal in a child workflow ends the retries of the child too', async () => {
      let ran = 0
      const child = workflow(fresh('child'), (wf) =>
        wf.do('a', () => {
          ran += 1
          throw ran === 1 ? new Error('once') : fatal(new CardStolen('stolen'))
        }),
      )
      const parent = workflow(fresh('parent'), (wf) => wf.do('child', child, undefined, POLICY))
      const engine = await world.open([parent, child])
      expect(await engine.run(parent)).toMatchObject({
        status: 'failed',
        error: { name: 'CardStolen' },
      })
      expect(ran).toBe(2)
    })

    test('of a result that cannot be stored says that the effect has happened, the path and the remedy', async () => {
      let sent = 0
      const definition = workflow(fresh('mailing'), (wf) =>
        wf.do(
          'send',
          () => {
            sent += 1
            return { accepted: [{ retry: () => {} }] }
          },
          POLICY,
        ),
      )
      const engine = await world.open([definition])
      const run = await engine.start(definition)
      const { cause } = (await run.result().catch((caught: unknown) => caught)) as Error
      expect(cause).toMatchObject({
        code: 'VALUE_UNSTORABLE',
        message: expect.stringContaining('The effect of the step has happened'),
        hint: expect.stringContaining('return only what the workflow needs'),
        details: { path: '.accepted[0].retry' },
      })
      expect(sent).toBe(1)
    })
  })

  describe('ref()', () => {
    test('stands for a definition whose code is elsewhere: in wf.do, start, run, handle and list', async () => {
      const double = task(fresh('double'), async (n: number) => n * 2)
      const remote = ref<typeof double>(double.name)
      const calling = workflow(fresh('calling'), (wf, n: number) =>
        wf.do('twice', remote, n, { retries: 1 }),
      )
      const here = await world.open([calling])
      const run = await here.start(calling, 4)
      await eventually(() => world.row(run.id)).toMatchObject({
        status: 'waiting',
        reason: 'child',
      })
      const there = await world.open([double])
      expect(await run.result()).toBe(8)
      const client = await world.open([], { options: { worker: false } })
      const started = await client.start(remote, 5)
      expect(await client.handle(remote, started.id).result()).toBe(10)
      expect((await there.list({ workflow: remote })).items.map(({ id }) => id)).toContain(
        started.id,
      )
    })

    test('knows the schema of a definition that the engine has after all', async () => {
      const checked = task(
        fresh('checked'),
        {
          input: {
            '~standard': {
              version: 1,
              vendor: 'test',
              validate: (value: unknown) =>
                value === 1 ? { value: 1 } : { issues: [{ message: 'not one' }] },
            },
          },
        },
        async (n: number) => n,
      )
      const engine = await world.open([checked])
      const refused = await refusalOf(engine.start(ref<number, number>(checked.name), 2))
      expect(refused.code).toBe('INPUT_INVALID')
    })
  })

  describe('createEngine({ tx })', () => {
    test('gives wf.transaction what it makes of the client, in the same transaction', async () => {
      const table = `${fresh('tx').replaceAll('-', '_')}`
      const definition = workflow(fresh('orm'), (wf) =>
        wf.transaction('insert', async (tx) => {
          const { insert } = tx as unknown as { insert(n: number): Promise<number> }
          return insert(7)
        }),
      )
      await world.sql(`create table @schema@.${table} (n int)`)
      const tx = (client: PgClient) => ({
        insert: async (n: number) =>
          (await client.query(`insert into ${world.schema}.${table} values ($1)`, [n])).rowCount,
      })
      const engine = await world.open([definition], { options: { tx } })
      expect((await engine.run(definition)).output).toBe(1)
      expect(await world.sql(`select n from @schema@.${table}`)).toEqual([{ n: 7 }])
    })
  })
})

describe('createEngine', () => {
  test.each([
    ['errors that are no list', { errors: CardStolen }, 'OPTION_INVALID'],
    ['a name in errors', { errors: ['CardStolen'] }, 'OPTION_INVALID'],
    ['a class in errors that is none of an error', { errors: [class Card {}] }, 'OPTION_INVALID'],
    [
      'two classes of one name in errors',
      { errors: [CardStolen, class CardStolen extends Error {}] },
      'OPTION_INVALID',
    ],
    ['a tx that is no function', { tx: {} }, 'OPTION_INVALID'],
    ['a ref in workflows', { workflows: [ref('charge')] }, 'DEFINITION_INVALID'],
  ])('refuses %s', async (_, options, code) => {
    const error = await refusalOf(createEngine({ database: 'memory:', ...options } as never))
    expect(error.code).toBe(code)
  })

  test('ref refuses what cannot be a name', () => {
    expect(() => ref('a b')).toThrow('cannot be the name of a task')
  })
})
