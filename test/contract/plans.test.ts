// The kernel's statements in every state of the planner's statistics that has ever made one slow, judged
// by the rows they touch, never by time. Autovacuum is off, so a state stays what it is.

import { expect } from 'vitest'
import type { Delta, NewRun, Worker } from '../../src/kernel/store.js'
import { packCommit } from '../../src/store/pack-commit.js'
import { list } from '../../src/store/wire.js'
import {
  claimedStart,
  ended,
  entry,
  fenceOf,
  newMessage,
  newRun,
  ownedRun,
  parked,
  reacted,
  signal,
  start,
  step,
  turn,
  worker,
} from './builders.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Session, type Sessions } from './sessions.js'

const OWNED = 8_000
const DUE = 20_000
const BATCH = 100
const WAITING = "status = 'waiting' and reason = 'signal'"

describeOn(['postgres15', 'postgres18'], 'plans', (database) => {
  const on = (title: string, body: (s: Sessions) => Promise<void>) =>
    onSessions(database, title, async (s) => {
      for (const table of ['runs', 'journal', 'messages', 'states', 'workers', 'feed']) {
        await s.rows(`alter table @schema@.${table} set (autovacuum_enabled = off)`)
      }
      await body(s)
    })

  /** The state in which the session first plans, and what comes after it. */
  const states: Record<string, (s: Sessions, by: Worker) => Promise<void>> = {
    'empty and never analysed': async () => {},
    'five rows analysed': async (s, by) => {
      await fill(s, by, 5, 'owned')
      await s.rows('analyze @schema@.runs, @schema@.journal, @schema@.messages')
    },
    '60,000 finished runs analysed': async (s, by) => {
      await fill(s, by, 60_000, 'finished')
      await s.rows('analyze @schema@.runs, @schema@.journal, @schema@.messages')
    },
    'the owned runs themselves analysed': async (s, by) => {
      await fill(s, by, OWNED, 'owned')
      await s.rows('analyze @schema@.runs, @schema@.journal, @schema@.messages')
    },
  }

  for (const [state, prepare] of Object.entries(states)) {
    on(`a commit touches only its own runs: ${state}`, async (s) => {
      const by = worker()
      await prepare(s, by)
      const session = await plainSession(s)
      await session.commit(by, step(fenceOf(newRun(), by)), signal(newRun()))
      await fill(s, by, OWNED, 'owned')
      const runs = await someRuns(s, BATCH * 4)
      const [steps, parks, ends, mails] = [0, 1, 2, 3].map((i) =>
        runs.slice(i * BATCH, (i + 1) * BATCH),
      )
      await fill(s, by, OWNED, 'waiting')
      const waiting = await someRuns(s, BATCH, WAITING)
      const cases: [string, Delta[]][] = [
        ['steps', (steps ?? []).map((run) => step(fenceOf(run, by)))],
        ['parks', (parks ?? []).map((run) => parked(fenceOf(run, by)))],
        ['ends', (ends ?? []).map((run) => ended(fenceOf(run, by)))],
        ['messages', (mails ?? []).map((run) => signal(run))],
        ['events', waiting.map((run) => event(run, by, 1))],
        ['later events', waiting.map((run) => event(run, by, 2))],
        ['stale events', waiting.map((run) => event(run, by, 2))],
        ['starts', Array.from({ length: BATCH }, () => start())],
        ['stale steps', (steps ?? []).map((run) => step(fenceOf(run, by)))],
      ]
      for (const [name, deltas] of cases) {
        const touched = await touchedBy(s, session, async () => {
          await session.commit(by, ...deltas)
        })
        expect([name, touched.scanned]).toEqual([name, 0])
        expect([name, touched.fetched <= 8 * BATCH, touched.fetched]).toEqual([
          name,
          true,
          touched.fetched,
        ])
      }
    })
  }

  const claimStates: Record<string, (s: Sessions, by: Worker) => Promise<void>> = {
    'empty and never analysed': async () => {},
    'five rows analysed': async (s, by) => {
      await fill(s, by, 5, 'due')
      await s.rows('analyze @schema@.runs')
    },
    '60,000 finished runs analysed': async (s, by) => {
      await fill(s, by, 60_000, 'finished')
      await s.rows('analyze @schema@.runs')
    },
    'the due runs themselves analysed': async (s, by) => {
      await fill(s, by, DUE, 'due')
      await s.rows('analyze @schema@.runs')
    },
    'behind 60,000 sleepers': async (s, by) => {
      await fill(s, by, 60_000, 'sleeping')
    },
  }
  for (const [state, prepare] of Object.entries(claimStates)) {
    on(`a claim touches what it takes and little more: ${state}`, async (s) => {
      const by = worker()
      await prepare(s, by)
      const session = await plainSession(s)
      await session.claim(by, 1)
      await fill(s, by, DUE, 'due')
      let taken = 0
      const touched = await touchedBy(s, session, async () => {
        taken = (await session.claim(by, BATCH)).length
      })
      expect(taken).toBe(BATCH)
      expect(touched.scanned).toBe(0)
      expect(touched.fetched).toBeLessThanOrEqual(8 * BATCH)
    })
  }

  on('a claim walks over nothing that it cannot take', async (s) => {
    const by = worker()
    await fill(s, by, 10_000, 'sleeping')
    for (const kind of ['paused', 'diverged', 'foreign', 'suspect', 'other version'] as const) {
      await fill(s, by, 10_000, kind)
    }
    for (const analysed of [false, true]) {
      if (analysed) await s.rows('analyze @schema@.runs')
      const session = await plainSession(s)
      const touched = await touchedBy(s, session, async () => {
        expect(await session.claim(by, BATCH)).toEqual([])
      })
      expect(touched.scanned).toBe(0)
      expect(touched.fetched).toBeLessThanOrEqual(60)
    }
  })

  on('beat, load, reap and settled touch what they answer with', async (s) => {
    const [by, other] = [worker(), worker()]
    await s.store.join(by)
    await s.store.join(other)
    await fill(s, other, OWNED, 'owned')
    await fill(s, other, 20_000, 'finished')
    const run = await ownedRun(s.store, by)
    for (const analysed of [false, true]) {
      if (analysed) await s.rows('analyze @schema@.runs, @schema@.journal')
      const session = await plainSession(s)
      const { uid } = run
      const calls: [string, string, unknown[]][] = [
        ['beat', s.sql.beat, [by.id, 1_000]],
        ['load', s.sql.load, [list([uid]), list([by.id]), '{1}', '{0}', '{0}']],
        ['reap', s.sql.reap, ['{}', '{}', by.id, null, 1e9]],
      ]
      for (const [name, text, params] of calls) {
        const touched = await touchedBy(s, session, async () => {
          await session.client.query(text, params)
        })
        expect([name, touched.scanned]).toEqual([name, 0])
        expect(touched.fetched).toBeLessThanOrEqual(20)
      }
    }
  })

  on('[X13] step 2,000 costs the same rows, pages and WAL as step 1', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const session = await plainSession(s)
    const cost = async (seq: number) => {
      const costs = { bytes: 0, records: 0, pages: 0 }
      for (let i = 0; i < 50; i += 1) {
        const one = await explained(s, session, by, [step(fenceOf(run, by, 1, seq + i))])
        costs.bytes += one.bytes
        costs.records += one.records
        costs.pages += one.pages
      }
      return costs
    }
    const first = await cost(1)
    for (let seq = 51; seq < 2_000; seq += 150) {
      const entries = Array.from({ length: Math.min(150, 2_000 - seq) }, () => entry())
      await session.commit(by, turn(fenceOf(run, by, 1, seq), { entries }))
    }
    // Behind a checkpoint whole pages are written, once: less than the first, and the lesser of two.
    const [one, two] = [await cost(2_000), await cost(2_050)]
    const last = one.bytes < two.bytes ? one : two
    expect(last.bytes / first.bytes).toBeLessThan(1.2)
    expect(last.records / first.records).toBeLessThan(1.2)
    expect(last.pages / first.pages).toBeLessThan(1.5)
  })

  on('[X13] a step is a HOT update, and an event too: no index of runs is written', async (s) => {
    const by = worker()
    const starts = Array.from({ length: 200 }, () => claimedStart())
    const session = await plainSession(s)
    await session.commit(by, ...starts)
    const before = await updates(s, session)
    // Once each: with half of every page free this does not depend on pruning, which others' snapshots can hold up.
    await session.commit(by, ...starts.map(({ run }) => step(fenceOf(run, by))))
    const after = await updates(s, session)
    expect(after.all - before.all).toBe(200)
    expect(after.hot - before.hot).toBe(200)
    await fill(s, by, 200, 'waiting')
    const waiting = await someRuns(s, 200, WAITING)
    await session.commit(by, ...waiting.map((run) => event(run, by, 1)))
    const last = await updates(s, session)
    expect(last.all - after.all).toBe(200)
    expect(last.hot - after.hot).toBe(200)
  })
})

/** A session without a transaction: each call is its own, as in the product. */
async function plainSession(s: Sessions): Promise<Session> {
  const session = await s.begin()
  await session.client.query('commit')
  return session
}

type Filling =
  | 'owned'
  | 'waiting'
  | 'due'
  | 'finished'
  | 'sleeping'
  | 'paused'
  | 'diverged'
  | 'foreign'
  | 'suspect'
  | 'other version'

async function fill(s: Sessions, by: Worker, count: number, kind: Filling): Promise<void> {
  const has = (...kinds: Filling[]) => kinds.includes(kind)
  const finished = has('finished')
  const parts = {
    owner: has('owned') ? `'${by.id}'::uuid` : 'null',
    due: has('owned', 'waiting', 'finished')
      ? 'null'
      : has('sleeping')
        ? "now() + interval '1 day' + i * interval '1 ms'"
        : "now() - interval '1 hour' + i * interval '1 ms'",
    status: has('owned') ? 'running' : finished ? 'completed' : 'waiting',
    finished: finished ? 'now()' : 'null',
    stop: has('paused') ? "'pause'" : 'null',
    def: has('foreign') ? 'foreign' : 'order',
    version: has('other version') ? '0' : '1',
    reason: has('waiting') ? "'signal'" : 'null',
    crashes: has('suspect') ? 2 : 0,
    builds: has('diverged') ? "array['b1']" : 'null',
  }
  await s.rows(
    `insert into @schema@.runs (uid, owner, due_at, created_at, updated_at, finished_at, epoch, seq, priority, status, stop,
        workspace, id, def, version, tags, crashes, diverged_builds, reason)
      select gen_random_uuid(), ${parts.owner}, ${parts.due}, now(), now(), ${parts.finished}, 1, 1, 5, '${parts.status}', ${parts.stop},
        'default', gen_random_uuid()::text, '${parts.def}', '${parts.version}', '{}', ${parts.crashes}, ${parts.builds}, ${parts.reason}
        from generate_series(1, ${count}) i`,
  )
}

async function someRuns(s: Sessions, count: number, which = 'owner is not null') {
  const rows = await s.rows(
    `select uid::text, id from @schema@.runs where ${which} order by random() limit ${count}`,
  )
  return rows.map((row) => newRun(row as object))
}

/** The n-th event of a run that was filled in. */
function event(run: NewRun, by: Worker, n: number): Delta {
  const brings = { inbox: n - 1, messages: [newMessage()], areNew: true }
  return reacted(fenceOf(run, by, 1, 4 * n - 3), { brings, round: n })
}

interface Touched {
  /** Rows read by scans of whole tables. */
  readonly scanned: number
  /** Rows read through indexes, and index entries. */
  readonly fetched: number
}

async function touchedBy(s: Sessions, session: Session, call: () => Promise<void>) {
  const before = await counters(s, session)
  await call()
  const after = await counters(s, session)
  return { scanned: after.scanned - before.scanned, fetched: after.fetched - before.fetched }
}

async function counters(s: Sessions, session: Session): Promise<Touched> {
  await flush(s, session)
  const [row] = await s.rows(
    `select (select sum(seq_tup_read)::int from pg_stat_user_tables t
        where schemaname = '@schema@' and relname in ('runs', 'journal', 'messages', 'states')) as scanned,
      (select sum(greatest(idx_tup_read, idx_tup_fetch))::int from pg_stat_user_indexes
        where schemaname = '@schema@' and relname = 'runs') as fetched`,
  )
  return row as unknown as Touched
}

async function updates(s: Sessions, session: Session): Promise<{ all: number; hot: number }> {
  await flush(s, session)
  const [row] = await s.rows(
    `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables
      where schemaname = '@schema@' and relname = 'runs'`,
  )
  return row as unknown as { all: number; hot: number }
}

/** Sessions report what they did when they are idle; these at once, the watching one included. */
async function flush(s: Sessions, session: Session): Promise<void> {
  await session.client.query('select pg_stat_force_next_flush()')
  await session.client.query('select 1')
  await s.rows('select pg_stat_force_next_flush()')
  await s.rows('select 1')
}

async function explained(s: Sessions, session: Session, by: Worker, deltas: readonly Delta[]) {
  const settings = {
    resent: false,
    feed: false,
    feedInto: null,
    inTransaction: null,
    mailboxMax: 10,
    suspectFrom: 2,
  }
  const { params } = packCommit(by, deltas, settings)
  const text = `explain (analyze, buffers, wal, format json) ${s.sql.commit}`
  const { rows } = await session.client.query(text, [...params])
  const plan = rows[0]?.['QUERY PLAN']?.[0]?.Plan as Record<string, number>
  return {
    bytes: plan['WAL Bytes'] ?? 0,
    records: plan['WAL Records'] ?? 0,
    pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
  }
}
