// What a list of the few among many costs, judged by the rows that are touched.

import { expect } from 'vitest'
import { describeOn } from './open-stores.js'
import { onSessions, type Sessions } from './sessions.js'

const MANY = 5_000
const FEW = 20
/** In the order of the parameters of listNewest. */
const NO_FILTER: Readonly<Record<string, string | number | null>> = {
  workspace: 'default',
  definition: null,
  statuses: null,
  reason: null,
  parentId: null,
  createdAfter: null,
  createdBefore: null,
  idPart: null,
  names: '',
  values: '',
  after: null,
  limit: 50,
  kind: null,
  kindNames: '',
  kinds: '',
}

describeOn(['postgres15', 'postgres18'], 'plans of lists', (database) => {
  onSessions(database, 'what is rare is found without a look at all the others', async (s) => {
    await s.rows('alter table @schema@.runs set (autovacuum_enabled = off)')
    await fill(s, MANY, 'completed', '{"customer":"c-1"}')
    await fill(s, FEW, 'failed', '{"customer":"c-2","note":"\\u0000"}')
    await fill(s, FEW, 'timed_out', '{"customer":"c-2"}')
    await s.rows('analyze @schema@.runs')
    // What these have read is counted now, and not in the midst of what is measured.
    await s.rows('select pg_stat_force_next_flush()')
    await s.rows('select 1')
    const rare = {
      failed: { statuses: '{failed}' },
      failedOfOne: { definition: 'order', statuses: '{failed}' },
      tagged: { names: '\x1fcustomer', values: '\x1fc-2' },
    }
    for (const [name, filter] of Object.entries(rare)) {
      const { found, fetched } = await listed(s, { ...NO_FILTER, ...filter })
      // What PostgreSQL has no text for, as a NUL, is stored and cannot be looked for, and disturbs nobody.
      expect([name, found]).toEqual([name, FEW])
      expect([name, fetched < 10 * FEW, fetched]).toEqual([name, true, fetched])
    }
  })
})

async function fill(s: Sessions, count: number, status: string, tags: string): Promise<void> {
  await s.rows(
    `insert into @schema@.runs (uid, created_at, updated_at, finished_at, epoch, seq, priority, status, workspace, id, def, version, tags)
      select gen_random_uuid(), now(), now(), now(), 1, 1, 5, '${status}', 'default', gen_random_uuid()::text, 'order', '1', '${tags}'
        from generate_series(1, ${count})`,
  )
  // The list shows the first entry of each.
  await s.rows(
    `insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name)
      select uid, 1, 1, now(), 0, 0, 'run.created', '' from @schema@.runs where status = '${status}'`,
  )
}

/** How many it found, and the rows of runs that it read for that. */
async function listed(s: Sessions, filter: Readonly<Record<string, string | number | null>>) {
  const session = await s.begin()
  await session.client.query('commit')
  const read = async (): Promise<number> => {
    await session.client.query('select pg_stat_force_next_flush()')
    await session.client.query('select 1')
    const [row] = await s.rows(
      `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables
        where schemaname = '@schema@' and relname = 'runs'`,
    )
    return Number(row?.read)
  }
  const before = await read()
  const { rowCount } = await session.client.query(s.sql.listNewest, Object.values(filter))
  return { found: rowCount, fetched: (await read()) - before }
}
