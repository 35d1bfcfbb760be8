// The bound: a group-commit loop with no engine around it. The same fenced update and journal insert, the same
// payload, the same number of connections, the same cap on a batch; no replay, no promises for user code, no mail.

import pg from 'pg'

const CAP = 500
const CONNECTIONS = 2

const TABLES = `
drop schema if exists bare cascade;
create schema bare;
create table bare.runs (uid uuid primary key, owner uuid, due_at timestamptz, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(), finished_at timestamptz, epoch int not null, seq int not null, status text not null) with (fillfactor = 50);
create index on bare.runs (owner) where owner is not null;
create table bare.journal (uid uuid not null, seq int not null, epoch int not null, at timestamptz not null, kind text not null, name text not null,
  payload text, primary key (uid, seq));
create function bare.step(w uuid, u uuid[], s int[], done boolean[], p text) returns int language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_custom_plan as $f$
declare n int; begin
  with x as (update bare.runs r set seq = r.seq + 1, updated_at = clock_timestamp(),
      owner = case when d.done then null else r.owner end, status = case when d.done then 'completed' else r.status end,
      finished_at = case when d.done then clock_timestamp() end
    from unnest(u, s, done) d (uid, seq, done)
    where r.uid = d.uid and r.owner is not distinct from w and r.epoch = 1 + (d.seq * 0) and r.seq = d.seq returning 1)
  select count(*) into n from x;
  insert into bare.journal select d.uid, d.seq + 1, 1, clock_timestamp(), 'step.completed', 'step', d.payload
    from unnest(u, s, string_to_array(p, E'\\x1f')) d (uid, seq, payload);
  return n; end $f$;
create function bare.start(w uuid, u uuid[], p text) returns int language plpgsql as $f$ begin
  insert into bare.runs (uid, owner, epoch, seq, status) select d, w, 1, 1, 'running' from unnest(u) d;
  insert into bare.journal select d.uid, 1, 1, clock_timestamp(), 'run.created', '', d.payload from unnest(u, string_to_array(p, E'\\x1f')) d (uid, payload);
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
  await clients[0].query(TABLES)
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
