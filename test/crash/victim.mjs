// A process to be killed: an engine on the given database that executes workloads and drives runs of its own.
// VICTIM is a JSON of what it is to do (see world.d.mts); PERDURE_FAULT says where it is to die.
//
// It says on stdout, one JSON per line and before it goes on (a pipe is written synchronously): { open }, { acked: id },
// { driven: id }, { ended: id, status }, { aborted, code }, { failed }, { refused: code }, { held }, { closed }.

import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { bullmq } from '../../dist/bullmq/index.js'
import { composeEngine } from '../../dist/compose-engine.js'
import { readEngineOptions } from '../../dist/engine/options.js'
import { newCounters } from '../../dist/kernel/counters.js'
import { openLedger } from './ledger.mjs'
import special from './special.mjs'
import { makeWorkloads } from './workloads.mjs'
import { makeFaultWorkloads } from './workloads-faults.mjs'

const EVENTS = [
  ...['workflow.created', 'run.completed', 'run.failed', 'run.cancelled', 'run.timed_out'],
  ...['step.completed', 'step.failed', 'workflow.transition', 'workflow.timeout.triggered'],
]
const COUNTERS_EVERY_MS = 200
const HARMLESS = 'a listener that throws'
const SLOTS_WITHIN_MS = 30_000

const order = JSON.parse(process.env.VICTIM)
const life = `${process.pid}-${randomBytes(4).toString('hex')}`
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)

const flags = join(order.folder, 'flags')
mkdirSync(flags, { recursive: true })
const ledger = openLedger({ ...order.ledger, life })
const { folder, world } = order
const context = { ledger, flags, say, folder, world }
const parts = [makeWorkloads(context), special(context), makeFaultWorkloads(context)]
const kinds = Object.assign({}, ...parts.map((part) => part.kinds))
const definitions = parts
  .flatMap((part) => part.definitions)
  .filter(({ name }) => !order.without?.includes(name))

const counters = newCounters()
let engine = null
let closing = null

/** Whole or not at all: a killed one leaves its last full copy. */
function writeCounters() {
  const file = join(order.folder, `counters-${life}`)
  writeFileSync(`${file}.part`, JSON.stringify(counters))
  renameSync(`${file}.part`, `${file}.json`)
}

async function open() {
  const settings = readEngineOptions(
    {
      database: order.database,
      schema: order.schema,
      ...(order.redis && { transport: bullmq({ connection: order.redis }) }),
      workflows: definitions,
      nodeTypes: parts.flatMap((part) => part.nodeTypes ?? []),
      worker: order.worker ?? { concurrency: order.concurrency ?? 6, lease: order.leaseMs },
      build: 'crash',
      log: {
        debug: () => {},
        info: () => {},
        warn: (message, data) => say({ warn: message, steps: data?.steps }),
        error: (message, data) => {
          const why = String(data?.error ?? '')
          if (!why.includes(HARMLESS)) say({ error: message, why })
        },
      },
    },
    {},
  )
  const { pollMs = 150, closeGraceMs = 1_500 } = order
  engine = await composeEngine(settings, {
    kernel: { counters, pollMs, closeGraceMs, defects: new Set(order.defects) },
  }).catch((error) => {
    say({ refused: error.code ?? 'unknown', message: error.message })
    process.exit(3)
  })
  if (order.makesEffects)
    await engine.transaction((tx) =>
      tx.query('create table if not exists effects (run text, step text, key text)'),
    )
  if (order.listen !== false) listen()
  say({ open: process.pid })
}

function listen() {
  const file = join(order.folder, 'events')
  for (const name of EVENTS) {
    engine.on(name, ({ id, runId, step }) =>
      appendFileSync(file, `${JSON.stringify({ id, runId, name, step, life })}\n`),
    )
  }
  // One that throws does no harm.
  engine.on('workflow.transition', () => {
    throw new Error(HARMLESS)
  })
}

function close(writing) {
  closing ??= (async () => {
    await engine.close()
    clearInterval(writing)
    writeCounters()
    await ledger.close()
    say({ closed: true })
    process.exit(0)
  })()
  return closing
}

/** Reading fails while the database is away, and says so. */
async function patiently(read) {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (error.code !== 'DATABASE_UNAVAILABLE') throw error
      await sleep(100)
    }
  }
}

async function drive({ id, kind }) {
  try {
    const handle = await patiently(() => kinds[kind].drive(engine, id))
    say({ driven: id })
    await handle.result().catch((error) => {
      if (!String(error.code).startsWith('WORKFLOW_')) throw error
    })
    say({ ended: id, status: await patiently(() => handle.status()) })
  } catch (error) {
    if (closing === null) say({ failed: id, code: error.code, message: error.message })
  }
}

/** The events of a process that died behind its last commit are inherited when its lease is over: whoever leaves earlier leaves them untold. */
async function everythingTold() {
  if (order.listen === false || !String(order.database).startsWith('postgres')) return
  const until = Date.now() + 3 * (order.leaseMs ?? 1_000) + 5_000
  const pending = `select count(*)::int as count from ${order.schema}.feed where pending`
  for (let count = 1; count > 0 && Date.now() < until; ) {
    const { rows } = await patiently(() => engine.transaction((tx) => tx.query(pending)))
    count = rows[0].count
    if (count > 0) await sleep(50)
  }
}

/** Says whoever has a slot, or asks for one, when there is nothing left to do. */
async function everybodyLetIn() {
  const until = Date.now() + SLOTS_WITHIN_MS
  for (;;) {
    const rows = await patiently(() => engine.limits())
    const held = rows.filter(({ used, waiting }) => used > 0 || waiting > 0)
    if (held.length === 0 || Date.now() > until) return say({ held })
    await sleep(50)
  }
}

async function main() {
  await open()
  const writing = setInterval(writeCounters, COUNTERS_EVERY_MS)
  process.on('SIGTERM', () => void close(writing))
  createInterface({ input: process.stdin }).on('line', (line) => {
    const said = JSON.parse(line)
    if (said.close) void close(writing)
    for (const run of said.runs ?? []) void drive(run)
  })
  const driven = Promise.all((order.runs ?? []).map(drive))
  if (order.closeAfterMs !== undefined) {
    await sleep(order.closeAfterMs)
    await close(writing)
  } else if (order.closeWhenDriven) {
    await driven
    await everythingTold()
    await everybodyLetIn()
    await close(writing)
  }
}

void main()
