// What it costs to look at runs, judged by the rows that are touched: those that are told of, among many more.

import { expect } from 'vitest'
import { firstUid } from '../../src/model/ids.js'
import type { SqlValue } from '../../src/store/driver.js'
import { list } from '../../src/store/wire.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Session, type Sessions } from './sessions.js'

const RUNS = 100_000
const MINUTE_MS = 60_000

describeOn(['postgres15', 'postgres18'], 'plans of those who look at runs', (database) => {
  onSessions(database, 'looking touches what is told, among 100,000 runs', async (s) => {
    for (const table of ['runs', 'journal']) {
      await s.rows(`alter table @schema@.${table} set (autovacuum_enabled = off)`)
    }
    // One a minute; the newest 1,000 wait for a signal, every hundredth is of another workspace.
    const now = Math.floor(Date.now() / 1_000) * 1_000
    await s.rows(
      `insert into @schema@.runs (uid, created_at, updated_at, finished_at, started_at, epoch, seq, priority, status, reason, workspace, id, def, version, tags)
        select (left(t.hex, 8) || '-' || right(t.hex, 4) || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, t.at, t.at,
            case when i > 1000 then t.at end, t.at, 1, 3, 5, case when i > 1000 then 'completed' else 'waiting' end,
            case when i <= 1000 then 'signal' end, case when i % 100 = 0 then 'b' else 'default' end, 'r-' || i, 'order', '1', '{}'
          from generate_series(1, ${RUNS}) i
          cross join lateral (select lpad(to_hex(${now}::bigint - i * ${MINUTE_MS}::bigint), 12, '0') as hex,
            to_timestamp(${now / 1_000} - i * 60) as at) t`,
    )
    await s.rows(
      `insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
        select r.uid, n, 1, r.created_at, 1, 1, case n when 1 then 'run.created' when 2 then 'step.completed' else 'run.completed' end, 'a',
            '{"startedAgo":5}', '1'
          from (select * from @schema@.runs r order by r.uid desc limit 6000) r cross join generate_series(1, 3) n`,
    )
    const [long] = await s.rows(`select uid::text from @schema@.runs where id = 'r-5000'`)
    await s.rows(
      `insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, payload)
        select '${long?.uid}'::uuid, n, 1, now(), n, 1, 'step.completed', 'b', '1' from generate_series(4, 20000) n`,
    )
    const [from, to] = [now - 3_000 * MINUTE_MS, now - 2_000 * MINUTE_MS]
    const window = ['default', null, from, to, MINUTE_MS, firstUid(from), firstUid(to)]
    const [newest] = await s.rows(`select uid::text from @schema@.runs order by uid desc limit 1`)
    const calls: [string, string, SqlValue[], number][] = [
      // 1,000 in that time, looked at as started and as ended.
      ['activity', s.sql.activity, window, 2_200],
      ['inbox', s.sql.inbox, ['default', null, null, 20], 200],
      ['recent', s.sql.recent, [list([String(newest?.uid), String(long?.uid)]), 50], 120],
      ['visible', s.sql.visible, [list([String(newest?.uid)]), 20], 20],
      ['stepCounts', s.sql.stepCounts, ['default', 'order', null, 500, 100, 10_000], 5_000],
      ['historyOldest', s.sql.historyOldest, [String(long?.uid), 10_000, 100], 120],
      ['historyNewest', s.sql.historyNewest, [String(long?.uid), 10_000, 100], 120],
    ]
    for (const isAnalysed of [false, true]) {
      if (isAnalysed) await s.rows('analyze @schema@.runs, @schema@.journal')
      const session = await s.begin()
      await session.client.query('commit')
      for (const [name, text, params, most] of calls) {
        const before = await counters(s, session)
        await session.client.query(text, [...params])
        const after = await counters(s, session)
        const [scanned, fetched] = [after.scanned - before.scanned, after.fetched - before.fetched]
        expect([name, isAnalysed, scanned]).toEqual([name, isAnalysed, 0])
        expect([name, isAnalysed, fetched, fetched <= most]).toEqual([
          name,
          isAnalysed,
          fetched,
          true,
        ])
      }
    }
  })
})

async function counters(s: Sessions, session: Session) {
  await session.client.query('select pg_stat_force_next_flush()')
  await session.client.query('select 1')
  await s.rows('select pg_stat_force_next_flush()')
  await s.rows('select 1')
  const [row] = await s.rows(
    `select (select sum(seq_tup_read)::int from pg_stat_user_tables
        where schemaname = '@schema@' and relname in ('runs', 'journal')) as scanned,
      (select sum(greatest(idx_tup_read, idx_tup_fetch))::int from pg_stat_user_indexes
        where schemaname = '@schema@' and relname in ('runs', 'journal')) as fetched`,
  )
  return row as unknown as { scanned: number; fetched: number }
}
