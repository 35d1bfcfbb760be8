import { readFileSync } from 'node:fs'
import pg from 'pg'
import { test } from 'vitest'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { packCommit } from '../../src/store/pack-commit.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import * as b from '../contract/builders.js'

const url = readFileSync('/tmp/url' + (process.env.PGV ?? '15fsync'), 'utf8')
const payload = JSON.stringify({ text: 'x'.repeat(188) })
const RAW = (s: string) => `
create function ${s}.raw_v1(t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[],
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_payload text) returns int
language plpgsql set search_path = ${s}, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_custom_plan
as $f$ declare n int; begin
 update runs r set seq = r.seq + d.count, updated_at = now() from unnest(t_uid, t_owner, t_epoch, t_seq, t_count) d (uid, owner, epoch, seq, count)
  where r.uid = d.uid and r.owner is not distinct from d.owner and r.epoch = d.epoch and r.seq = d.seq;
 get diagnostics n = row_count;
 insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, payload)
  select t_uid[e.turn], t_seq[e.turn] + e.no, t_epoch[e.turn], to_timestamp(e.at / 1000), e.occurrence, e.attempt, e.kind, e.name, e.payload
  from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, string_to_array(e_name, E'\\x1f'), string_to_array(e_payload, E'\\x1f')) e (turn, no, occurrence, attempt, at, kind, name, payload);
 return n; end $f$`
test('bench', async () => {
  const out: string[] = []
  for (const [batch, lanes] of [
    [1, 1],
    [10, 1],
    [100, 1],
    [500, 1],
    [100, 2],
    [500, 2],
  ] as const) {
    const figures: Record<string, number[]> = { raw: [], rawNamed: [], fn: [], store: [] }
    const wal: Record<string, number[]> = { raw: [], rawNamed: [], fn: [], store: [] }
    for (let round = 0; round < 5; round++) {
      for (const variant of ['raw', 'fn', 'rawNamed', 'store']) {
        const schema = 'b_' + Math.random().toString(36).slice(2, 10)
        const driver = await openPgDriver({ target: url, commitConnections: lanes })
        const store = await openSqlStore({ driver, schema })
        await driver.script(RAW(schema))
        const w = b.worker()
        const steps = 6
        const batches = batch === 1 ? 200 : batch === 10 ? 60 : Math.max(4, 3000 / batch)
        const runs = Array.from({ length: batch * batches }, () => b.newRun())
        for (let i = 0; i < runs.length; i += 500)
          await store.commit(
            w,
            runs.slice(i, i + 500).map((run) => ({ kind: 'start' as const, run, claim: true })),
            b.PLAIN,
          )
        const clients = await Promise.all(
          Array.from({ length: lanes }, async () => {
            const c = new pg.Client(url)
            await c.connect()
            return c
          }),
        )
        const doBatch = async (c: pg.Client, part: typeof runs, seq: number) => {
          const deltas = part.map((run) =>
            b.turn(b.fenceOf(run, w, 1, seq), { entries: [b.entry({ payload })] }),
          )
          if (variant === 'store') {
            await store.commit(w, deltas, b.PLAIN)
            return
          }
          const { params } = packCommit(w, deltas, {
            resent: false,
            feed: false,
            feedInto: null,
            inTransaction: null,
            mailboxMax: 10000,
            suspectFrom: 2,
          })
          if (variant === 'fn') {
            await c.query(
              `select * from ${schema}.commit_v1(${params.map((_, i) => '$' + (i + 1)).join(',')})`,
              params as never[],
            )
            return
          }
          const p = [
            params[10],
            params[11],
            params[12],
            params[13],
            params[14],
            params[25],
            params[26],
            params[27],
            params[28],
            params[29],
            params[30],
            String(params[31]).slice(1),
            String(params[33]).slice(1),
          ]
          if (variant === 'raw') {
            await c.query(
              `select ${schema}.raw_v1($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)`,
              p as never[],
            )
            return
          }
          await c.query('begin')
          await c.query({
            name: 'u',
            text: `update ${schema}.runs r set seq = r.seq + d.count, updated_at = now() from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::int[]) d (uid, owner, epoch, seq, count) where r.uid = d.uid and r.owner is not distinct from d.owner and r.epoch = d.epoch and r.seq = d.seq`,
            values: p.slice(0, 5) as never[],
          })
          await c.query({
            name: 'i',
            text: `insert into ${schema}.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, payload)
  select ($1::uuid[])[e.turn], ($2::int[])[e.turn] + e.no, ($3::int[])[e.turn], to_timestamp(e.at / 1000), e.occurrence, e.attempt, e.kind, e.name, e.payload
  from unnest($4::int[], $5::int[], $6::int[], $7::int[], $8::float8[], $9::text[], string_to_array($10, E'\\x1f'), string_to_array($11, E'\\x1f')) e (turn, no, occurrence, attempt, at, kind, name, payload)`,
            values: [p[0], p[3], p[2], ...p.slice(5)] as never[],
          })
          await c.query('commit')
        }
        const lsn = async () =>
          String((await driver.query('read', 'select pg_current_wal_lsn()::text as l', []))[0]!.l)
        for (const [i, c] of clients.entries())
          await doBatch(c, runs.slice(i * batch, (i + 1) * batch), 1)
        const before = await lsn()
        const t = performance.now()
        let n = 0
        await Promise.all(
          clients.map(async (c, lane) => {
            for (let step = 0; step < steps; step++)
              for (let k = lanes + lane; k < batches; k += lanes) {
                await doBatch(c, runs.slice(k * batch, (k + 1) * batch), 1 + step)
                n += batch
              }
          }),
        )
        const ms = performance.now() - t
        figures[variant]!.push((n / ms) * 1000)
        const [d] = await driver.query(
          'read',
          'select pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::float8 as d',
          [await lsn(), before],
        )
        wal[variant]!.push(Number(d!.d) / n)
        for (const c of clients) await c.end()
        const [hot] = await driver.query(
          'read',
          `select n_tup_upd::int as u, n_tup_hot_upd::int as h from pg_stat_user_tables where schemaname = $1 and relname = 'runs'`,
          [schema],
        )
        if (round === 4 && variant === 'fn') out.push(JSON.stringify(hot))
        await driver.script(`drop schema ${schema} cascade`)
        await store.close()
      }
    }
    const med = (a: number[]) => [...a].sort((x, y) => x - y)[Math.floor(a.length / 2)]!
    out.push(
      `batch ${batch} lanes ${lanes}: ` +
        Object.entries(figures)
          .map(
            ([k, v]) =>
              `${k} ${Math.round(med(v))} [${Math.round(Math.min(...v))}..${Math.round(Math.max(...v))}] wal ${Math.round(med(wal[k]!))}`,
          )
          .join(' | ') +
        ` fn/raw ${(med(figures.fn!) / med(figures.raw!)).toFixed(2)}`,
    )
    console.log(out.at(-1))
  }
  console.log(out.join('\n'))
})
