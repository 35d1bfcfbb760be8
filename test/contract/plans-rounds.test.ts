// What loading a run of many rounds costs, judged by the rows that are touched and the bytes that come back.

import { expect } from 'vitest'
import type { Worker } from '../../src/kernel/store.js'
import { list } from '../../src/store/wire.js'
import { newRun, ownedRun, worker } from './builders.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Session, type Sessions } from './sessions.js'

const ROUNDS = 5_000
const PER_ROUND = 10

describeOn(['postgres15', 'postgres18'], 'plans of rounds', (database) => {
  for (const [what, made] of [
    ['', runOfRounds],
    [', where each of them is one row', runOfReactions],
  ] as const) {
    const title = `loading a run in its 5,000th round reads as much as in its 5th${what}`
    onSessions(database, title, async (s) => {
      for (const table of ['runs', 'journal', 'messages'])
        await s.rows(`alter table @schema@.${table} set (autovacuum_enabled = off)`)
      const by = worker()
      const [few, many] = [await made(s, by, 5), await made(s, by, ROUNDS)]
      for (const analysed of [false, true]) {
        if (analysed) await s.rows('analyze @schema@.runs, @schema@.journal, @schema@.messages')
        const session = await s.begin()
        await session.client.query('commit')
        const first = await loaded(s, session, by, few)
        const last = await loaded(s, session, by, many)
        expect(last.entries).toEqual(first.entries)
        expect(last.taken).toBe(ROUNDS)
        expect([first.scanned, last.scanned]).toEqual([0, 0])
        expect(first.fetched).toBeLessThan(6 * PER_ROUND)
        expect(last.fetched).toBeLessThanOrEqual(first.fetched + 5)
        // Its numbers are longer.
        expect(last.bytes).toBeLessThan(1.2 * first.bytes)
      }
    })
  }

  onSessions(
    database,
    'what comes behind the last event is looked through, and no more',
    async (s) => {
      const by = worker()
      const uid = await runOfReactions(s, by, ROUNDS)
      await fillJournal(s, uid, 200, "'step.completed'", "'s' || i", 'null', 4 * ROUNDS + 3)
      for (const analysed of [false, true]) {
        if (analysed) await s.rows('analyze @schema@.runs, @schema@.journal, @schema@.messages')
        const session = await s.begin()
        await session.client.query('commit')
        const { fetched, scanned, entries } = await loaded(s, session, by, uid)
        expect(entries).toHaveLength(203)
        expect(scanned).toBe(0)
        expect(fetched).toBeLessThan(2 * 203 + 20)
      }
    },
  )

  onSessions(database, 'loading a run without rounds reads its entries once', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    await fillJournal(s, run.uid, 20_000, "'step.completed'", "'s' || i", 'null')
    for (const analysed of [false, true]) {
      if (analysed) await s.rows('analyze @schema@.runs, @schema@.journal, @schema@.messages')
      const session = await s.begin()
      await session.client.query('commit')
      const { fetched, scanned, entries } = await loaded(s, session, by, run.uid)
      expect(entries).toHaveLength(20_001)
      expect(scanned).toBe(0)
      expect(fetched).toBeLessThan(20_050)
    }
  })
})

/** Each round has a message, nine steps and its end, all of it written by SQL as the kernel would write it. */
async function runOfRounds(s: Sessions, by: Worker, rounds: number): Promise<string> {
  const { uid } = await ownedRun(s.store, by, newRun())
  const round = `(i / ${PER_ROUND} + 1)`
  const isEnd = `i % ${PER_ROUND} = ${PER_ROUND - 1}`
  const kind = `case when ${isEnd} then 'round.ended' else 'step.completed' end`
  const name = `'m@' || ${round} || case when ${isEnd} then '' else '/s' || i % ${PER_ROUND} end`
  const meta = `case when ${isEnd} then '{"behind":[2,' || (i + 1) || ']}' end`
  await fillJournal(s, uid, rounds * PER_ROUND, kind, name, meta)
  await s.rows(
    `insert into @schema@.messages (uid, no, taken_seq, at, id, kind, name)
      select '${uid}', i, 1 + i * ${PER_ROUND}, now(), 'm' || i, 'signal', 'tick' from generate_series(1, ${rounds}) i`,
  )
  await mailed(s, uid, rounds)
  return uid
}

/** Each event is one row of four entries, and its message is gone. */
async function runOfReactions(s: Sessions, by: Worker, rounds: number): Promise<string> {
  const { uid } = await ownedRun(s.store, by, newRun())
  const none = String.fromCharCode(0x1b)
  const fields = [
    ...[
      '\'{"n":1}\'',
      "'message.taken'",
      "'m@' || i || '/wait'",
      1,
      0,
      "'{\"no\":' || i || '}'",
      "'{}'",
    ],
    ...["'step.completed'", "'m@' || i || '/s'", 1, 1, `'${none}'`, "'[\\x1a]'"],
    ...["'round.ended'", "'m@' || i", 1, 0, "'{\"behind\":[2,' || (4 * i) || ']}'", "'[\\x1a]'"],
  ]
  const folded = fields.map(String).join(" || E'\\x1c' || ")
  await s.rows(
    `insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload, folded)
      select '${uid}', 4 * i + 2, 1, now(), 1, 0, 'wait.opened', 'm@' || (i + 1) || '/wait', '{}', null,
          ${folded.replaceAll("'[\\x1a]'", "E'[\\x1a]'")}
        from generate_series(1, ${rounds}) i`,
  )
  await mailed(s, uid, rounds)
  return uid
}

async function mailed(s: Sessions, uid: string, count: number): Promise<void> {
  await s.rows(`update @schema@.runs set inbox = ${count}, taken = ${count} where uid = '${uid}'`)
}

async function fillJournal(
  s: Sessions,
  uid: string,
  count: number,
  ...[kind, name, meta, from = 2]: readonly [string, string, string, number?]
): Promise<void> {
  await s.rows(
    `insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select '${uid}', i + ${from}, 1, now(), 1, 1, ${kind}, ${name}, ${meta}, '"value"' from generate_series(0, ${count - 1}) i`,
  )
}

async function loaded(s: Sessions, session: Session, by: Worker, uid: string) {
  const params = [list([uid]), list([by.id]), '{1}', '{0}', '{0}']
  const before = await counters(s, session)
  const { rows } = await session.client.query(s.sql.load, params)
  const after = await counters(s, session)
  const text = rows.map(({ entries }) => String(entries ?? '')).join('\u001e')
  const names = text.split('\u001e').map((record) => record.split('\u001f')[3] ?? '')
  return {
    entries: names.map((one) => one.replace(/@\d+/, '')),
    taken: rows[0]?.taken as number,
    bytes: text.length,
    scanned: after.scanned - before.scanned,
    fetched: after.fetched - before.fetched,
  }
}

async function counters(s: Sessions, session: Session) {
  await session.client.query('select pg_stat_force_next_flush()')
  await session.client.query('select 1')
  await s.rows('select pg_stat_force_next_flush()')
  await s.rows('select 1')
  const [row] = await s.rows(
    `select (select sum(seq_tup_read)::int from pg_stat_user_tables where schemaname = '@schema@') as scanned,
      (select sum(greatest(idx_tup_read, idx_tup_fetch))::int from pg_stat_user_indexes
        where schemaname = '@schema@' and relname in ('runs', 'journal', 'messages')) as fetched`,
  )
  return row as { scanned: number; fetched: number }
}
