// Engines on Redis: every style, two processes' worth of engines, and what is refused there.

import { describe, expect, test } from 'vitest'
import { graph, machine, task, workflow } from '../../src/index.js'
import { all, eventually, refusalOf } from '../support/world.js'
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

  test('transactions are refused with a hint, and the run that asks for one fails at once', async () => {
    const schema = freshSchema()
    const writing = workflow('writing', async (wf) =>
      wf.transaction('write', async (tx) => tx.query('select 1')),
    )
    const engine = await stage.engine(schema, [writing, double])
    const run = await engine.start(writing)
    const failed = await refusalOf(run.result())
    expect(failed.message).toContain('Redis as the database has no transactions')
    const refused = await refusalOf(engine.transaction(async () => {}))
    expect([refused.code, refused.hint]).toEqual([
      'TRANSACTION_INVALID',
      'use wf.do with an idempotency key, or PostgreSQL as the database',
    ])
    const client = { query: async () => ({ rows: [], rowCount: 0 }) }
    const transaction = client as never
    expect(await refusalOf(engine.start(double, 1, { id: 'd-1', transaction }))).toMatchObject({
      code: 'TRANSACTION_INVALID',
    })
    expect(await refusalOf(engine.emit('x', {}, { transaction }))).toMatchObject({
      code: 'TRANSACTION_INVALID',
    })
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
