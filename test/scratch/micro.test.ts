import { test } from 'vitest'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { packCommit } from '../../src/store/pack-commit.js'
import * as b from '../contract/builders.js'
const url = readFileSync('/tmp/url' + (process.env.PGV ?? '15'), 'utf8')
const payload = JSON.stringify({ text: 'x'.repeat(188) })
const RAWSET = process.env.RAWSET ?? 'seq = r.seq + d.count, updated_at = now()'
const RAW = (s: string) => `
create function ${s}.raw_v1(t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[],
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_payload text) returns int
language plpgsql set search_path = ${s}, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_custom_plan
as $f$ declare n int; begin
 update runs r set ${RAWSET} from unnest(t_uid, t_owner, t_epoch, t_seq, t_count) d (uid, owner, epoch, seq, count)
  where r.uid = d.uid and r.owner is not distinct from d.owner and r.epoch = d.epoch and r.seq = d.seq;
 get diagnostics n = row_count;
 insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, payload)
  select t_uid[e.turn], t_seq[e.turn] + e.no, t_epoch[e.turn], to_timestamp(e.at / 1000), e.occurrence, e.attempt, e.kind, e.name, e.payload
  from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, string_to_array(e_name, E'\\x1f'), string_to_array(e_payload, E'\\x1f')) e (turn, no, occurrence, attempt, at, kind, name, payload);
 return n; end $f$`
test('micro', async () => {
  const schema = 'b_' + Math.random().toString(36).slice(2, 10)
  const driver = await openPgDriver({ target: url })
  const store = await openSqlStore({ driver, schema })
  await driver.script(RAW(schema))
  const w = b.worker()
  const c = new pg.Client(url); await c.connect()
  const at = (a: number[], q: number) => [...a].sort((x, y) => x - y)[Math.floor(a.length * q)] ?? 0
  for (const batch of [1, 10, 100, 500]) {
    const times: Record<string, number[]> = { raw: [], fn: [] }
    const sets: Record<string, ReturnType<typeof b.newRun>[]> = {}
    for (const k of ['raw', 'fn']) {
      const runs = Array.from({ length: batch }, () => b.newRun())
      sets[k] = runs
      await store.commit(w, runs.map((run) => ({ kind: 'start' as const, run, claim: true })), b.PLAIN)
    }
    for (let i = 0; i < 150; i++) for (const mode of ['raw', 'fn']) {
      const deltas = (sets[mode] ?? []).map((run) => b.turn(b.fenceOf(run, w, 1, 1 + i), { entries: [b.entry({ payload })] }))
      const { params } = packCommit(w, deltas, { resent: false, feed: false, feedInto: null, inTransaction: null, mailboxMax: 10000, suspectFrom: 2 })
      const p = [params[10], `{${deltas.map(() => w.id).join(',')}}`, params[12], params[13], params[14], params[25], params[26], params[27], params[28], params[29], params[30], String(params[31]).slice(1), String(params[33]).slice(1)]
      const t = performance.now()
      if (mode === 'raw') {
        const r = await c.query(`select ${schema}.raw_v1($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13) as n`, p as never[])
        if (r.rows[0].n !== batch) throw new Error('raw ' + r.rows[0].n)
      } else {
        const r = await c.query(`select * from ${schema}.commit_v1(${params.map((_, i) => '$' + (i + 1)).join(',')})`, params as never[])
        if (r.rows[0].silent !== batch) throw new Error('fn')
      }
      times[mode]?.push(performance.now() - t)
    }
    const f = (q: number) => `${at(times.raw ?? [], q).toFixed(2)} / ${at(times.fn ?? [], q).toFixed(2)} = ${(at(times.raw ?? [], q) / at(times.fn ?? [], q)).toFixed(2)}`
    console.log(`batch ${batch} raw/fn ms: min ${f(0)} p10 ${f(0.1)} p25 ${f(0.25)} p50 ${f(0.5)}`)
  }
  await c.end()
  await store.close()
})
