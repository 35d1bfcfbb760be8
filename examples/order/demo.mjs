// The demo: an order that can be killed at any moment and goes on at the next start.
//
// Everything it prints about the order is read from the order's journal, after the commit.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createEngine } from '../../dist/index.js'
import { embeddedBanner } from '../../dist/store/driver-embedded/open-embedded.js'
import { describeTarget } from '../../dist/store/driver-pg/connection.js'
import { charges, orderWorkflow, STEPS } from './order.mjs'
import { makePaint, makeStory, openWaits, standing } from './story.mjs'

const ROOT = dirname(dirname(import.meta.dirname))
const FIRST_ORDER = 1042
const OPEN = ['pending', 'running', 'waiting']
const EVENTS = ['step.completed', 'step.failed', 'run.waiting', 'run.completed', 'run.failed']
const LOCK_PATIENCE_MS = 5_000

export async function runDemo(args) {
  const options = readOptions(args)
  const say = (text = '') => console.log(text === '' ? '' : `  ${text}`)
  const paint = makePaint(process.stdout, process.env)
  const stopped = heedSignals()
  banner(options, say)

  const order = orderWorkflow(options.ledger)
  const engine = await openEngine(options, order, say)
  try {
    const demo = { engine, order, say, paint, options, stopped }
    const ended = await followOrder(demo)
    if (ended && !options.once) {
      say('Ctrl-C stops; npm start again begins the next order.')
      await stopped.promise
    }
    if (!ended) say(`${stopped.why}: closing; runs continue at the next start.`)
  } finally {
    await engine.close()
  }
}

function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      once: { type: 'boolean', default: false },
      db: { type: 'string' },
      data: { type: 'string', default: '.perdure/data' },
    },
  })
  const { PERDURE_DATABASE_URL, DATABASE_URL } = process.env
  const url = values.db ?? (PERDURE_DATABASE_URL || DATABASE_URL || undefined)
  const interactive = Boolean(process.stdin.isTTY && process.stdout.isTTY)
  return {
    url,
    data: values.data,
    database: url ?? `file:${values.data}`,
    ledger: join(dirname(values.data), 'ledger.txt'),
    interactive,
    once: values.once || !interactive,
  }
}

function banner({ url, data, ledger }, say) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  say()
  say(`Perdure ${version}`)
  say()
  say(`Database  ${url ? describeTarget(url) : embeddedBanner(data)}`)
  say(`Workflow  order: ${STEPS.join(', ')}`)
  say(`Ledger    ${ledger} (one line per real charge)`)
  say()
  say('Kill it at any line (Ctrl-C, kill -9), start it again: it goes on there.')
  say()
}

/** The first Ctrl-C or SIGTERM closes in order, the second one ends at once. */
function heedSignals() {
  const stopped = { why: '', promise: null }
  stopped.promise = new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.on(signal, () => {
        if (stopped.why !== '') process.exit(130)
        stopped.why = signal === 'SIGINT' ? 'Ctrl-C' : signal
        resolve(null)
      })
    }
  })
  return stopped
}

async function openEngine({ url, data, database }, order, say) {
  if (!url && !existsSync(join(data, 'postgres'))) say('Making the embedded database (once) …')
  // A short lease: on PostgreSQL the next process waits that long for one that was killed hard.
  const worker = { lease: '5s' }
  const open = () => createEngine({ database, schema: 'perdure_demo', workflows: [order], worker })
  const until = Date.now() + LOCK_PATIENCE_MS
  for (;;) {
    try {
      return await open()
    } catch (error) {
      // A demo that was killed a moment ago may still be letting go of it.
      if (error.code !== 'DATABASE_LOCKED' || Date.now() > until) throw error
      await sleep(200)
    }
  }
}

/** Takes up the open order, or starts the next one. True when it has ended, false when it was stopped before. */
async function followOrder(demo) {
  const { engine, order, say, stopped } = demo
  const [newest] = (await engine.list({ workflow: order, limit: 1 })).items
  const isOpen = newest !== undefined && OPEN.includes(newest.status)
  const id = isOpen ? newest.id : nextId(newest)
  const teller = makeTeller(demo, id)
  for (const event of EVENTS) engine.on(event, ({ runId }) => runId === id && teller.tell())
  if (isOpen) await teller.recall()
  else say(`order ${id} started`)
  // The same id and the same input are the same run: a new one is started, an open one is waited for.
  const end = engine.run(order, { id, amount: 100 }, { id })
  end.catch(() => {}) // Stopped before the end: closing tells it so.
  const outcome = await Promise.race([end, stopped.promise])
  if (outcome === null) return false
  await teller.tell()
  say()
  say(outcome.status === 'completed' ? summary(demo, outcome) : `order ${id} ${outcome.status}`)
  return true
}

const nextId = (newest) =>
  newest ? `ord-${Number(newest.id.slice('ord-'.length)) + 1}` : `ord-${FIRST_ORDER}`

function summary({ options, paint }, { id, output }) {
  const count = charges(options.ledger).filter((line) => line.startsWith(`${id} `)).length
  const charged = `${count} ${count === 1 ? 'charge' : 'charges'} in the ledger`
  return `${paint('green', '●')} order ${id} is done: ${charged}, ${output.shipments} in the table shop.shipments`
}

/** Tells what the journal says and was not told yet, one reading at a time. */
function makeTeller({ engine, say, paint, options, stopped }, id) {
  const story = makeStory(say, paint)
  let last = 0
  let telling = Promise.resolve()
  const read = async () => {
    const entries = []
    for await (const entry of engine.history(id, last > 0 ? { after: String(last) } : {})) {
      entries.push(entry)
      last = entry.seq
    }
    return entries
  }
  const show = (entry) => {
    story.told(entry)
    if (entry.kind === 'wait.opened') approveLater({ engine, say, options, stopped }, id)
  }
  return {
    tell: () => {
      telling = telling.then(async () => {
        for (const entry of stopped.why === '' ? await read() : []) show(entry)
      })
      return telling.catch(() => {}) // Closed meanwhile: the next start tells it.
    },
    recall: async () => {
      const entries = await read()
      say(standing(id, entries))
      for (const entry of openWaits(entries)) show(entry)
    },
  }
}

/** A person presses Enter. Nobody there, or nobody presses it: the demo approves by itself. */
function approveLater({ engine, say, options, stopped }, id) {
  const afterMs = options.interactive ? 15_000 : 2_000
  const approve = (by) => {
    clearTimeout(timer)
    process.stdin.off('data', byPerson).pause()
    if (stopped.why !== '') return
    // The id makes it one approval, however often this demo is restarted and sends it again.
    engine.signal(id, 'approval', { by }, { id: 'approval' }).catch(() => {})
  }
  const byPerson = () => approve('you')
  const timer = setTimeout(approve, afterMs, 'the demo')
  timer.unref()
  if (!options.interactive) return
  say(`    press Enter to approve; in ${afterMs / 1000} s the demo does it`)
  process.stdin.on('data', byPerson).resume()
}
