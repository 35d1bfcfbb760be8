// W13, hints over NOTIFY and over BullMQ: one process that starts runs, others that execute them.

import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { task, workflow } from '../dist/index.js'
import { startRedis } from '../test/support/redis.mjs'
import { openEngine } from './perdure.mjs'
import { callsSince } from './statements.mjs'
import { PAYLOAD, step } from './user-code.mjs'
import { after, inLanes, spread, until } from './workloads.mjs'

const PLACES = 200
/** By then each process knows of the others. */
const ACQUAINTED_MS = 3_000
const NAP_MS = 500
/** Runs under load. */
const OPEN = 50

const single = task('single', () => step())
/** How late it wakes, by the clock of this machine. */
const napper = workflow('napper', async (wf) => {
  const from = await wf.do('fall asleep', () => Date.now())
  await wf.sleep('nap', NAP_MS)
  return wf.do('wake up', () => Date.now() - from - NAP_MS)
})
const more = [single, napper]

export async function transport({ url, workers, isBull, seconds, runs }) {
  // Ends with this process.
  const redis = isBull ? (await startRedis()).url : null
  const engine = await openEngine({ url, worker: false, more, redis })
  for (let i = 0; i < workers; i += 1) {
    const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)))
    child.send({ system: 'perdure', workload: 'transportWorker', options: { url, redis } })
  }
  await until(async () => (await engine.workers()).length > workers)
  const once = async () => (await engine.start(single, { payload: PAYLOAD })).result()
  await inLanes(10, 500, once)
  await sleep(ACQUAINTED_MS)

  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const idle = await callsSince(client, () => sleep(seconds * 1_000))
  const starts = []
  for (let i = 0; i < runs; i += 1) {
    const from = performance.now()
    await once()
    starts.push(performance.now() - from)
  }
  const late = await inLanes(runs, runs, async () => (await engine.start(napper)).result())
  await load(once, 1)
  let under = { count: 0, ms: 0 }
  const loaded = await callsSince(client, async () => {
    under = await load(once, seconds)
  })
  const [start, timer] = [spread(starts), spread(late)]
  return {
    idlePerSecond: idle / seconds,
    startP50: start.p50,
    startP99: start.p99,
    timerP50: timer.p50,
    timerP99: timer.p99,
    perSecond: (under.count * 1000) / under.ms,
    perRun: loaded / under.count,
  }
}

async function load(once, seconds) {
  const isOver = after(seconds)
  const from = performance.now()
  let count = 0
  const lane = async () => {
    while (!isOver()) {
      await once()
      count += 1
    }
  }
  await Promise.all(Array.from({ length: OPEN }, lane))
  return { count, ms: performance.now() - from }
}

export async function transportWorker({ url, redis }) {
  await openEngine({ url, worker: { concurrency: PLACES }, more, redis })
  await new Promise(() => {}) // until the parent is gone
}
