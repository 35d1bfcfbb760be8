// The driver on `pg`: outages, hints, and what it says of a database that is not there.

import { createHook } from 'node:async_hooks'
import { createServer, Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Driver } from '../../src/store/driver.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { openProxy } from '../crash/proxy.mjs'
import { commit, fenceOf, historyOf, kinds, ownedRun, step, worker } from './builders.js'
import { describeOn, freshSchema, openPostgres, urlOf } from './open-stores.js'

describeOn(['postgres15', 'postgres18'], 'driver-pg', (database) => {
  // A database of its own: the connections of other tests are not to be ended.
  const name = freshSchema()
  const url = () => Object.assign(new URL(urlOf(database)), { pathname: `/${name}` }).href
  const admin = async (sql: string) => {
    const client = new pg.Client(urlOf(database))
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  beforeAll(() => admin(`create database ${name}`))
  afterAll(() => admin(`drop database ${name} with (force)`))
  const killAll = () =>
    admin(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'perdure' and datname = '${name}'`,
    )

  test('connections that the server has ended come back by themselves', async () => {
    const s = await openPostgres(url())
    const by = worker()
    const run = await ownedRun(s.store, by)
    await s.store.join(by)
    await s.store.beat(by)
    for (let seq = 1; seq <= 5; seq += 1) {
      await killAll()
      const delta = step(fenceOf(run, by, 1, seq))
      for (let resent = false; ; resent = true) {
        try {
          const { answers } = await s.store.commit(by, [delta], { resent, feed: false })
          expect(answers).toMatchObject([{ kind: 'done' }])
          break
        } catch (error) {
          expect(error).toMatchObject({ name: 'StoreUnavailable' })
        }
      }
      await s.store.beat(by).catch((error) => expect(error.name).toBe('StoreUnavailable'))
    }
    expect(await historyOf(s.store, run)).toHaveLength(6)
    await s.close()
  })

  test('a connection that is ended in mid-commit is not known to be written', async () => {
    const s = await openPostgres(url())
    const by = worker()
    const run = await ownedRun(s.store, by)
    const holder = new pg.Client(url())
    await holder.connect()
    await holder.query('begin')
    await holder.query(`select 1 from ${s.schema}.runs where uid = $1 for update`, [run.uid])
    const committing = commit(s.store, by, step(fenceOf(run, by)))
    const outcome = expect(committing).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await new Promise((resolve) => setTimeout(resolve, 20))
    await killAll()
    await outcome
    await holder.query('commit')
    await holder.end()
    expect(await kinds(s.store, by, step(fenceOf(run, by)))).toEqual(['done'])
    await s.close()
  })

  test('hints arrive, also after the listening connection was lost', async () => {
    const [a, b] = await Promise.all([
      openPgDriver({ target: url() }),
      openPgDriver({ target: url() }),
    ])
    const heard: string[] = []
    const channel = `${freshSchema()}.due`
    const stop = await a.listen(channel, (payload) => heard.push(payload))
    for (const payload of ['1', '2', '2', 'ü']) b.notify(channel, payload)
    b.notify(channel, 'x'.repeat(8_000))
    await expect.poll(() => heard).toEqual(expect.arrayContaining(['1', '2', 'ü']))
    await killAll()
    await expect
      .poll(
        () => {
          b.notify(channel, 'again')
          return heard
        },
        { timeout: 10_000 },
      )
      .toContain('again')
    await stop()
    heard.length = 0
    b.notify(channel, 'unheard')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(heard).not.toContain('unheard')
    await Promise.all([a.close(), b.close()])
  })

  test('connections that are half open are dropped when it closes: they hold neither it nor the process', async () => {
    const proxy = await openProxy(url())
    const sockets: Socket[] = []
    const stream = () => {
      const socket = new Socket()
      sockets.push(socket)
      return socket
    }
    const driver = await openPgDriver({ target: { connectionString: proxy.url, stream } })
    await Promise.all(
      (['commit', 'beat', 'read'] as const).map((lane) => driver.query(lane, 'select 1', [])),
    )
    await driver.listen('silence', () => {})
    proxy.bury()
    await driver.close()
    const open = () => sockets.filter((socket) => !socket.destroyed).length
    await expect.poll(open, { timeout: 30_000 }).toBe(0)
    expect(sockets).toHaveLength(4)
    await proxy.close()
  })

  test('it uses the options of a pool, not the pool', async () => {
    const pool = new pg.Pool({ connectionString: url(), max: 1 })
    const held = await pool.connect()
    const driver = await openPgDriver({ target: pool.options })
    const [row] = await driver.query('read', "select current_setting('application_name') as a", [])
    expect(row).toEqual({ a: 'perdure' })
    held.release()
    await Promise.all([driver.close(), pool.end()])
  })

  test('values arrive as the kernel expects them', async () => {
    const driver = await openPgDriver({ target: url() })
    const rows = await driver.query(
      'read',
      "select 1::int4 as i, 1.5::float8 as f, true as b, 'x' as t, null::text as n, 8.64e15::float8 as big",
      [],
    )
    expect(rows).toEqual([{ i: 1, f: 1.5, b: true, t: 'x', n: null, big: 8.64e15 }])
    await driver.close()
  })
})

test('a database that has answered leaves no timer behind', async () => {
  const connectMs = 123_456
  const timers: { readonly _idleTimeout?: number; readonly _destroyed?: boolean }[] = []
  const hook = createHook({
    init(_id, type, _trigger, resource: (typeof timers)[number]) {
      if (type === 'Timeout') timers.push(resource)
    },
  })
  const nothing = async () => {}
  const driver: Driver = {
    kind: 'postgres',
    description: 'one that answers',
    query: async () => [{ standby: false }],
    script: nothing,
    begin: () => Promise.reject(new Error('not asked')),
    notify: () => {},
    listen: async () => nothing,
    close: nothing,
  }
  hook.enable()
  await openSqlStore({ driver, schema: 'perdure', migrate: false, connectMs })
  hook.disable()
  // A cleared one has lost its time.
  expect(timers.length).toBeGreaterThan(0)
  expect(timers.filter((timer) => (timer._idleTimeout ?? 0) > connectMs - 10_000)).toEqual([])
})

test('a database that is down is named without its password', async () => {
  const driver = await openPgDriver({ target: 'postgresql://me:secret@127.0.0.1:9/shop' })
  const opening = openSqlStore({ driver, schema: 'perdure' })
  await expect(opening).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  await opening.catch((error: Error) => {
    expect(error.message).toContain('127.0.0.1:9/shop')
    expect(JSON.stringify([error.message, String(error), error])).not.toContain('secret')
  })
  await driver.close()
})

test('a database that does not answer is given up', async () => {
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const driver = await openPgDriver({ target: `postgresql://me@127.0.0.1:${port}/shop` })
  const opening = openSqlStore({ driver, schema: 'perdure', connectMs: 300 })
  await expect(opening).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  silent.close()
})
