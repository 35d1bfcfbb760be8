// Three workers and two API processes on one PostgreSQL, behind PgBouncer in transaction mode: docs/scaling.md.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { databases } from '../support/databases.js'
import { startPgBouncer } from '../support/pgbouncer.mjs'
import { type Postgres, startPostgres } from '../support/servers.mjs'
import { Customers } from './customers.js'
import { Member } from './fleet.js'
import { Pulse } from './gaps.js'

const ROUNDS = 2
const GAP_MAX_MS = 2_000
const TABLES = `
  create table executions (run text, step text, pid int);
  create table effects (key text primary key, run text, step text);
  create table bookings (run text)`

const parts = [...databases('postgres18'), inject('pgbouncer')]
const missing = parts.find(({ skip }) => skip !== null)
const why = missing ? ` (${missing.name}: ${missing.skip?.split('\n', 1)[0]})` : ''

describe.skipIf(missing)(`a fleet behind a pooler${why}`, () => {
  let server: Postgres
  let pooler: Awaited<ReturnType<typeof startPgBouncer>>
  let db: pg.Client
  const members: Member[] = []
  const query = async <T>(sql: string): Promise<T[]> => (await db.query(sql)).rows

  beforeAll(async () => {
    server = await startPostgres({ version: 18 })
    pooler = await startPgBouncer({ url: server.url })
    db = await connected(server.url)
    await db.query(TABLES)
  })
  afterAll(async () => {
    await Promise.all(members.map((member) => member.end('SIGKILL')))
    await db?.end()
    await pooler?.stop()
    await server?.stop()
  })

  const member = async (role: Member['role'], lease = '30s') => {
    const one = new Member(role, {
      DATABASE_URL: pooler.url,
      PERDURE_LISTEN_URL: server.url,
      LEASE: lease,
    })
    await one.start()
    members.push(one)
    return one
  }
  /** Steps that were executed more than once. */
  const repeated = () =>
    query('select run, step from executions group by run, step having count(*) > 1')

  test('is restarted under load, twice: every order that was acknowledged is done once, and there is no gap', async () => {
    const fleet = await Promise.all(
      (['worker', 'worker', 'worker', 'serve', 'serve'] as const).map((role) => member(role)),
    )
    const pulse = new Pulse(await connected(server.url))
    const customers = new Customers(() =>
      members.filter(({ role }) => role === 'serve').map(({ url }) => url),
    )

    for (let round = 0; round < ROUNDS; round += 1) {
      for (const one of fleet) {
        expect(await one.end('SIGTERM')).toBe(0)
        await one.start()
      }
    }
    expect(await repeated()).toEqual([])

    // One that is killed: its runs wait for its lease, and those of others do not.
    const victim = await member('worker', '3s')
    const byVictim = async () =>
      (await query(`select 1 from executions where pid = ${victim.pid}`)).length
    await expect.poll(byVictim, { timeout: 60_000 }).toBeGreaterThan(10)
    await Promise.all([victim.end('SIGKILL'), fleet[4]?.end('SIGKILL')])
    // Those that were there when it died are done before the customers leave.
    const now = async () => (await query<{ at: string }>('select clock_timestamp()::text as at'))[0]
    const died = await now()
    const left = () =>
      query(
        `select id from perdure.runs where finished_at is null and created_at < '${died?.at}'::timestamptz`,
      )
    await expect.poll(left, { timeout: 60_000 }).toEqual([])

    const closing = await now()
    await customers.leave()
    const open = () => query('select id from perdure.runs where finished_at is null')
    await expect.poll(open, { timeout: 60_000 }).toEqual([])
    await pulse.stop()

    const orders = customers.acknowledged.toSorted()
    const ids = await query<{ id: string }>(
      `select id from perdure.runs where status = 'completed' and def = 'order'`,
    )
    expect(ids.map(({ id }) => id).sort()).toEqual(orders)
    expect(await query('select uid from perdure.runs')).toHaveLength(orders.length)
    const perOrder = (table: string) =>
      query<{ run: string; count: number }>(
        `select run, count(*)::int as count from ${table} group by run order by run collate "C"`,
      )
    const each = (count: number) => orders.map((run) => ({ run, count }))
    expect(await perOrder('effects')).toEqual(each(2))
    expect(await perOrder('bookings')).toEqual(each(1))
    expect(
      await perOrder(
        `(select r.id as run from perdure.journal j join perdure.runs r using (uid) where j.kind = 'run.completed') ends`,
      ),
    ).toEqual(each(1))

    const lengths = await query<{ id: string; seq: number }>('select id, seq from perdure.runs')
    const lengthOf = new Map(lengths.map(({ id, seq }) => [id, seq]))
    expect(customers.followed.size).toBeGreaterThan(20)
    for (const [id, numbers] of customers.followed) {
      expect(numbers).toEqual(Array.from({ length: lengthOf.get(id) ?? 0 }, (_, i) => i + 1))
    }

    const ends = await query<{ at: number }>(
      `select extract(epoch from finished_at)::float8 * 1000 as at from perdure.runs
        where finished_at < '${closing?.at}'::timestamptz order by 1`,
    )
    expect(pulse.longestGap(ends.map(({ at }) => at))).toBeLessThan(GAP_MAX_MS)
  })
})

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  return client
}
