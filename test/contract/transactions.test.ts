// A step's own transaction with real statements of a user.

import { expect } from 'vitest'
import { commit, fenceOf, historyOf, kinds, ownedRun, step, worker } from './builders.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Sessions } from './sessions.js'

describeOn(['postgres15', 'postgres18'], 'a step with its own transaction', (database) => {
  const on = (title: string, body: (s: Sessions) => Promise<void>) =>
    onSessions(database, title, async (s) => {
      await s.rows('create table @schema@.paid (n int unique)')
      await body(s)
    })
  const paid = async (s: Sessions) => (await s.rows('select n from @schema@.paid')).length

  on('commits the user’s writes and the outcome together', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const transaction = await s.store.open(by, 5_000)
    const inserted = await transaction.query(
      `insert into ${s.schema}.paid values ($1) returning n`,
      [7],
    )
    expect(inserted).toMatchObject({ rows: [{ n: 7 }], rowCount: 1 })
    expect(await paid(s)).toBe(0)
    expect(
      (await transaction.close(step(fenceOf(run, by)), { feed: false })).answers,
    ).toMatchObject([{ kind: 'done' }])
    expect(await paid(s)).toBe(1)
    expect(await historyOf(s.store, run)).toHaveLength(2)
  })

  on('rolls the user’s writes back when the run has been lost', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const transaction = await s.store.open(by, 5_000)
    await transaction.query(`insert into ${s.schema}.paid values (7)`)
    await s.store.reap([], true)
    expect((await transaction.close(step(fenceOf(run, by)), { feed: false })).answers).toEqual([
      { kind: 'stale' },
    ])
    expect(await paid(s)).toBe(0)
  })

  on('holds no lock on the run while the user’s code runs', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const transaction = await s.store.open(by, 5_000)
    await transaction.query(`insert into ${s.schema}.paid values (7)`)
    expect(await kinds(s.store, by, step(fenceOf(run, by)))).toEqual(['done'])
    expect(
      (await transaction.close(step(fenceOf(run, by, 1, 2)), { feed: false })).answers,
    ).toMatchObject([{ kind: 'done' }])
  })

  on('is refused when the user has ended it', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    for (const statement of ['commit', 'rollback', 'commit; begin', 'rollback and chain']) {
      const transaction = await s.store.open(by, 5_000)
      await transaction.query(statement)
      await expect(
        transaction.close(step(fenceOf(run, by)), { feed: false }),
      ).rejects.toMatchObject({
        code: 'TRANSACTION_INVALID',
      })
      expect(await historyOf(s.store, run)).toHaveLength(1)
    }
    await commit(s.store, by, step(fenceOf(run, by)))
  })

  on('is refused when a statement had failed and the error was swallowed', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const transaction = await s.store.open(by, 5_000)
    await expect(transaction.query('select 1 / 0')).rejects.toMatchObject({ code: '22012' })
    await expect(transaction.close(step(fenceOf(run, by)), { feed: false })).rejects.toMatchObject({
      code: 'TRANSACTION_INVALID',
    })
    expect(await historyOf(s.store, run)).toHaveLength(1)
  })

  on('is ended by the server when a statement takes longer than its limit', async (s) => {
    const by = worker()
    await ownedRun(s.store, by)
    const transaction = await s.store.open(by, 100)
    await expect(transaction.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' })
    await transaction.rollback()
  })

  on('that loses a race of the database is busy: the step is executed again', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const holder = await s.begin()
    await holder.client.query(`select 1 from ${s.schema}.runs where uid = $1 for update`, [run.uid])
    const transaction = await s.store.open(by, 5_000)
    await transaction.query(`insert into ${s.schema}.paid values (7)`)
    expect((await transaction.close(step(fenceOf(run, by)), { feed: false })).answers).toEqual([
      { kind: 'busy' },
    ])
    await holder.end('rollback')
    expect(await paid(s)).toBe(0)
  })

  on('of a connection that is killed is not known to be written', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const transaction = await s.store.open(by, 5_000)
    const [{ pid } = {}] = (await transaction.query('select pg_backend_pid() as pid')).rows
    await s.rows('select pg_terminate_backend($1::int)', [Number(pid)])
    await expect(transaction.close(step(fenceOf(run, by)), { feed: false })).rejects.toMatchObject({
      name: 'StoreUnavailable',
    })
    expect(await s.store.resolve(fenceOf(run, by), 2)).toBe('absent')
    const next = await s.store.open(by, 5_000)
    expect((await next.close(step(fenceOf(run, by)), { feed: false })).answers).toMatchObject([
      { kind: 'done' },
    ])
  })
})
