// What only Perdure is measured in: long runs hot and cold (W6), memory (W7), queue-based steps (W8), machines (W10), graphs (W11),
// the service (W12), transports of hints (W13).

import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { graphs } from './graphs.mjs'
import { machines } from './machines.mjs'
import { definitions, openEngine } from './perdure.mjs'
import { service, serviceServer } from './service.mjs'
import { transport, transportWorker } from './transport.mjs'
import { counts, marks, PAYLOAD } from './user-code.mjs'
import { stepMs, until } from './workloads.mjs'

const CHUNK = 1_000
const WARM_RUNS = 10_000
const MORE = 210
/** Fewer than the smallest backlog: some runs must wait to be claimed. */
const PLACES = 200

export const only = {
  ...{ long, memory, queue, queueWorker, machines, graphs, service, serviceServer },
  ...{ transport, transportWorker },
}

/**
 * One run: what a step costs around step 10 and around the last, then what it costs another engine to go on with the
 * run from its journal, and what the steps cost that follow.
 */
async function long({ url, steps }) {
  const first = await openEngine({ url })
  const warm = await first.start(definitions.long, { steps: 1_000, more: 0 })
  await waiting(warm)
  marks.keep = true
  const run = await first.start(definitions.long, { steps, more: MORE })
  await waiting(run)
  const hot = marks.at.splice(0)
  await first.close()
  const second = await openEngine({ url })
  const from = performance.now()
  await second.signal(run.id, 'go')
  await second.handle(definitions.long, run.id).result()
  const [early, late, cold] = [stepMs(hot, 10), stepMs(hot, steps - 201), stepMs(marks.at, 5)]
  return {
    msPerStep: (hot.at(-1) - hot[0]) / (steps - 1),
    hotRatio: late / early,
    coldRatio: cold / early,
    coldMs: marks.at[0] - from,
  }
}

async function waiting(run) {
  await until(async () => (await run.status()) === 'waiting')
}

/** Bytes that each waiting run costs the process that brought it there. */
async function memory({ url, runs }) {
  const engine = await openEngine({ url })
  // Code, pools and the heap's own room for work are there before it counts.
  for (let i = 0; i < WARM_RUNS; i += CHUNK) await finish(engine, CHUNK)
  await wait(engine, 1)
  const before = await measured()
  await wait(engine, runs)
  const after = await measured()
  return { rss: (after.rss - before.rss) / runs, heap: (after.heap - before.heap) / runs }
}

/** Runs that end, so that nothing of them is kept. */
async function finish(engine, runs) {
  const input = { steps: 1, payload: PAYLOAD }
  const items = Array.from({ length: runs }, () => ({ input }))
  const all = await engine.startMany(definitions.chain, items)
  await Promise.all(all.map((run) => run.result()))
}

async function wait(engine, runs) {
  const all = counts.waiting + runs
  for (let left = runs; left > 0; left -= CHUNK) {
    const items = Array.from({ length: Math.min(CHUNK, left) }, () => ({ input: undefined }))
    await engine.startMany(definitions.waiter, items)
  }
  await until(() => counts.waiting >= all)
  await until(async () => (await engine.list({ status: 'running', limit: 1 })).items.length === 0)
}

async function measured() {
  for (let i = 0; i < 5; i += 1) {
    await sleep(300)
    global.gc()
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, heap: heapUsed + external }
}

/**
 * This process only starts runs, and keeps `pending` of them unfinished; `workers` other processes take them, each run
 * one queue-based step. Steps per second, and the share of the busiest worker.
 */
async function queue({ url, pending, workers, seconds, warmSeconds }) {
  const engine = await openEngine({ url, worker: false })
  let started = 0
  const feed = async (count) => {
    started += count
    const items = Array.from({ length: count }, () => ({ input: undefined }))
    await engine.startMany(definitions.queued, items)
  }
  while (started < pending) await feed(Math.min(CHUNK, pending - started))
  const done = Array.from({ length: workers }, () => 0)
  const total = () => done.reduce((sum, count) => sum + count, 0)
  for (let i = 0; i < workers; i += 1) {
    const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)))
    child.send({ system: 'perdure', workload: 'queueWorker', options: { url } })
    child.on('message', ({ count }) => {
      done[i] = count
    })
  }
  await until(() => done.every((count) => count > 0))
  const feedFor = async (ms) => {
    const end = performance.now() + ms
    while (performance.now() < end) {
      const missing = pending - (started - total())
      if (missing >= 100) await feed(Math.min(CHUNK, missing))
      else await sleep(5)
    }
  }
  await feedFor(warmSeconds * 1000)
  const [before, from] = [[...done], performance.now()]
  await feedFor(seconds * 1000)
  const counted = done.map((count, i) => count - before[i])
  const steps = counted.reduce((sum, count) => sum + count, 0)
  const ms = performance.now() - from
  return { perSecond: (steps * 1000) / ms, busiest: Math.max(...counted) / steps }
}

async function queueWorker({ url }) {
  await openEngine({ url, worker: { concurrency: PLACES } })
  setInterval(() => process.send({ count: counts.steps }), 10)
  await new Promise(() => {}) // until the parent is gone
}
