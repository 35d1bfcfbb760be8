// The bound: a group-commit loop with no engine around it, on the same tables. The same fenced update and journal
// insert, the same payload, the same number of connections, the same cap on a batch; no replay, no promises for user
// code, no mail, no answers but a count. What is missing to 100 % is what the engine around the database costs.

import pg from 'pg'
import { createEngine } from '../dist/index.js'

const CAP = 500
const CONNECTIONS = 2
const SCHEMA = 'bare'

const FUNCTIONS = `
create function bare.step(w uuid, u uuid[], s int[], done boolean[], p text) returns int language plpgsql
  set search_path = bare set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $f$
declare n int; now_at constant timestamptz := clock_timestamp(); begin
  update runs r set seq = r.seq + 1, updated_at = now_at, owner = case when d.done then null else r.owner end,
      status = case when d.done then 'completed' else r.status end, finished_at = case when d.done then now_at end
    from unnest(u, s, done) d (uid, seq, done)
    where r.uid = d.uid and r.owner is not distinct from w and r.epoch = 1 and r.seq = d.seq;
  get diagnostics n = row_count;
  insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, payload)
    select d.uid, d.seq + 1, 1, now_at, d.seq, 1, 'step.completed', 'step', d.payload
      from unnest(u, s, string_to_array(p, E'\\x1f')) d (uid, seq, payload);
  return n; end $f$;
create function bare.start(w uuid, u uuid[], p text) returns int language plpgsql set search_path = bare as $f$
declare now_at constant timestamptz := clock_timestamp(); begin
  insert into runs (uid, owner, created_at, updated_at, started_at, epoch, seq, priority, status, workspace, id, def, version, tags)
    select d, w, now_at, now_at, now_at, 1, 1, 5, 'running', 'default', d::text, 'chain', '1', '{}' from unnest(u) d;
  insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, payload)
    select d.uid, 1, 1, now_at, 0, 0, 'run.created', '', d.payload from unnest(u, string_to_array(p, E'\\x1f')) d (uid, payload);
  return 0; end $f$;
`
const WORKER = '00000000-0000-4000-8000-000000000001'
let counter = 0
const uid = () => {
  counter += 1
  return `00000000-0000-7000-8000-${counter.toString(16).padStart(12, '0')}`
}

/** Steps per second of `runs` runs of `steps` steps each, `width` at a time. */
export async function bareLoop(url, { runs, steps, width, payload }) {
  const clients = await connect(url)
  const steppers = []
  const starters = []
  let started = 0
  let finished = 0
  let inFlight = 0
  let wake
  const all = new Promise((resolve) => {
    wake = resolve
  })
  const pump = () => {
    while (inFlight < CONNECTIONS && (steppers.length > 0 || starters.length > 0)) {
      const batch = steppers.length > 0 ? steppers.splice(0, CAP) : null
      const fresh = batch ? null : starters.splice(0, CAP)
      const client = clients[inFlight === 0 ? 0 : clients[0].busy ? 1 : 0]
      client.busy = true
      inFlight += 1
      const call = batch
        ? stepCall(client, batch, steps, payload)
        : startCall(client, fresh, payload)
      call.then(() => {
        client.busy = false
        inFlight -= 1
        for (const run of batch ?? fresh) {
          if (batch) run.seq += 1
          if (run.seq <= steps) steppers.push(run)
          else {
            finished += 1
            if (started < runs) begin()
            if (finished === runs) wake()
          }
        }
        setImmediate(pump)
      })
    }
  }
  const begin = () => {
    started += 1
    starters.push({ uid: uid(), seq: 1 })
  }
  const from = performance.now()
  while (started < Math.min(width, runs)) begin()
  pump()
  await all
  const seconds = (performance.now() - from) / 1000
  await Promise.all(clients.map((client) => client.end()))
  return { runsPerSecond: runs / seconds, stepsPerSecond: (runs * steps) / seconds }
}

/** The same statement with full batches and nothing in between: what the loop is measured against. */
export async function rawStatement(url, { runs, steps, payload }) {
  const clients = await connect(url)
  const all = Array.from({ length: runs }, () => ({ uid: uid(), seq: 1 }))
  const batches = []
  for (let i = 0; i < runs; i += CAP) batches.push(all.slice(i, i + CAP))
  const from = performance.now()
  await Promise.all(
    clients.map(async (client, lane) => {
      for (const batch of batches.filter((_, i) => i % CONNECTIONS === lane)) {
        await startCall(client, batch, payload)
        for (let s = 1; s <= steps; s += 1) {
          await stepCall(client, batch, steps, payload)
          for (const run of batch) run.seq += 1
        }
      }
    }),
  )
  const seconds = (performance.now() - from) / 1000
  await Promise.all(clients.map((client) => client.end()))
  return { runsPerSecond: runs / seconds, stepsPerSecond: (runs * steps) / seconds }
}

async function connect(url) {
  const clients = Array.from(
    { length: CONNECTIONS },
    () => new pg.Client({ connectionString: url }),
  )
  await Promise.all(clients.map((client) => client.connect()))
  await clients[0].query(`drop schema if exists ${SCHEMA} cascade`)
  const engine = await createEngine({ database: url, schema: SCHEMA, worker: false })
  await engine.close()
  await clients[0].query(FUNCTIONS)
  return clients
}

const uids = (batch) => `{${batch.map((run) => run.uid).join(',')}}`
const texts = (batch, payload) => batch.map(() => payload).join('\x1f')

function startCall(client, batch, payload) {
  return client.query('select bare.start($1, $2, $3)', [WORKER, uids(batch), texts(batch, payload)])
}

function stepCall(client, batch, steps, payload) {
  const seqs = `{${batch.map((run) => run.seq).join(',')}}`
  const done = `{${batch.map((run) => (run.seq === steps ? 't' : 'f')).join(',')}}`
  const params = [WORKER, uids(batch), seqs, done, texts(batch, payload)]
  return client.query('select bare.step($1, $2, $3, $4, $5)', params)
}
