// The bound: a group-commit loop with no engine around it, on the same tables. The same fenced update and journal
// insert, the same payload, the same number of connections, the same cap on a batch; no replay, no promises for user
// code, no mail, no answers but a count. What is missing to 100 % is what the engine around the database costs.

import pg from 'pg'
import { createEngine } from '../dist/index.js'
import { MACHINES, SENDERS } from './machines.mjs'
import { PAYLOAD } from './user-code.mjs'
import { after, latency, rates, warm } from './workloads.mjs'

const CAP = 500
const CONNECTIONS = 2
const SCHEMA = 'bare'
const PAYLOAD_JSON = JSON.stringify(PAYLOAD)

export const settings = `No engine: starts and steps in batches of up to ${CAP}, ${CONNECTIONS} statements in flight; 1,000 runs open at a time. The raw statement is the same with full batches and nothing in between.`
export const width = 1_000
export const can = ['w1', 'w2', 'w3']

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

export async function open({ url, isRaw }) {
  const clients = await connect(url)
  const measure = isRaw ? raw : loop
  return {
    w1: (load) => warmed(measure, clients, { ...load, steps: 1 }),
    w2: (load) => warmed(measure, clients, { ...load, steps: 10 }),
    w3: (load) => latency(() => oneRun(clients[0]), load),
    machines: (load) => machines(clients, load),
  }
}

async function warmed(measure, clients, load) {
  await measure(clients, { ...load, isOver: warm(load.warmSeconds) })
  return measure(clients, { ...load, isOver: after(load.seconds) })
}

/** `width` runs of `steps` steps each at a time; what is ready when a connection is free goes out as one batch. */
async function loop(clients, { steps, width, isOver }) {
  const from = performance.now()
  const steppers = []
  const starters = []
  let open = 0
  let runs = 0
  const begin = () => {
    open += 1
    starters.push({ uid: uid(), seq: 1 })
  }
  const advance = (run) => {
    if (run.seq <= steps) return steppers.push(run)
    runs += 1
    open -= 1
    if (!isOver()) begin()
  }
  const idle = [...clients]
  const { promise: ended, resolve: end } = deferred()
  const send = async (client) => {
    const isStep = steppers.length > 0
    const batch = (isStep ? steppers : starters).splice(0, CAP)
    await (isStep ? stepCall(client, batch, steps) : startCall(client, batch))
    idle.push(client)
    for (const run of batch) {
      if (isStep) run.seq += 1
      advance(run)
    }
    if (open === 0) end()
    setImmediate(pump)
  }
  const pump = () => {
    while (idle.length > 0 && steppers.length + starters.length > 0) void send(idle.pop())
  }
  while (open < width) begin()
  pump()
  await ended
  return rates({ runs, steps, ms: performance.now() - from })
}

function deferred() {
  let resolve
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** The same statements with full batches and nothing in between: what the loop must come near. */
async function raw(clients, { steps, isOver }) {
  const from = performance.now()
  let runs = 0
  const lane = async (client) => {
    while (!isOver()) {
      const batch = Array.from({ length: CAP }, () => ({ uid: uid(), seq: 1 }))
      await startCall(client, batch)
      for (let i = 0; i < steps; i += 1) {
        await stepCall(client, batch, steps)
        for (const run of batch) run.seq += 1
      }
      runs += CAP
    }
  }
  await Promise.all(clients.map(lane))
  return rates({ runs, steps, ms: performance.now() - from })
}

async function oneRun(client) {
  const run = { uid: uid(), seq: 1 }
  await startCall(client, [run])
  await stepCall(client, [run], 1)
}

/** Events as in W10: each sender has the next one when its last one is stored, which is an entry and its machine's row. */
async function machines(clients, { seconds }) {
  const all = Array.from({ length: MACHINES }, () => ({ uid: uid(), seq: 1 }))
  for (let i = 0; i < MACHINES; i += CAP) await startCall(clients[0], all.slice(i, i + CAP))
  await events(clients, all, after(Math.min(2, seconds)))
  return { many: await events(clients, all, after(seconds)) }
}

async function events(clients, machines, isOver) {
  const from = performance.now()
  const ready = Array.from({ length: SENDERS }, (_, at) => ({ at }))
  const share = SENDERS / clients.length
  let sent = 0
  const lane = async (client) => {
    while (!isOver()) {
      const senders = ready.splice(0, share)
      const batch = senders.map(({ at }) => machines[at])
      await stepCall(client, batch, Number.POSITIVE_INFINITY)
      for (const run of batch) run.seq += 1
      sent += batch.length
      ready.push(...senders.map(({ at }) => ({ at: (at + SENDERS) % MACHINES })))
    }
  }
  await Promise.all(clients.map(lane))
  return (sent * 1000) / (performance.now() - from)
}

async function connect(url) {
  const clients = Array.from(
    { length: CONNECTIONS },
    () => new pg.Client({ connectionString: url }),
  )
  await Promise.all(clients.map((client) => client.connect()))
  const engine = await createEngine({ database: url, schema: SCHEMA, worker: false })
  await engine.close()
  await clients[0].query(FUNCTIONS)
  return clients
}

const uids = (batch) => `{${batch.map((run) => run.uid).join(',')}}`
const texts = (batch) => batch.map(() => PAYLOAD_JSON).join('\x1f')

function startCall(client, batch) {
  return client.query('select bare.start($1, $2, $3)', [WORKER, uids(batch), texts(batch)])
}

function stepCall(client, batch, steps) {
  const seqs = `{${batch.map((run) => run.seq).join(',')}}`
  const done = `{${batch.map((run) => (run.seq === steps ? 't' : 'f')).join(',')}}`
  const params = [WORKER, uids(batch), seqs, done, texts(batch)]
  return client.query('select bare.step($1, $2, $3, $4, $5)', params)
}
