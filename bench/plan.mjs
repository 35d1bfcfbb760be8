// What is measured, with which sizes, and the goals. Data only: scripts/bench.mjs executes it, report.mjs judges it.

export const ROUNDS = 3
const MANY = 100_000
/** What a quick look compares. The others take too long for it, unless they are asked for. */
const QUICK = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']

/**
 * Quick is smaller, lets the peers have fewer runs open at a time, and leaves out what only Perdure is measured in.
 * @param {{ quick: boolean, only?: string }} options
 */
export function plan({ quick, only }) {
  const rate = quick
    ? { seconds: 1, warmSeconds: 1, peerWidthMax: 300 }
    : { seconds: 4, warmSeconds: 2 }
  const queue = quick ? { seconds: 0.7, warmSeconds: 0.3 } : { seconds: 5, warmSeconds: 2 }
  const all = [
    { id: 'w1', systems: 'all', options: rate },
    { id: 'w2', systems: 'all', options: rate },
    { id: 'w3', systems: 'all', options: { runs: quick ? 100 : 300, seconds: quick ? 1 : 8 } },
    { id: 'w4', systems: 'all', options: { runs: quick ? 500 : 2_000 } },
    { id: 'w5', systems: 'all', options: { runs: quick ? 300 : 1_000 } },
    { id: 'w6', systems: 'all', options: { steps: quick ? 200 : 1_000 } },
    { id: 'long', of: 'w6', systems: 'own', options: { steps: quick ? 1_000 : 10_000 } },
    { id: 'memory10k', of: 'w7', workload: 'memory', systems: 'own', options: { runs: 10_000 } },
    { id: 'memory100k', of: 'w7', workload: 'memory', systems: 'own', options: { runs: MANY } },
    {
      id: 'queue1',
      of: 'w8',
      workload: 'queue',
      systems: 'own',
      options: { ...queue, workers: 1, pending: 1_000 },
    },
    {
      id: 'queue2',
      of: 'w8',
      workload: 'queue',
      systems: 'own',
      options: { ...queue, workers: 2, pending: 1_000 },
    },
    {
      id: 'queueDeep',
      of: 'w8',
      workload: 'queue',
      systems: 'own',
      options: { ...queue, workers: 2, pending: MANY },
    },
    {
      id: 'machines',
      of: 'w10',
      systems: ['perdure', 'bare'],
      options: { seconds: quick ? 0.5 : 4 },
    },
    {
      id: 'graphs',
      of: 'w11',
      systems: ['perdure', 'bullmq'],
      options: { seconds: quick ? 0.5 : 4 },
    },
    {
      id: 'service',
      of: 'w12',
      systems: 'own',
      options: quick
        ? { seconds: 1, stored: 5_000, followers: 200, ticks: 4 }
        : { seconds: 4, stored: MANY, followers: 200, ticks: 10 },
    },
    {
      id: 'statements',
      systems: 'sql',
      options: { seconds: quick ? 0.5 : 2, peerWidthMax: rate.peerWidthMax },
    },
  ]
  return quick && !only ? all.filter(({ id }) => QUICK.includes(id)) : all
}

/**
 * W13, measured only when it is asked for: it compares what carries hints, for docs/bullmq.md, and belongs to no whole run.
 * @param {{ quick: boolean }} options
 */
export function transports({ quick }) {
  const size = quick ? { seconds: 3, runs: 150 } : { seconds: 5, runs: 500 }
  return [1, 3].flatMap((workers) =>
    [false, true].map((isBull) => ({
      id: `${isBull ? 'bull' : 'notify'}${workers}`,
      ...{ of: 'w13', workload: 'transport', systems: 'own' },
      options: { ...size, workers, isBull },
    })),
  )
}

/** The first field is the one that is compared; a rate is better if higher, a time if lower. */
export const WORKLOADS = {
  w1: {
    text: 'workflows of one step, from start to result, per second',
    fields: ['perSecond'],
    unit: '/s',
  },
  w2: {
    text: 'steps of 10-step workflows, one after the other, per second',
    fields: ['perSecond'],
    unit: '/s',
  },
  w3: {
    text: 'one 1-step workflow at a time on an idle system, start to result',
    fields: ['p50', 'p99'],
    unit: 'ms',
  },
  w4: {
    text: '2,000 runs, started within a second, that sleep 2 s: how late they wake',
    fields: ['p50', 'p99'],
    unit: 'ms',
  },
  w5: {
    text: '1,000 waiting runs, all signalled at once: completions per second',
    fields: ['perSecond'],
    unit: '/s',
  },
  w6: {
    text: 'one run of 1,000 steps, one after the other: time per step',
    fields: ['msPerStep'],
    unit: 'ms',
  },
}

const of = (measure, field, system = 'perdure') => ({ measure, field, system })
const versus = (measure, field, system, bound) => ({
  workload: measure.toUpperCase(),
  value: of(measure, field),
  to: of(measure, field, system),
  ...bound,
})
/** A loop that is far from what it repeats is no bound: then what is said against it is void. */
const bound = (measure) => ({
  workload: measure.toUpperCase(),
  text: 'the bare loop itself (else void)',
  value: of(measure, 'perSecond', 'bare'),
  to: of(measure, 'perSecond', 'raw'),
  atLeast: 0.8,
})
const embedded = (measure, field, limit) => ({
  workload: 'W9',
  text: `${measure.toUpperCase()} on the embedded database`,
  value: of(measure, field, 'embedded'),
  to: of(measure, field, 'dbos'),
  ...limit,
})

const WHY = {
  run: 'a run costs the database five index entries when it is inserted and again when it ends, because its owner is indexed and changes, and about 110 µs of Node, a quarter of them garbage collection with 1,000 runs open; the bare loop has a row, two entries and no code to call.',
  step: 'a step is asked for, answered and encoded in Node, which shares the two cores with the database; the bare loop has none of that.',
  disk: 'DBOS makes a commit for each step, and many of them wait for the disk at once: where that is quick, as here, it gains most. It does 1,800 steps per second here, and did 520 where Perdure did 18,000 (35 times).',
  idle: 'one after the other each step waits for one commit, and `commit_v2`, which does all that a commit can mean in one call, takes about half a millisecond of its own for a batch of one, and the bare statement less; both then wait for the disk.',
  wake: 'they were started within a second and wake within one: each needs the commit that takes it, the one that says it has slept and the one that ends it, and one process does about 2,000 of them per second.',
  send: 'process and database share two cores: an event costs them about 25 and 22 µs of CPU, and the transaction of the pattern 165 and 400. Both sides wait for the same disk, and ten times is near: what else the machine does decides.',
  node: 'a node reads its config, fills it and records it with what it gave, and a run of a graph is counted by its limits: it asks for a slot, and is taken with it.',
  reads:
    'a page of a list is two queries, its runs and what is open of each, and four clients ask at once while runs are started: clients, server and database share two cores, and a request waits for what runs before it.',
  request:
    'a request costs the HTTP server of Node alone, with nothing behind it, nearly as much CPU as a whole run costs the engine (about 50 µs and 60 µs), so that half is what is left when the API itself costs nothing; who asks, JSON without surprises, the check of the body and the headers of the answer cost about 70 µs more. And 64 requests at a time make smaller commits than 1,000 starters do. Starts through `perdure/client` share their requests.',
  http: 'a start that is sent is written and read once more as JSON, checked against its schema and answered, beside what the run itself costs, whether it comes alone or among others.',
  signal:
    'the sender, the run and the database share two cores, and each signal is a row of its own before it is an entry: 1,000 of them are about 300 ms of work.',
}

/**
 * `value` (divided by `to`, if there is one) must be at least or at most so much; without a bound it is only said.
 * `why` explains, in a sentence, why a goal is missed for the time being.
 */
export const GOALS = [
  versus('w1', 'perSecond', 'dbos', { atLeast: 30, why: WHY.run }),
  versus('w1', 'perSecond', 'restate', { atLeast: 12, why: WHY.run }),
  versus('w1', 'perSecond', 'bare', { atLeast: 0.5, why: WHY.run }),
  bound('w1'),
  versus('w2', 'perSecond', 'dbos', { atLeast: 30, why: WHY.disk }),
  versus('w2', 'perSecond', 'restate', { atLeast: 6 }),
  versus('w2', 'perSecond', 'bare', { atLeast: 0.5, why: WHY.step }),
  bound('w2'),
  versus('w3', 'p50', 'dbos', { atMost: 1 }),
  versus('w3', 'p50', 'restate', { atMost: 1 }),
  versus('w3', 'p50', 'openworkflow', { atMost: 1 }),
  versus('w3', 'p50', 'bare', { atMost: 1.5, why: WHY.idle }),
  versus('w3', 'p50', 'bullmq', {}),
  {
    workload: 'W4',
    text: 'lateness p99',
    unit: 'ms',
    value: of('w4', 'p99'),
    atMost: 30,
    why: WHY.wake,
  },
  versus('w5', 'perSecond', 'restate', { atLeast: 8, why: WHY.signal }),
  versus('w6', 'msPerStep', 'dbos', { atMost: 1 / 3, why: WHY.idle }),
  {
    workload: 'W6',
    text: 'last steps of 10,000 to first',
    value: of('long', 'hotRatio'),
    atMost: 1.2,
  },
  {
    workload: 'W6',
    text: 'steps behind a cold resume to first',
    value: of('long', 'coldRatio'),
    atMost: 1.2,
  },
  {
    workload: 'W7',
    text: 'process memory of a waiting run, 10,000 of them',
    unit: 'B',
    value: of('memory10k', 'rss'),
    atMost: 1024,
  },
  {
    workload: 'W7',
    text: 'process memory of a waiting run, 100,000 of them',
    unit: 'B',
    value: of('memory100k', 'rss'),
    atMost: 1024,
  },
  {
    workload: 'W8',
    text: '100,000 pending to 1,000 pending',
    value: of('queueDeep', 'perSecond'),
    to: of('queue2', 'perSecond'),
    atLeast: 0.7,
  },
  {
    workload: 'W10',
    text: 'events per second to 1,000 machines, to the pattern of nestjs-durable-workflows',
    value: of('machines', 'perdureMany'),
    to: of('machines', 'patternMany'),
    atLeast: 10,
    why: WHY.send,
  },
  {
    workload: 'W10',
    text: 'events per second to 1,000 machines, to a transaction by hand',
    value: of('machines', 'perdureMany'),
    to: of('machines', 'leanMany'),
  },
  {
    workload: 'W10',
    text: 'events per second to 1,000 machines',
    value: of('machines', 'perdureMany'),
    to: of('machines', 'many', 'bare'),
  },
  {
    workload: 'W10',
    text: 'events per second to one machine, to the pattern of nestjs-durable-workflows',
    value: of('machines', 'perdureOne'),
    to: of('machines', 'patternOne'),
    atLeast: 1,
    why: WHY.send,
  },
  {
    workload: 'W10',
    text: 'events per second to one machine, to a transaction by hand',
    value: of('machines', 'perdureOne'),
    to: of('machines', 'leanOne'),
    atLeast: 1,
    why: WHY.send,
  },
  {
    workload: 'W11',
    text: 'nodes per second of a chain of ten, to steps of a function',
    value: of('graphs', 'chain'),
    to: of('graphs', 'functions'),
    atLeast: 0.5,
    why: WHY.node,
  },
  {
    workload: 'W11',
    text: 'nodes per second of a chain of ten, as flows',
    value: of('graphs', 'chain'),
    to: of('graphs', 'chain', 'bullmq'),
    atLeast: 3,
    why: WHY.node,
  },
  {
    workload: 'W11',
    text: 'nodes per second of one before 50 before one',
    value: of('graphs', 'fan'),
    to: of('graphs', 'fan', 'bullmq'),
  },
  {
    workload: 'W11',
    text: 'runs per second under a limit per key, to runs without one',
    value: of('graphs', 'keyed'),
    to: of('graphs', 'free'),
  },
  {
    workload: 'W12',
    text: 'starts over HTTP, 20 to a request: runs per second of CPU of the server, to runs in the process',
    value: of('service', 'manyPerCore'),
    to: of('service', 'inProcessPerCore'),
    atLeast: 0.5,
    why: WHY.http,
  },
  {
    workload: 'W12',
    text: 'starts through perdure/client: runs per second of CPU of the server, to the same',
    value: of('service', 'clientPerCore'),
    to: of('service', 'inProcessPerCore'),
    atLeast: 0.5,
    why: WHY.http,
  },
  {
    workload: 'W12',
    text: 'one request per start: runs per second of CPU of the server, to the same',
    value: of('service', 'perCore'),
    to: of('service', 'inProcessPerCore'),
    atLeast: 0.5,
    why: WHY.request,
  },
  {
    workload: 'W12',
    text: 'p99 of reads with 100,000 runs stored, of the slowest kind',
    unit: 'ms',
    value: of('service', 'readP99'),
    atMost: 50,
    why: WHY.reads,
  },
  embedded('w1', 'perSecond', { atLeast: 1 }),
  embedded('w2', 'perSecond', { atLeast: 1 }),
  embedded('w3', 'p50', { atMost: 1 }),
  embedded('w4', 'p99', { atMost: 1 }),
  embedded('w5', 'perSecond', { atLeast: 1 }),
  embedded('w6', 'msPerStep', { atMost: 1 }),
  {
    workload: 'W2',
    text: 'statements per step under load',
    value: of('statements', 'perStep'),
    atMost: 1,
  },
]
