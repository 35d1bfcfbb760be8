// W12, the service: starts and reads over HTTP, and clients that follow runs. The server is a process of its own, an engine with
// its worker behind perdure/http; this process is its clients.

import { fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createClient } from '../dist/client/index.js'
import { serve } from '../dist/http/index.js'
import { task, workflow } from '../dist/index.js'
import { openEngine, width } from './perdure.mjs'
import { counts, PAYLOAD, step } from './user-code.mjs'
import { after, inLanes, spread, until, warm } from './workloads.mjs'

const CONNECTIONS = 64
const WARM_CONNECTIONS = 16
const WARM_SECONDS = 2
/** Starts in one request. */
const TOGETHER = 20
const READERS = 4
/** So much longer than starts: of each kind there must be hundreds, or the slowest one of all is their p99. */
const READ_TIMES = 4
/** While others read. */
const STARTS_PER_SECOND = 20
const STORED_CHUNK = 1_000
/** Of the stored ones one of so many fails, and one of so many waits. */
const RARE = 200
const TICK_MS = 500

const single = task('single', () => step())
const stored = workflow('stored', async (wf, { n }) => {
  if (n % RARE === 1) return wf.waitFor('go')
  return wf.do('step', () => {
    if (n % RARE === 0) throw Object.assign(new Error('out of order'), { retryable: false })
    return PAYLOAD
  })
})
const ticking = workflow('ticking', async (wf, { ticks }) => {
  for (let i = 0; i < ticks; i += 1) {
    await wf.sleep('tick', TICK_MS)
    await wf.do('step', step)
  }
})
const more = [single, stored, ticking]

/** The server: does what it is told by messages, and says what it cost. */
export async function serviceServer({ url }) {
  const engine = await openEngine({ url, more })
  const serving = await serve(engine, { port: 0, rateLimit: false })
  const tasks = {
    url: async () => serving.url,
    cpu: async () => process.cpuUsage(),
    inProcess: ({ seconds }) => inProcess(engine, seconds),
    store: ({ runs }) => store(engine, runs),
    steps: async () => counts.steps,
    settled: ({ steps }) => until(() => counts.steps >= steps),
  }
  process.on('message', async ({ ask, no, ...options }) => {
    if (!tasks[ask]) return
    process.send({ no, answer: await tasks[ask](options) })
  })
  process.send({ no: 0 })
  await new Promise(() => {}) // until the parent is gone
}

/** As W1, without HTTP. */
async function inProcess(engine, seconds) {
  const lanes = async (isOver) => {
    let runs = 0
    const lane = async () => {
      while (!isOver()) {
        await (await engine.start('single', { payload: PAYLOAD })).result()
        runs += 1
      }
    }
    await Promise.all(Array.from({ length: width }, lane))
    return runs
  }
  await lanes(warm(1))
  const [cpu, from] = [process.cpuUsage(), performance.now()]
  const runs = await lanes(after(seconds))
  return { runs, ms: performance.now() - from, cpu: process.cpuUsage(cpu) }
}

async function store(engine, runs) {
  for (let from = 0; from < runs; from += STORED_CHUNK) {
    const items = Array.from({ length: Math.min(STORED_CHUNK, runs - from) }, (_, i) => ({
      input: { n: from + i },
      options: { id: `stored-${from + i}`, tags: { customer: `c${(from + i) % 1_000}` } },
    }))
    await engine.startMany('stored', items)
  }
  await until(
    async () =>
      (await engine.list({ status: ['pending', 'running'], limit: 1 })).items.length === 0,
  )
}

export async function service({ url, seconds, stored: runs, followers, ticks }) {
  const server = await startServer(url)
  // Not counted: what is measured first would be the coldest of them.
  await server.ask('inProcess', { seconds })
  const starts = await startsOver(server, seconds, oneByOne)
  const many = await startsOver(server, seconds, together)
  const client = await startsOver(server, seconds, throughClient)
  const inside = await server.ask('inProcess', { seconds })
  await server.ask('store', { runs })
  await vacuumed(url)
  const reads = await readsOver(server, { runs, seconds: READ_TIMES * seconds })
  const events = await eventsOver(server, { followers, ticks })
  server.end()
  return {
    startsPerSecond: starts.perSecond,
    startP50: starts.p50,
    startP99: starts.p99,
    perCore: starts.perCore,
    manyStartsPerSecond: many.perSecond,
    manyStartP50: many.p50,
    manyStartP99: many.p99,
    manyPerCore: many.perCore,
    clientStartsPerSecond: client.perSecond,
    clientStartP50: client.p50,
    clientStartP99: client.p99,
    clientPerCore: client.perCore,
    inProcessPerCore: inside.runs / secondsOf(inside.cpu),
    ...reads,
    ...events,
  }
}

const secondsOf = ({ user, system }) => (user + system) / 1e6

async function startServer(url) {
  const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)))
  const waiting = new Map()
  let no = 0
  const answered = (expected) => new Promise((resolve) => waiting.set(expected, resolve))
  child.on('message', (message) => waiting.get(message.no)?.(message.answer))
  const ready = answered(0)
  child.send({ system: 'perdure', workload: 'serviceServer', options: { url } })
  await ready
  const ask = (what, options = {}) => {
    no += 1
    const answer = answered(no)
    child.send({ ask: what, no, ...options })
    return answer
  }
  return { ask, url: await ask('url'), end: () => child.kill() }
}

/** One request over a connection that is kept: its text. */
function makeCaller(base, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(base)
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers =
        body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const sent = request(
        { agent, hostname, port, method, path: `/api/v1${path}`, headers },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => {
            if (response.statusCode < 300) resolve(text)
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`))
          })
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
}

async function timed(times, once) {
  const from = performance.now()
  await once()
  times.push(performance.now() - from)
}

/** By autocannon: so many starts in each request. */
const byRequests = ({ path, body, starts, lanes, warmLanes }) => ({
  lanes,
  warmLanes,
  async load(url, connections, seconds) {
    const { default: autocannon } = await import('autocannon')
    const result = await autocannon({
      ...{ url: `${url}/api/v1${path}`, method: 'POST', body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json' },
      // Each start has an answer of its own.
      verifyBody: (text) => text.split('"id":').length === starts + 1,
      ...{ connections, duration: seconds },
    })
    const { latency, errors, non2xx, mismatches } = result
    const wrong = errors + non2xx + mismatches
    if (wrong > 0) throw new Error(`${wrong} requests were not answered well`)
    const count = result['2xx'] * starts
    return { count, ms: result.duration * 1000, p50: latency.p50, p99: latency.p99 }
  },
})

const INPUT = { input: { payload: PAYLOAD } }

const oneByOne = byRequests({
  ...{ path: '/workflows/single/runs', body: INPUT, starts: 1 },
  ...{ lanes: CONNECTIONS, warmLanes: WARM_CONNECTIONS },
})

/** As many starts on their way as W1 has. */
const together = byRequests({
  path: '/runs/start',
  body: { items: Array.from({ length: TOGETHER }, () => ({ workflow: 'single', ...INPUT })) },
  starts: TOGETHER,
  lanes: width / TOGETHER,
  warmLanes: width / TOGETHER,
})

/** As W1: a thousand callers, each waits for the answer to its own start. Those that come together are one request. */
const throughClient = {
  lanes: width,
  warmLanes: width,
  async load(url, callers, seconds) {
    const client = createClient(url)
    const isOver = after(seconds)
    const times = []
    const caller = async () => {
      while (!isOver()) await timed(times, () => client.start('single', { payload: PAYLOAD }))
    }
    const from = performance.now()
    await Promise.all(Array.from({ length: callers }, caller))
    return { count: times.length, ms: performance.now() - from, ...spread(times) }
  },
}

/** The CPU counts until all that was started has ended: as in W1, where a run is waited for. */
async function startsOver(server, seconds, { lanes, warmLanes, load }) {
  const first = await server.ask('steps')
  const warmed = await load(server.url, warmLanes, WARM_SECONDS)
  const steps = first + warmed.count
  await server.ask('settled', { steps })
  const before = await server.ask('cpu')
  const { count, ms, p50, p99 } = await load(server.url, lanes, seconds)
  await server.ask('settled', { steps: steps + count })
  const cpu = await server.ask('cpu')
  const spent = secondsOf(cpu) - secondsOf(before)
  return { perSecond: (count * 1000) / ms, perCore: count / spent, p50, p99 }
}

/** What autovacuum does in time, if runs come one by one. Here it would begin in the midst of what is measured. */
async function vacuumed(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('vacuum (analyze)')
  await client.end()
}

async function readsOver(server, { runs, seconds }) {
  const call = makeCaller(server.url, READERS + 1)
  const some = () => Math.floor(Math.random() * runs)
  const kinds = {
    listP99: () => '/runs?limit=50',
    failedP99: () => '/runs?workflow=stored&status=failed&limit=50',
    waitingP99: () => '/runs?status=waiting&limit=50',
    taggedP99: () => `/runs?tag=customer:c${some() % 1_000}&limit=50`,
    getP99: () => `/runs/stored-${some()}`,
    historyP99: () => `/runs/stored-${some()}/history`,
  }
  const times = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]))
  for (const path of Object.values(kinds)) await inLanes(1, 20, () => call('GET', path()))
  const isOver = after(seconds)
  const load = async () => {
    while (!isOver()) {
      await call('POST', '/workflows/single/runs', JSON.stringify(INPUT))
      await sleep(1000 / STARTS_PER_SECOND)
    }
  }
  const reader = async (i) => {
    const order = Object.entries(kinds)
    for (let turn = i; !isOver(); turn += 1) {
      const [name, path] = order[turn % order.length]
      await timed(times[name], () => call('GET', path()))
    }
  }
  await Promise.all([load(), ...Array.from({ length: READERS }, (_, i) => reader(i))])
  const p99s = Object.entries(times).map(([name, values]) => [name, spread(values).p99])
  return { ...Object.fromEntries(p99s), readP99: Math.max(...p99s.map(([, p99]) => p99)) }
}

/** From the time that the database gave an entry until its event is here. */
async function eventsOver(server, { followers, ticks }) {
  const call = makeCaller(server.url, CONNECTIONS)
  const body = JSON.stringify({ input: { ticks } })
  const ids = await inLanes(
    CONNECTIONS,
    followers,
    async () => JSON.parse(await call('POST', '/workflows/ticking/runs', body)).id,
  )
  const delays = []
  const follow = async (id) => {
    const response = await fetch(`${server.url}/api/v1/runs/${id}/events`)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body) {
      const now = Date.now()
      const blocks = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
      text = blocks.pop()
      for (const block of blocks) {
        const at = /"at":"([^"]+)"/.exec(block)?.[1]
        if (block.includes('event: step.completed') && at) delays.push(now - Date.parse(at))
      }
    }
  }
  await Promise.all(ids.map(follow))
  const { p50, p99 } = spread(delays)
  return { eventP50: p50, eventP99: p99, events: delays.length }
}
