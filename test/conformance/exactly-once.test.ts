// What is sent twice counts once; what is rolled back never was.

import { expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, eventually, fresh, kindsOf, refusalOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'once', (database) => {
  const world = worldOn(database)

  test('[X05] a signal sent twice with one id is stored and taken once', async () => {
    const twice = workflow(fresh('twice'), async (wf) => [
      await wf.waitFor('go'),
      await wf.waitFor('go', { timeout: 100, orNull: true }),
    ])
    const engine = await world.open([twice])
    const other = await world.open([], { options: { worker: false } })
    const run = await engine.start(twice)
    const sent = [engine, other, engine].map((by) => by.signal(run.id, 'go', 1, { id: 'm-1' }))
    await Promise.all(sent)
    await engine.signal(run.id, 'go', 1, { id: 'm-1' })
    expect(await run.result()).toEqual([1, null])
    const taken = (await all(engine.history(run.id))).filter(({ kind }) => kind === 'message.taken')
    expect(taken).toHaveLength(1)
    expect(await world.messages(run.id)).toHaveLength(1)
  })

  test('[X05] a start sent twice with one id is one run, and the second changes nothing', async () => {
    let executions = 0
    const order = workflow(fresh('order'), async (wf, n: number) =>
      wf.do('charge', () => {
        executions += 1
        return n
      }),
    )
    const engine = await world.open([order])
    const other = await world.open([order])
    const id = fresh('o')
    const runs = await Promise.all([engine, other, engine].map((by) => by.start(order, 1, { id })))
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([1, 1, 1])
    const before = [await world.counts(), await world.row(id)]
    expect(await (await other.start(order, 1, { id })).result()).toBe(1)
    expect([await world.counts(), await world.row(id)]).toEqual(before)
    expect((await refusalOf(engine.start(order, 2, { id }))).code).toBe('ID_TAKEN')
    expect([await world.counts(), executions]).toEqual([before[0], 1])
  })

  test('[X05] a cancel sent twice with one id ends the run once', async () => {
    const waits = workflow(fresh('waits'), async (wf) => wf.waitFor('never'))
    const engine = await world.open([waits])
    const run = await engine.start(waits)
    await Promise.all([1, 2, 3].map(() => engine.cancel(run.id, 'enough', { id: 'c-1' })))
    expect((await refusalOf(run.result())).code).toBe('WORKFLOW_CANCELLED')
    await engine.cancel(run.id, 'enough', { id: 'c-1' })
    const kinds = await kindsOf(engine, run.id)
    expect(kinds.filter((kind) => kind === 'run.cancelled')).toHaveLength(1)
  })

  test('[X05] a commit whose answer was lost is sent again and written once', async () => {
    const double = task(fresh('double'), async (n: number) => n * 2)
    const chain = workflow(fresh('chain'), async (wf) => {
      const first = await wf.do('inline', () => 1)
      return wf.do('double', double, first)
    })
    let lost = 0
    const engine = await world.open([chain, double], {
      store: (opened) => ({
        ...opened,
        store: instead(opened.store, {
          commit: async (by, deltas, options) => {
            const committed = await opened.store.commit(by, deltas, options)
            if (options.resent) return committed
            lost += 1
            const { StoreUnavailable } = await import('../../src/kernel/store.js')
            throw new StoreUnavailable('the answer was lost')
          },
        }),
      }),
    })
    const run = await engine.start(chain)
    expect(await run.result()).toBe(2)
    expect(lost).toBeGreaterThan(3)
    const kinds = await kindsOf(engine, run.id)
    expect(kinds).toEqual([
      'run.created',
      'step.completed',
      'child.started',
      'child.ended',
      'run.completed',
    ])
    expect((await engine.list({ parentId: run.id })).items).toHaveLength(1)
  })

  test('[X12] of a commit that was refused nothing is heard', async () => {
    const name = fresh('refused')
    const plain = workflow(fresh('plain'), async (wf) => wf.do(name, () => 1))
    const engine = await world.open([plain])
    const heard: string[] = []
    engine.on('step.completed', ({ runId }) => void heard.push(runId))
    engine.on('run.completed', ({ runId }) => void heard.push(runId))
    const allow = await world.refuse('step.completed', name)
    const run = await engine.start(plain)
    expect((await refusalOf(run.result())).code).toBe('WORKFLOW_FAILED')
    await allow()
    expect(await kindsOf(engine, run.id)).toEqual(['run.created', 'run.failed'])
    expect(heard).toEqual([])
  })

  // Redis has no transactions: wf.transaction is refused there (test/redis/engine.test.ts).
  if (database.name !== 'redis') {
    test('[X12] of a step whose transaction is refused at its end there is no row, no entry and no event', async () => {
      const table = `${world.schema}.${fresh('seats').replace('-', '_')}`
      await world.sql(`create table ${table} (seat int primary key deferrable initially deferred)`)
      await world.sql(`insert into ${table} values (1)`)
      let seat = 1
      const book = workflow(fresh('book'), async (wf) =>
        wf.transaction('book', async (tx) => {
          await tx.query(`insert into ${table} values ($1)`, [seat])
          return seat
        }),
      )
      const engine = await world.open([book])
      const heard: string[] = []
      for (const name of [
        'step.completed',
        'step.failed',
        'run.completed',
        'run.failed',
      ] as const) {
        engine.on(name, ({ runId }) => void heard.push(`${name} ${runId}`))
      }
      const run = await engine.start(book)
      expect(await refusalOf(run.result())).toMatchObject({ code: 'WORKFLOW_FAILED' })
      const seats = () => world.sql(`select seat from ${table} order by seat`)
      expect(await seats()).toEqual([{ seat: 1 }])
      const kinds = await kindsOf(engine, run.id)
      expect(kinds).toEqual(['run.created', 'step.failed', 'run.failed'])
      await eventually(() => heard).toEqual([`step.failed ${run.id}`, `run.failed ${run.id}`])

      seat = 2
      await engine.retry(run.id)
      expect(await run.result()).toBe(2)
      expect(await seats()).toEqual([{ seat: 1 }, { seat: 2 }])
      await eventually(() => heard.slice(2)).toEqual([
        `step.completed ${run.id}`,
        `run.completed ${run.id}`,
      ])
    })
  }
})
