// From figures to text: medians, ratios, goals, tables, and the page docs/benchmarks.md. Pure, so that it is tested.
// Figures are lists, one value per round: figures[measure][system][field].

import { GOALS, plan, WORKLOADS } from './plan.mjs'
import { SYSTEMS } from './systems.mjs'
import { median } from './workloads.mjs'

const LOAD = plan({ quick: false })[0].options

/** @returns {{ goal: object, ratio: number | null, isMet: boolean | null, missedBy: number }} */
export function judge(goal, figures) {
  const value = middle(goal.value, figures)
  const base = goal.to ? middle(goal.to, figures) : 1
  if (value === null || base === null) return { goal, ratio: null, isMet: null, missedBy: 0 }
  const ratio = value / base
  if (goal.atLeast !== undefined) {
    return { goal, ratio, isMet: ratio >= goal.atLeast, missedBy: 1 - ratio / goal.atLeast }
  }
  if (goal.atMost !== undefined) {
    return { goal, ratio, isMet: ratio <= goal.atMost, missedBy: ratio / goal.atMost - 1 }
  }
  return { goal, ratio, isMet: null, missedBy: 0 }
}

function middle({ measure, system, field }, figures) {
  const values = figures[measure]?.[system]?.[field]
  return values?.length ? median(values) : null
}

/** Of what was measured. */
function judged(figures) {
  return GOALS.filter(({ value }) => middle(value, figures) !== null).map((goal) =>
    judge(goal, figures),
  )
}

export function goalTable(figures) {
  const rows = judged(figures).map(({ goal, ratio, isMet, missedBy }) => [
    goal.workload,
    wanted(goal),
    reached(goal, ratio),
    verdict(isMet, missedBy, ratio),
  ])
  return table(['', 'goal', 'reached', ''], rows)
}

/** Why goals are missed, as far as plan.mjs knows it. */
export function reasons(figures) {
  const lines = judged(figures)
    .filter(({ goal, isMet }) => isMet === false && goal.why)
    .map(({ goal }) => `- ${goal.workload}, ${wanted(goal)}: ${goal.why}`)
  return lines.length > 0 ? `\n${lines.join('\n')}\n` : ''
}

function wanted({ text, to, atLeast, atMost, unit, value }) {
  const sign = atLeast !== undefined ? '≥' : atMost !== undefined ? '≤' : ''
  const bound = atLeast ?? atMost
  const what = text ?? named(value)
  if (!to) return `${what} ${sign} ${bound}${unit ? ` ${unit}` : ''}`
  const other = to.measure === value.measure ? SYSTEMS[to.system].title : ''
  return `${what}${bound === undefined ? ', to' : ` ${sign} ${Number.isInteger(bound) ? bound : figure(bound)} ×`} ${other}`.trim()
}

const named = ({ field }) =>
  ({ perSecond: 'rate', p50: 'p50', p99: 'p99', msPerStep: 'time per step' })[field]

function reached({ to, unit }, ratio) {
  if (ratio === null) return '–'
  return `${figure(ratio)}${to ? ' ×' : unit ? ` ${unit}` : ''}`
}

function verdict(isMet, missedBy, ratio) {
  if (ratio === null) return 'not measured'
  if (isMet === null) return 'no goal'
  return isMet ? 'met' : `missed by ${figure(missedBy * 100)} %`
}

/** One row per system, one column per workload: median and spread; below it Perdure's advantage. */
export function systemTable(figures) {
  const ids = Object.keys(WORKLOADS).filter((id) => figures[id])
  const present = Object.keys(SYSTEMS).filter((name) => ids.some((id) => figures[id][name]))
  const head = ['', ...ids.map((id) => `${id.toUpperCase()} ${heading(WORKLOADS[id])}`)]
  const rows = present.map((name) => [
    SYSTEMS[name].title,
    ...ids.map((id) => cell(figures[id][name], WORKLOADS[id].fields)),
  ])
  return table(head, rows)
}

export function ratioTable(figures) {
  const ids = Object.keys(WORKLOADS).filter((id) => figures[id]?.perdure)
  const others = Object.keys(SYSTEMS).filter(
    (name) => name !== 'perdure' && ids.some((id) => figures[id][name]),
  )
  const head = ['Perdure against', ...ids.map((id) => id.toUpperCase())]
  const rows = others.map((name) => [
    SYSTEMS[name].title,
    ...ids.map((id) => advantage(id, name, figures)),
  ])
  return table(head, rows)
}

/** How many times better: of times the other way round than of rates. */
function advantage(id, name, figures) {
  const [field] = WORKLOADS[id].fields
  const own = middle({ measure: id, system: 'perdure', field }, figures)
  const other = middle({ measure: id, system: name, field }, figures)
  if (own === null || other === null) return '–'
  return `${figure(WORKLOADS[id].unit === '/s' ? own / other : other / own)} ×`
}

const heading = ({ fields, unit }) => (fields.length === 1 ? unit : `${fields.join(' / ')} ${unit}`)

function cell(values, fields) {
  return values ? fields.map((field) => withSpread(values[field])).join(' / ') : '–'
}

export function withSpread(values) {
  const middleOf = figure(median(values))
  if (values.length === 1) return middleOf
  return `${middleOf} [${figure(Math.min(...values))}–${figure(Math.max(...values))}]`
}

const OWN = [
  ['W6', 'one run of 10,000 steps: ms per step', 'long', 'msPerStep'],
  ['W6', 'steps around the last of 10,000 to steps around the 10th', 'long', 'hotRatio'],
  ['W6', 'cold: ms until another engine has read the journal and goes on', 'long', 'coldMs'],
  ['W6', 'steps behind the cold resume to steps around the 10th', 'long', 'coldRatio'],
  ['W7', 'process memory (RSS) of a waiting run, 10,000 of them: B', 'memory10k', 'rss'],
  ['W7', 'of that in use by JavaScript: B', 'memory10k', 'heap'],
  ['W7', 'process memory (RSS) of a waiting run, 100,000 of them: B', 'memory100k', 'rss'],
  ['W7', 'of that in use by JavaScript: B', 'memory100k', 'heap'],
  ['W8', 'queue-based steps/s, 1,000 pending, 1 worker process', 'queue1', 'perSecond'],
  ['W8', 'queue-based steps/s, 1,000 pending, 2 worker processes', 'queue2', 'perSecond'],
  ['W8', 'queue-based steps/s, 100,000 pending, 2 worker processes', 'queueDeep', 'perSecond'],
  ['W8', 'share of the busier of the two', 'queueDeep', 'busiest'],
  ['W10', 'events/s to 1,000 event machines, 500 senders', 'machines', 'perdureMany'],
  ['W10', 'the same by the pattern of nestjs-durable-workflows', 'machines', 'patternMany'],
  ['W10', 'the same by hand, with nothing that can be left out', 'machines', 'leanMany'],
  ['W10', 'entries/s of a bare loop, for the same machines', 'machines', 'many', 'bare'],
  ['W10', 'events/s to one event machine, 500 senders', 'machines', 'perdureOne'],
  ['W10', 'the same by the pattern', 'machines', 'patternOne'],
  ['W10', 'the same by hand', 'machines', 'leanOne'],
  ['W10', 'automatic transitions/s of class machines', 'machines', 'transitions'],
  ['W11', 'nodes/s of graphs, chains of 10', 'graphs', 'chain'],
  ['W11', 'steps/s of functions with the same ten steps', 'graphs', 'functions'],
  ['W11', 'nodes/s of graphs, one before 50 before one', 'graphs', 'fan'],
  ['W11', 'jobs/s of BullMQ, chains of 10 as flows', 'graphs', 'chain', 'bullmq'],
  ['W11', 'jobs/s of BullMQ, one before 50 before one as flows', 'graphs', 'fan', 'bullmq'],
  ['W11', 'runs/s under a limit of one per key, 1,000 keys', 'graphs', 'keyed'],
  ['W11', 'the same runs without a limit', 'graphs', 'free'],
  ['W12', 'starts/s, one request per start, 64 connections', 'service', 'startsPerSecond'],
  ['W12', 'a start, one request per start, p50: ms', 'service', 'startP50'],
  ['W12', 'the same, p99: ms', 'service', 'startP99'],
  ['W12', 'runs, one request per start, per second of CPU of the server', 'service', 'perCore'],
  ['W12', 'starts/s, 20 to a request, 50 connections', 'service', 'manyStartsPerSecond'],
  ['W12', 'a start, 20 to a request, p50: ms', 'service', 'manyStartP50'],
  ['W12', 'the same, p99: ms', 'service', 'manyStartP99'],
  ['W12', 'runs, 20 to a request, per second of CPU of the server', 'service', 'manyPerCore'],
  ['W12', 'starts/s through perdure/client, 1,000 callers', 'service', 'clientStartsPerSecond'],
  ['W12', 'a start through perdure/client, p50: ms', 'service', 'clientStartP50'],
  ['W12', 'the same, p99: ms', 'service', 'clientStartP99'],
  [
    'W12',
    'runs started through perdure/client, per second of CPU of the server',
    'service',
    'clientPerCore',
  ],
  [
    'W12',
    'runs started in the process, as W1, per second of its CPU',
    'service',
    'inProcessPerCore',
  ],
  ['W12', 'the newest 50 runs, p99: ms', 'service', 'listP99'],
  ['W12', 'the newest 50 that failed, of 500, p99: ms', 'service', 'failedP99'],
  ['W12', 'the newest 50 that wait, of 500, p99: ms', 'service', 'waitingP99'],
  ['W12', 'the newest 50 with a tag, of 100, p99: ms', 'service', 'taggedP99'],
  ['W12', 'one run, p99: ms', 'service', 'getP99'],
  ['W12', 'the history of one run, p99: ms', 'service', 'historyP99'],
  ['W12', '200 followers: from the commit to the event, p50: ms', 'service', 'eventP50'],
  ['W12', 'the same, p99: ms', 'service', 'eventP99'],
  ...[1, 3].flatMap((workers) =>
    ['notify', 'bull'].flatMap((transport) => hintRows(transport, workers)),
  ),
]

function hintRows(transport, workers) {
  const by = `hints over ${transport === 'bull' ? 'BullMQ' : 'NOTIFY'}, workers: ${workers};`
  return [
    ['start to result, idle, p50: ms', 'startP50'],
    ['the same, p99: ms', 'startP99'],
    ['how late a timer wakes, p50: ms', 'timerP50'],
    ['the same, p99: ms', 'timerP99'],
    ['runs/s, 50 open at a time', 'perSecond'],
    ['statements of each of those runs', 'perRun'],
    ['statements/s of all processes while nothing happens', 'idlePerSecond'],
  ].map(([text, field]) => ['W13', `${by} ${text}`, `${transport}${workers}`, field])
}

export function ownTable(figures) {
  const rows = OWN.flatMap(([id, text, measure, field, system = 'perdure']) => {
    const values = figures[measure]?.[system]?.[field]
    return values ? [[id, text, withSpread(values)]] : []
  })
  return rows.length ? table(['', 'Perdure', ''], rows) : ''
}

const COUNTED = ['perRun', 'nestedPerRun', 'walPerRun', 'perStep', 'nestedPerStep', 'walPerStep']

export function statementTable(figures) {
  if (!figures.statements) return ''
  const rows = Object.entries(figures.statements).map(([name, values]) => [
    SYSTEMS[name].title,
    ...COUNTED.map((field) => figure(median(values[field]))),
  ])
  const head = [
    '',
    'statements per 1-step workflow',
    'inside functions',
    'WAL bytes',
    'statements per step of 10',
    'inside functions',
    'WAL bytes',
  ]
  return table(head, rows)
}

/** In the form that the formatter of the repository leaves alone: padded columns. */
export function table(head, rows) {
  const all = [head, ...rows]
  const widths = head.map((_, i) => Math.max(3, ...all.map((row) => row[i].length)))
  const line = (row) => `| ${row.map((text, i) => text.padEnd(widths[i])).join(' | ')} |`
  return [
    line(head),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n')
}

/** Three digits that matter; no more are true. */
export function figure(value) {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  if (Math.abs(value) >= 10) return value.toFixed(1)
  if (Math.abs(value) >= 0.1 || value === 0) return value.toFixed(2)
  return value.toPrecision(2)
}

/** Others were at work: even ratios are doubtful then. */
export function warning({ load, cores }) {
  if (load < cores / 2) return ''
  return `\n**The machine was busy with other work when this began (load ${figure(load)} on ${cores} cores): do not trust these figures.**\n`
}

function apartText(apart) {
  const names = Object.keys(apart)
  if (names.length === 0) return ''
  const dates = [...new Set(Object.values(apart))].join(', ')
  return `\n${names.join(' and ')} ${names.length === 1 ? 'was' : 'were'} measured apart from the rest, by \`npm run bench -- --only ${names.join(',').toLowerCase()} --add\` on ${dates}.`
}

/** The page, from what a full run recorded. */
export function page(recorded) {
  const {
    date,
    machine,
    versions,
    settings,
    minutes,
    rounds,
    absent,
    figures,
    apart = {},
  } = recorded
  return `# Benchmarks

Written by \`npm run bench\` on ${date}, in ${minutes} minutes; not by hand. Absolute figures belong to the machine; the ratios
are what it is for. ${rounds === 1 ? 'There was one round' : `A figure is the median of ${rounds} rounds, with the lowest and the highest`}. In each round every
system has its turn, in a process of its own, on an empty database, warm.${apartText(apart)}
${warning(recorded)}
- Machine: ${machine}
- Versions: ${versions.join(', ')}
- PostgreSQL: \`fsync\` and \`synchronous_commit\` on, \`shared_buffers\` 128 MB, everything else as it comes; one server for all
${absent.map((line) => `- Not available: ${line}\n`).join('')}
## Goals

${goalTable(figures)}
${reasons(figures)}
## Side by side

${systemTable(figures)}

${ratioTable(figures)}

The bare loop is a bound and not an engine: the same tables, the same fenced statements in batches, and nothing around them: no
leases, no recovery, no retries, no user code. The raw statement is the same again with batches that are always full.
BullMQ keeps its jobs in the memory of Redis and graphile-worker has no steps: they are here as what a queue costs.

## Perdure alone

${ownTable(figures)}

## What the database is asked

${statementTable(figures)}

Counted by \`pg_stat_statements\` under the load of W1 and W2, on a server of its own, because counting costs time. A statement
is what a client sends, \`BEGIN\` and \`COMMIT\` included; those that run inside functions of the database are counted apart.

## The workloads

${Object.entries(WORKLOADS)
  .map(([id, { text }]) => `- **${id.toUpperCase()}** ${text}`)
  .join('\n')}
- **W7** runs that wait for a signal: growth of the process that brought them there, after garbage collection
- **W8** one process starts runs and keeps so many unfinished, others with 200 places each take them; each run is one queue-based step
- **W9** W1 to W6 on the embedded database, which makes no fsync, against DBOS on PostgreSQL
- **W10** 500 senders, each one event after the other, to 1,000 event machines and to one; an event leads to another state and counts in a context of 200 bytes. The pattern of nestjs-durable-workflows is one transaction for each: it locks the row, makes a machine of the snapshot with the package that this library uses (javascript-state-machine), writes the row and one of its history, and has the columns, indexes and foreign key that the migrations of that library make; by hand, the same with no index but the primary key, and no more columns than it needs (\`bench/locked.mjs\`). The bare loop stores an entry of 180 bytes and the row of the machine for each; and machines of 50 places that go on by themselves
- **W11** 200 runs open at a time: graphs of ten nodes in a chain, and of one before 50 before one, next to a function of ten steps; and runs of one step under a limit per key, next to the same without. A flow of BullMQ is a tree, in which a job has one parent: one before 50 before one is there 50 chains of two before one, 101 jobs, and all of them are counted
- **W12** a server with its worker in one process, its clients in another: starts of runs of one step for ${LOAD.seconds} seconds, by autocannon, one request per start over 64 connections, then 20 starts to a request over 50, which are as many on their way as W1 has; then through perdure/client with 1,000 callers, which sends those that come together as one request, then the same from inside, with 1,000 callers that wait for the result too; the CPU of the server counts until all of them have ended. Then reads by 4 clients for ${4 * LOAD.seconds} seconds, 100,000 runs stored and vacuumed and 20 more started per second; then 200 clients that follow 200 runs, each with an entry twice a second

In W1 and W2 runs are started for ${LOAD.seconds} seconds, as many open at a time as the settings below say, and all of them end within
the time that counts. Every input, every result of a step and every signal is 180 bytes of JSON. The code is in
\`bench/workloads.mjs\`, the same lines for every system; \`bench/peers\` has one adapter for each.

${Object.entries(settings)
  .map(([name, text]) => `- **${SYSTEMS[name].title}**: ${text}`)
  .join('\n')}
`
}
