// npm start: `perdure dev` on the workflows beside this file, with something to look at: an order that can be killed at any
// moment and goes on at the next start, a review that waits for a person, a lead that could not be routed.
//
// Everything it prints about the order is read from the order's journal, after the commit.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bannerLines } from '../../dist/cli/banner.js'
import { tellReload } from '../../dist/cli/commands/dev.js'
import { Dev } from '../../dist/cli/dev.js'
import { portOf } from '../../dist/cli/input.js'
import { processIo } from '../../dist/cli/io.js'
import { heedSignals, leaveSoon } from '../../dist/cli/stopping.js'
import { makeStory, openWaits, standing, standingOf } from './story.mjs'

const FIRST_ORDER = 1042
const OPEN = ['pending', 'running', 'waiting']
const EVENTS = ['step.completed', 'step.failed', 'run.waiting', 'run.completed', 'run.failed']
const LOCK_PATIENCE_MS = 5_000

export async function runDemo(args) {
  const options = readOptions(args)
  const io = processIo()
  const say = (text = '') => io.out(text === '' ? '' : `  ${text}`)
  const stopping = heedSignals()
  process.env.PERDURE_DEMO_LEDGER = options.ledger
  if (!options.url && !existsSync(join(options.data, 'postgres'))) {
    say('Making the embedded database (once) …')
  }
  const demo = { io, say, options, stopping, dev: null, found: null, onEngine: [] }
  demo.dev = await open(demo)
  try {
    await run(demo)
  } finally {
    await demo.dev.close()
    leaveSoon()
  }
}

async function run(demo) {
  const { dev, say, io, options, stopping } = demo
  const { serving, hasStudio, database, project } = dev
  const { definitions } = project
  for (const line of bannerLines({ url: serving.url, hasStudio, database, definitions }))
    io.out(line)
  const seeded = options.seed ? await seed(demo) : []
  for (const line of seeded) say(line)
  say('Ctrl-C stops; runs continue at the next start.')
  say()
  const isOver = options.seed && (await followOrder(demo))
  if (isOver && options.once) return
  say(`${await stopping.asked}: closing; runs continue at the next start.`)
}

function readOptions(args) {
  const { values } = parseArgs({
    args,
    allowNegative: true,
    options: {
      once: { type: 'boolean', default: false },
      seed: { type: 'boolean', default: true },
      port: { type: 'string' },
      db: { type: 'string' },
      data: { type: 'string', default: '.perdure/data' },
    },
  })
  const { PERDURE_DATABASE_URL, DATABASE_URL } = process.env
  const url = values.db ?? (PERDURE_DATABASE_URL || DATABASE_URL || undefined)
  const { data } = values
  return {
    ...values,
    url,
    port: portOf(values.port, process.env),
    database: url ?? `file:${data}`,
    ledger: join(dirname(data), 'ledger.txt'),
  }
}

async function open(demo) {
  const { options, io } = demo
  const settings = {
    folder: import.meta.dirname,
    port: options.port,
    // A short lease: on PostgreSQL the next process waits that long for one that was killed hard.
    engine: { database: options.database, schema: 'perdure_demo', worker: { lease: '5s' } },
    before: async (engine) => {
      demo.found = options.seed ? await orderOf(engine) : null
    },
    onReload: (news) => {
      tellReload(io, news, false)
      for (const listener of news.kind === 'reloaded' ? demo.onEngine : []) listener(news.engine)
    },
  }
  const until = Date.now() + LOCK_PATIENCE_MS
  for (;;) {
    try {
      return await Dev.open(settings)
    } catch (error) {
      // A demo that was killed a moment ago may still be letting go of it.
      if (error.code !== 'DATABASE_LOCKED' || Date.now() > until) throw error
      await sleep(200)
    }
  }
}

/** Something that waits for a person and something that has failed. The same ids are the same runs at every start. */
async function seed({ dev, stopping }) {
  const { engine, serving, hasStudio } = dev
  const waits = new Promise((resolve) => {
    engine.on('run.waiting', ({ runId }) => runId === 'rev-7' && resolve())
  })
  await engine.start('review', { title: 'About bees' }, { id: 'rev-7' })
  await engine.run('lead-routing', { id: 'lead-1', email: 'bob@acme.example' }, { id: 'lead-1' })
  await engine.run('lead-routing', { id: 'lead-2', email: 'eve@nowhere.example' }, { id: 'lead-2' })
  const isMoving = ['pending', 'running'].includes((await engine.get('rev-7')).status)
  if (isMoving) await Promise.race([waits, stopping.asked])
  const look = (id) =>
    hasStudio ? `${serving.url}/runs/${id}` : `${serving.url}/api/v1/runs/${id}`
  const infos = await Promise.all(['rev-7', 'lead-2'].map((id) => engine.get(id)))
  return infos.map((info) => standingOf(info, look(info.id)))
}

/** The newest order as the last process has left it, with its journal. */
async function orderOf(engine) {
  const [newest] = (await engine.list({ workflow: 'order', limit: 1 })).items
  if (newest === undefined) return null
  const entries = []
  for await (const entry of engine.history(newest.id)) entries.push(entry)
  return { id: newest.id, isOpen: OPEN.includes(newest.status), entries }
}

/** Takes up the open order, or starts the next one. True when it has ended, false when it was stopped before. */
async function followOrder(demo) {
  const { dev, say, io, found } = demo
  const id = found?.isOpen ? found.id : nextId(found)
  const teller = makeTeller(demo, id)
  const listen = (engine) => {
    for (const event of EVENTS) engine.on(event, ({ runId }) => runId === id && teller.tell())
  }
  if (found?.isOpen) teller.recall(found.entries)
  else say(`order ${id} started`)
  demo.onEngine.push(listen)
  listen(dev.engine)
  // It may have gone on while the others were started.
  if (found?.isOpen) await teller.tell()
  const outcome = await endOf(demo, id)
  if (outcome === null) return false
  await teller.tell()
  say()
  const { status, output } = outcome
  if (status === 'completed')
    say(`${io.paint.green('●')} order ${id} is done: ${summary(demo, id, output)}`)
  else say(`order ${id} ${status}`)
  return true
}

/** The same id and the same input are the same run: a new one is started, an open one is waited for. */
async function endOf({ dev, stopping }, id) {
  for (;;) {
    try {
      const end = dev.engine.run('order', { id, amount: 100 }, { id })
      const outcome = await Promise.race([end, stopping.asked])
      if (typeof outcome !== 'string') return outcome
      end.catch(() => {}) // Stopped before the end: closing tells it so.
      return null
    } catch (error) {
      // New code has taken over, and the run with it.
      if (error.code !== 'ENGINE_CLOSED') throw error
    }
  }
}

const nextId = (last) =>
  last ? `ord-${Number(last.id.slice('ord-'.length)) + 1}` : `ord-${FIRST_ORDER}`

function summary({ options }, id, { shipments }) {
  const lines = readFileSync(options.ledger, 'utf8').split('\n')
  const count = lines.filter((line) => line.startsWith(`${id} `)).length
  const charged = `${count} ${count === 1 ? 'charge' : 'charges'} in ${options.ledger}`
  return `${charged}, ${shipments} in the table shop.shipments`
}

/** Tells what the journal says and was not told yet, one reading at a time. */
function makeTeller(demo, id) {
  const { say, io, stopping } = demo
  const story = makeStory(say, io.paint)
  let last = 0
  let telling = Promise.resolve()
  const read = async () => {
    const entries = []
    const after = last > 0 ? { after: String(last) } : {}
    for await (const entry of demo.dev.engine.history(id, after)) {
      entries.push(entry)
      last = entry.seq
    }
    return entries
  }
  return {
    tell: () => {
      telling = telling.then(async () => {
        for (const entry of stopping.why === null ? await read() : []) story.told(entry)
      })
      telling = telling.catch(() => {}) // Closed meanwhile: the next reading tells it.
      return telling
    },
    recall: (entries) => {
      last = entries.at(-1)?.seq ?? 0
      say(standing(id, entries))
      for (const entry of openWaits(entries)) story.told(entry)
    },
  }
}
