// Engines on Redis: every style, two processes' worth of engines, and what is refused there.

import { describe, expect, test } from 'vitest'
import { graph, machine, type TransitionContext, task, workflow } from '../../src/index.js'
import { all, eventually, kindsOf, refusalOf } from '../support/world.js'
import { freshSchema, redis, Stage, TITLE } from './stage.js'

describe.skipIf(redis.skip !== null)(`Engines on ${TITLE}`, () => {
  const stage = new Stage()

  const double = task('double', (n: number) => n * 2)
  const order = workflow('order', async (wf, n: number) => {
    const doubled = await wf.do('double', double, n)
    await wf.sleep('nap', 50)
    const paid = await wf.waitFor('paid')
    return { doubled, paid }
  })
  const picking = machine('picking', {
    initial: 'idle',
    context: { taken: 0 },
    states: {
      idle: { on: { ASSIGN: { target: 'picking' } } },
      picking: { on: { DONE: { target: 'finished' } } },
      finished: { final: true },
    },
  })
  const scoring = graph({
    id: 'scoring',
    nodes: [{ id: 'score', type: 'set', config: { score: { cel: 'input.n * 2' } } }],
    edges: [{ from: 'trigger', to: 'score' }],
    output: { score: { cel: 'variables.score' } },
  })
  const hearing = workflow('hearing', async (wf) => wf.waitForEvent('rain'))
  const REFUSED = {
    code: 'TRANSACTION_INVALID',
    message: expect.stringContaining('Redis as the database has no transactions'),
    hint: 'use wf.do with an idempotency key, or PostgreSQL as the database',
  }
  const ALL = [double, order, picking, scoring, hearing]

  test('functions, machines, graphs, schedules, signals and events work on two engines at once', async () => {
    const schema = freshSchema()
    const workers = [await stage.engine(schema, ALL), await stage.engine(schema, ALL)] as const
    const caller = await stage.engine(schema, ALL, { worker: false })
    expect(caller.about()).toMatchObject({ database: 'redis', isEmbedded: false })

    const orders = await Promise.all(
      Array.from({ length: 30 }, (_, n) => caller.start(order, n, { id: `o-${n}` })),
    )
    await Promise.all(orders.map((run, n) => run.signal('paid', `by ${n}`)))
    const results = await Promise.all(orders.map((run) => run.result()))
    expect(results).toEqual(orders.map((_, n) => ({ doubled: n * 2, paid: `by ${n}` })))

    const pick = await caller.start(picking, undefined, { id: 'p-1' })
    await pick.trigger('ASSIGN', undefined, { within: '10s' })
    await pick.trigger('DONE', undefined, { within: '10s' })
    await pick.result()
    expect((await caller.get('p-1'))?.status).toBe('completed')

    expect((await caller.run(scoring, { n: 4 })).output).toEqual({ score: 8 })
    await workers[0].schedules.set({ id: 'often', workflow: double, every: '1s', input: 21 })
    await eventually(async () => {
      const { items } = await caller.list({ tags: { schedule: 'often' }, status: 'completed' })
      return items.length
    }).toBeGreaterThan(0)
    await workers[1].schedules.delete('often')

    const hears = await Promise.all([1, 2, 3].map(() => caller.start(hearing)))
    await eventually(async () => {
      const { items } = await caller.list({ workflow: hearing, status: 'waiting' })
      return items.length
    }).toBe(3)
    await caller.emit('rain', { mm: 5 })
    expect(await Promise.all(hears.map((run) => run.result()))).toEqual(
      [5, 5, 5].map((mm) => ({ mm })),
    )

    const lines = await all(caller.export({ copy: true }))
    expect(lines.length).toBeGreaterThan(30)
  })

  test('a run goes on in another engine when the one that had it is gone, and after all have closed', async () => {
    const schema = freshSchema()
    let executions = 0
    const waiting = workflow('waiting', async (wf) => {
      await wf.do('first', () => {
        executions += 1
      })
      return wf.waitFor('go')
    })
    const one = await stage.engine(schema, [waiting])
    const run = await one.start(waiting, undefined, { id: 'w-1' })
    await eventually(async () => (await one.get('w-1'))?.status).toBe('waiting')
    await run.signal('go', 5, { id: 'm-1' }).then(() => one.close())
    const two = await stage.engine(schema, [waiting])
    expect(await two.handle(waiting, 'w-1').result()).toBe(5)
    expect(executions).toBe(1)
  })

  test('wf.transaction is refused with a hint, and the run that asks for it fails at once', async () => {
    const writing = workflow('writing', async (wf) =>
      wf.transaction('write', async (tx) => tx.query('select 1'), { retries: 3 }),
    )
    const engine = await stage.engine(freshSchema(), [writing])
    const outcome = await engine.run(writing)
    expect(outcome).toMatchObject({ status: 'failed', error: REFUSED })
    expect(await kindsOf(engine, outcome.id)).toEqual(['run.created', 'step.failed', 'run.failed'])
  })

  test('ctx.transaction() is refused with a hint, and the transition that asks for it fails', async () => {
    let executions = 0
    const booking = machine('booking', {
      transitions: {
        book: {
          to: 'end',
          retry: 3,
          run: async (_state: object, ctx: TransitionContext) => {
            executions += 1
            await ctx.transaction(async (tx) => tx.query('select 1'))
          },
        },
      },
    })
    const engine = await stage.engine(freshSchema(), [booking])
    expect(await engine.run(booking)).toMatchObject({ status: 'failed', error: REFUSED })
    expect(executions).toBe(1)
  })

  test('engine.transaction and { transaction } of start, signal and emit are refused with a hint', async () => {
    const engine = await stage.engine(freshSchema(), [double, hearing])
    const transaction = { query: async () => ({ rows: [], rowCount: 0 }) } as never
    const { id } = await engine.start(hearing)
    for (const refused of [
      engine.transaction(async () => {}),
      engine.start(double, 1, { id: 'd-1', transaction }),
      engine.signal(id, 'x', 1, { transaction }),
      engine.emit('x', {}, { transaction }),
    ]) {
      expect(await refusalOf(refused)).toMatchObject(REFUSED)
    }
    expect(await engine.get('d-1')).toBeNull()
  })

  test('tools that need SQL say so', async () => {
    const refused = await refusalOf(withStoreOf(stage.url))
    expect(refused).toMatchObject({ code: 'OPTION_INVALID' })
    expect(refused.message).toContain('Redis as the database has no tables')
  })
})

async function withStoreOf(database: string): Promise<unknown> {
  const { withStore } = await import('../../src/tools/open.js')
  return withStore({ database }, async () => {})
}
