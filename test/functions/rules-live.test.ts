// The rules of functions that no type can show. Every run is replayed from its journal whenever it goes on.

import { describe, expect, test } from 'vitest'
import { PerdureError, type Schema, task, typed, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, refusalOf, worldOn } from '../support/world.js'

const REPLAYED = { kernel: { framesMax: 0 } }

class CardDeclined extends Error {
  override name = 'CardDeclined'
  readonly reason: string
  constructor(reason: string) {
    super(`card declined: ${reason}`)
    this.reason = reason
  }
}

/** Takes texts of digits, gives numbers, and counts how often it was asked. */
function counting(): Schema<string, number> & { asked: number } {
  const schema = {
    asked: 0,
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) => {
        schema.asked += 1
        return typeof value === 'string' && /^\d+$/.test(value)
          ? { value: Number(value) }
          : { issues: [{ message: 'not a number', path: ['n'] }] }
      },
    },
  }
  return schema as never
}

describeOn(['pglite', 'postgres18'], 'functions', (database) => {
  const world = worldOn(database)

  describe('rule 2', () => {
    test.each([
      ['at once', async () => {}],
      ['after an await', () => new Promise((resolve) => setTimeout(resolve, 5))],
    ])(
      'wf.do inside a step function is refused with STEP_NESTED, %s, and not retried',
      async (_, before) => {
        const ran: string[] = []
        const nested = workflow(fresh('nested'), async (wf) =>
          wf.do(
            'outer',
            async () => {
              ran.push('outer')
              await before()
              return wf.do('inner', () => ran.push('inner'))
            },
            { retries: 3, retryDelay: 1 },
          ),
        )
        const engine = await world.open([nested])
        const outcome = await engine.run(nested)
        expect(outcome).toMatchObject({
          status: 'failed',
          error: {
            code: 'STEP_NESTED',
            message: 'wf.do("inner") was called inside the function of a step.',
          },
        })
        expect(ran).toEqual(['outer'])
      },
    )

    test('so are a sleep, a wait and a transaction, and all of them inside a transaction', async () => {
      const nested = workflow(fresh('nested'), async (wf) => {
        const codeOf = (call: Promise<unknown>) =>
          call.then(
            () => 'taken',
            (error: unknown) => (error as PerdureError).code,
          )
        return Promise.all([
          codeOf(wf.do('a', () => wf.sleep('s', 1))),
          codeOf(wf.do('b', () => wf.waitFor('go'))),
          codeOf(wf.do('c', () => wf.transaction('t', () => 1))),
          codeOf(wf.transaction('d', () => wf.do('u', () => 1))),
        ])
      })
      const engine = await world.open([nested])
      const { output } = await engine.run(nested)
      expect(output).toEqual(Array.from({ length: 4 }, () => 'STEP_NESTED'))
    })

    test('steps beside one that is executing are not refused', async () => {
      const beside = workflow(fresh('beside'), async (wf) => {
        let release = () => {}
        const held = new Promise<void>((resolve) => {
          release = resolve
        })
        const chain = async () => {
          for (const n of [1, 2, 3]) await wf.do(`n${n}`, async () => n)
          await wf.do('release', () => release())
          return 'done'
        }
        return Promise.all([wf.do('held', () => held), chain()])
      })
      const engine = await world.open([beside])
      expect((await engine.run(beside)).output).toEqual([undefined, 'done'])
    })
  })

  describe('rule 3', () => {
    const catching = (seen: unknown[]) =>
      workflow(fresh('catching'), async (wf) => {
        const error = await wf
          .do('charge', () => {
            throw new CardDeclined('stolen')
          })
          .catch((caught: unknown) => caught)
        seen.push([error instanceof CardDeclined, (error as CardDeclined).reason])
        await wf.waitFor('go')
        throw error
      })

    test('the error given to user code is the decoded stored one, on the first execution too', async () => {
      const seen: unknown[] = []
      const definition = catching(seen)
      const engine = await world.open([definition], REPLAYED)
      const run = await engine.start(definition)
      await eventually(() => world.row(run.id)).toMatchObject({ status: 'waiting' })
      await run.signal('go')
      await expect(run.result()).rejects.toMatchObject({ code: 'WORKFLOW_FAILED' })
      expect(seen).toEqual([
        [false, 'stolen'],
        [false, 'stolen'],
      ])
    })

    test('classes in errors come back as themselves, on every pass and as the cause of result()', async () => {
      const seen: unknown[] = []
      const definition = catching(seen)
      const engine = await world.open([definition], {
        ...REPLAYED,
        options: { errors: [CardDeclined] },
      })
      const run = await engine.start(definition)
      await eventually(() => world.row(run.id)).toMatchObject({ status: 'waiting' })
      await run.signal('go')
      const error = await run.result().catch((caught: unknown) => caught)
      expect(PerdureError.is(error, 'WORKFLOW_FAILED') && error.cause).toBeInstanceOf(CardDeclined)
      expect(seen).toEqual([
        [true, 'stolen'],
        [true, 'stolen'],
      ])
    })

    test('so does a class whose errors have a name of their own', async () => {
      class Late extends Error {
        override name = 'TooLate'
      }
      const definition = workflow(fresh('late'), async (wf) => {
        const error = await wf.do('a', () => Promise.reject(new Late('x'))).catch((e: unknown) => e)
        return [error instanceof Late, (error as Error).name]
      })
      const engine = await world.open([definition], { options: { errors: [Late] } })
      expect((await engine.run(definition)).output).toEqual([true, 'TooLate'])
    })
  })

  describe('rule 4', () => {
    test('schemas are checked at the door, once; the parsed value is stored, and replay never checks again', async () => {
      const [input, go] = [counting(), counting()]
      const definition = workflow(
        fresh('checked'),
        { input, signals: { go, end: typed<undefined>() } },
        async (wf, n) => {
          const first = await wf.waitFor('go')
          await wf.waitFor('end')
          return n + first
        },
      )
      const engine = await world.open([definition], REPLAYED)
      const refused = await refusalOf(engine.start(definition, 'x'))
      expect(refused).toMatchObject({
        code: 'INPUT_INVALID',
        details: { issues: [{ path: ['n'] }] },
      })
      const run = await engine.start(definition, '40')
      expect((await engine.get(run.id))?.input).toBe(40)
      await eventually(() => world.row(run.id)).toMatchObject({ status: 'waiting' })
      const bad = await refusalOf(run.signal('go', 'x'))
      expect(bad).toMatchObject({
        code: 'PAYLOAD_INVALID',
        details: { issues: [{ message: 'not a number', path: ['n'] }] },
      })
      await engine.signal(run.id, 'go', '2')
      const { items } = await engine.history(run.id)
      await eventually(async () => (await engine.history(run.id)).items).toContainEqual(
        expect.objectContaining({ kind: 'message.taken', output: 2 }),
      )
      expect(items.filter(({ kind }) => kind === 'message.taken').length).toBeLessThanOrEqual(1)
      await engine.signal(run.id, 'end')
      expect(await run.result()).toBe(42)
      expect([input.asked, go.asked]).toEqual([2, 2])
    })

    test('an undeclared signal is checked by the wait: one that does not fit is consumed and thrown', async () => {
      const definition = workflow(fresh('loose'), async (wf) => {
        const schema = counting()
        const first = await wf.waitFor('n', { schema }).catch((error: unknown) => error)
        const second = await wf.waitFor('n', { schema })
        return [(first as PerdureError).code, second]
      })
      const engine = await world.open([definition], REPLAYED)
      const run = await engine.start(definition)
      await run.signal('n', 'x')
      await run.signal('n', '7')
      expect(await run.result()).toEqual(['PAYLOAD_INVALID', 7])
    })
  })

  describe('rule 5', () => {
    test('wf.log speaks from the first line on, and is silent on replay', async () => {
      const flow = workflow(fresh('speaks'), async (wf) => {
        wf.log.info('first line')
        await wf.do('a', () => 1)
        wf.log.info('second line')
        await wf.sleep('nap', 50)
        wf.log.info('third line')
      })
      const engine = await world.open([flow], { kernel: { framesMax: 0 } })
      await (await engine.start(flow)).result()
      const said = engine.lines.filter((line) => line.includes(' line'))
      expect(said).toEqual(['info: first line', 'info: second line', 'info: third line'])
    })
  })

  describe('rule 6', () => {
    test('patched marks are not steps: the code may leave them out later', async () => {
      const name = fresh('patched')
      const before = workflow(name, async (wf) => {
        if (wf.patched('reserve')) await wf.do('reserve', () => 1)
        return wf.waitFor('go')
      })
      const after = workflow(name, async (wf) => {
        await wf.do('reserve', () => 1)
        return wf.waitFor('go')
      })
      const first = await world.open([before])
      const { id } = await first.start(before)
      await eventually(() => world.row(id)).toMatchObject({ status: 'waiting' })
      await first.close()
      const second = await world.open([after])
      await second.signal(id, 'go', 'on')
      expect(await second.handle(after, id).result()).toBe('on')
    })

    test('wf.cancel acts at the call: without an await no later step runs', async () => {
      const ran: string[] = []
      const definition = workflow(fresh('cancelled'), async (wf) => {
        void wf.cancel('enough')
        await wf.do('later', () => ran.push('later'))
      })
      const engine = await world.open([definition])
      expect(await engine.run(definition)).toMatchObject({
        status: 'cancelled',
        error: { message: 'enough' },
      })
      expect(ran).toEqual([])
    })
  })

  describe('rule 9', () => {
    test('the same id with the same input is the same run, else ID_TAKEN; the same message id is applied once', async () => {
      const adding = workflow(fresh('adding'), async (wf, start: number) => {
        const first = (await wf.waitFor('add')) as number
        const second = (await wf.waitFor('add')) as number
        return start + first + second
      })
      const other = task(fresh('other'), async (n: number) => n)
      const engine = await world.open([adding, other])
      const id = fresh('r')
      const run = await engine.start(adding, 1, { id })
      expect((await engine.start(adding, 1, { id })).id).toBe(run.id)
      expect(await refusalOf(engine.start(adding, 2, { id }))).toMatchObject({ code: 'ID_TAKEN' })
      expect(await refusalOf(engine.start(other, 1, { id }))).toMatchObject({
        code: 'ID_TAKEN',
        details: { workflow: adding.name },
      })
      await run.signal('add', 10, { id: 'm-1' })
      await run.signal('add', 10, { id: 'm-1' })
      await run.signal('add', 100, { id: 'm-2' })
      expect(await run.result()).toBe(111)
    })
  })

  describe('two waits for one name', () => {
    test('are warned of once, naming both, and not again while the run is replayed', async () => {
      const racing = workflow(
        fresh('racing'),
        { signals: { cancel: typed<string>(), change: typed<string>() } },
        async (wf) => {
          const first = wf.waitFor('cancel')
          await Promise.race([first, wf.sleep('period', 1)])
          const second = wf.waitFor(['change', 'cancel'])
          await first
          await second
          await wf.waitFor('cancel')
        },
      )
      const engine = await world.open([racing], REPLAYED)
      const run = await engine.start(racing)
      const warned = () => engine.lines.filter((line) => line.includes('is asked for while'))
      await eventually(async () => warned()).toEqual([
        'warn: wf.waitFor("change | cancel") is asked for while wf.waitFor("cancel") is still open: the older one takes the next signal "cancel"; use wf.race or waitFor([…])',
      ])
      await run.signal('cancel', 'a')
      await run.signal('cancel', 'b')
      await run.signal('cancel', 'c')
      await run.result()
      expect(warned()).toHaveLength(1)
    })
  })
})
