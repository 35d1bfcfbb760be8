// What a call of admit touches, by rows and never by time; and two of them at once.

import { expect } from 'vitest'
import type { Worker } from '../../src/kernel/store.js'
import { ADMIT_GROUPS_MAX, ADMIT_RUNS_MAX } from '../../src/model/limits.js'
import { commit, start, worker } from './builders.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Session, type Sessions } from './sessions.js'

const MANY = 30_000
const rules = { perWorkspace: null, keyPath: null, rate: null, keyRate: null }

/** Takes nothing without `taker`. */
async function admit(s: Sessions, session: Session, taker: Worker | null = null): Promise<number> {
  const taking = taker ? [taker.id, '\u001forder', '\u001f1', 100] : [null, '', '', 0]
  const params = [ADMIT_GROUPS_MAX, ADMIT_RUNS_MAX, false, ...taking]
  return (await session.client.query(s.sql.admit, params)).rows[0].admitted
}

async function ask(s: Sessions, key: string, count: number, when: string): Promise<void> {
  await s.rows(
    `insert into @schema@.runs (uid, asks_at, slot, limit_workspace, limit_key, created_at, updated_at, epoch, seq, priority, status,
        workspace, id, def, version, tags)
      select gen_random_uuid(), ${when}, false, '', '${key}', now(), now(), 0, 1, 5, 'pending', 'default', gen_random_uuid()::text,
        'order', '1', '{}'
        from generate_series(1, ${count}) i`,
  )
}

/** Rows and index entries of `runs` that were read. */
async function touched(
  s: Sessions,
  session: Session,
): Promise<{ scanned: number; fetched: number }> {
  await session.client.query('select pg_stat_force_next_flush()')
  await session.client.query('select 1')
  await s.rows('select pg_stat_force_next_flush()')
  await s.rows('select 1')
  const [row] = await s.rows(
    `select (select sum(seq_tup_read)::int from pg_stat_user_tables where schemaname = '@schema@' and relname = 'runs') as scanned,
      (select sum(greatest(idx_tup_read, idx_tup_fetch))::int from pg_stat_user_indexes
        where schemaname = '@schema@' and relname = 'runs') as fetched`,
  )
  return row as unknown as { scanned: number; fetched: number }
}

describeOn(['postgres15', 'postgres18'], 'limits', (database) => {
  onSessions(
    database,
    'tens of thousands of runs that wait under one key are not walked for another',
    async (s) => {
      await s.rows('alter table @schema@.runs set (autovacuum_enabled = off)')
      const limits = { ...rules, concurrency: 50, perKey: 2 }
      const by = worker({ definitions: [{ name: 'order', version: '1', limits }] })
      await s.store.join(by)
      for (const analysed of [false, true]) {
        if (analysed) await s.rows('analyze @schema@.runs')
        const session = await s.begin()
        await session.client.query('commit')
        await admit(s, session)
        if (!analysed) {
          await ask(s, 'many', MANY, "now() - interval '1 hour'")
          await ask(s, 'asleep', 10_000, "now() + interval '1 hour'")
          await admit(s, session)
        }
        await ask(s, `few${analysed}`, 2, 'now()')
        const before = await touched(s, session)
        expect(await admit(s, session, by)).toBe(2)
        const after = await touched(s, session)
        expect(after.scanned - before.scanned).toBe(0)
        expect(after.fetched - before.fetched).toBeLessThanOrEqual(200)
      }
    },
  )

  onSessions(
    database,
    '[D22] of two that admit at once the second counts what the first gave',
    async (s) => {
      const limits = { ...rules, concurrency: 3, perKey: null }
      const by = worker({ definitions: [{ name: 'order', version: '1', limits }] })
      await s.store.join(by)
      const counted = { workspace: '', key: '' }
      await commit(s.store, by, ...Array.from({ length: 9 }, () => start({ limits: counted })))
      const [one, two] = [await s.begin(), await s.begin()]
      expect(await admit(s, one)).toBe(3)
      const second = admit(s, two)
      await s.waiting()
      await one.end('commit')
      expect(await second).toBe(0)
      await two.end('commit')
    },
  )
})
