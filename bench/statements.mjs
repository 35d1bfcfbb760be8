// What a workload asks of the database: statements as pg_stat_statements counts them (those inside functions apart),
// and bytes of WAL. Counted under load, on a server of its own, since counting costs time.

import pg from 'pg'
import { after, chains } from './workloads.mjs'

const WARM = 0.5

export async function statements(system, { url, width, seconds }) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create extension if not exists pg_stat_statements')
  const count = async (steps) => {
    await chains(system, { steps, width, isOver: after(WARM) })
    await client.query('select pg_stat_statements_reset()')
    const { rows: at } = await client.query('select pg_current_wal_insert_lsn() lsn')
    const { runs } = await chains(system, { steps, width, isOver: after(seconds) })
    const { rows } = await client.query(COUNT, [at[0].lsn])
    const units = runs * steps
    return Object.values(rows[0]).map((value) => Number(value) / units)
  }
  const [perRun, nestedPerRun, walPerRun] = await count(1)
  const [perStep, nestedPerStep, walPerStep] = await count(10)
  return { perRun, nestedPerRun, walPerRun, perStep, nestedPerStep, walPerStep }
}

/** The statements that clients send while `work` is done. */
export async function callsSince(client, work) {
  await client.query('create extension if not exists pg_stat_statements')
  await client.query('select pg_stat_statements_reset()')
  await work()
  const { rows } = await client.query(COUNT, ['0/0'])
  return Number(rows[0].top)
}

const COUNT = `
  select coalesce(sum(calls) filter (where toplevel), 0) as top,
         coalesce(sum(calls) filter (where not toplevel), 0) as nested,
         pg_current_wal_insert_lsn() - $1 as wal
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
  where d.datname = current_database() and query not like '%pg_stat_statements%'
    and query not like '%pg_current_wal_insert_lsn%'`
