// W1 to W6, the same lines for every system. A system is what an adapter's open() gives: start(kind, input) resolves
// to a handle with result() and, for a waiter, signal(payload). The kinds:
//
//   chain    { steps, payload }: that many steps, one after the other, each gives the payload
//   sleeper  { key }: a sleep of NAP_MS, then a step that gives the milliseconds it is late
//   waiter   a step, then waits for a signal and gives its payload

import { setTimeout as sleep } from 'node:timers/promises'
import { counts, marks, PAYLOAD } from './user-code.mjs'

const LATENCY_WARM = 20
const WARM_WIDTH = 100
const STRETCH = 200

export const workloads = {
  w1: (system, load) => throughput(system, { ...load, steps: 1 }),
  w2: (system, load) => throughput(system, { ...load, steps: 10 }),
  w3: idleLatency,
  w4: sleepers,
  w5: signals,
  w6: longRun,
}

/** Starts for `seconds` with `width` runs open at a time, then lets all of them end. */
async function throughput(system, { steps, width, seconds, warmSeconds }) {
  await chains(system, { steps, width: Math.min(width, WARM_WIDTH), isOver: warm(warmSeconds) })
  return chains(system, { steps, width, isOver: after(seconds) })
}

export async function chains(system, { steps, width, isOver }) {
  let runs = 0
  const from = performance.now()
  const lane = async () => {
    while (!isOver()) {
      const run = await system.start('chain', { steps, payload: PAYLOAD })
      await run.result()
      runs += 1
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
  return rates({ runs, steps, ms: performance.now() - from })
}

export function after(seconds) {
  const until = performance.now() + seconds * 1000
  return () => performance.now() >= until
}

/** W11: as many nodes between the first and the last, or in a chain. */
export const WIDTH = 50
export const CHAIN = 10
/** W11: runs open at a time. */
const OPEN = 200

/** W11: how many end per second. */
export async function perSecond(start, seconds) {
  const isOver = after(seconds)
  let ended = 0
  const from = performance.now()
  const lane = async () => {
    while (!isOver()) {
      await (await start()).result()
      ended += 1
    }
  }
  await Promise.all(Array.from({ length: OPEN }, lane))
  return (ended * 1000) / (performance.now() - from)
}

/** By the time the process has worked: on a busy machine seconds go by and nothing has become warm. */
export function warm(seconds) {
  const before = process.cpuUsage()
  const isLate = after(seconds * 4)
  return () => {
    const { user, system } = process.cpuUsage(before)
    return user + system >= seconds * 1e6 || isLate()
  }
}

/** Of the unit the workload counts: workflows of one step, or steps. */
export function rates({ runs, steps, ms }) {
  return { perSecond: (runs * steps * 1000) / ms, runs }
}

/** One run at a time on an idle system: milliseconds from start to result. */
async function idleLatency(system, { runs, seconds }) {
  return latency(
    async () => {
      const run = await system.start('chain', { steps: 1, payload: PAYLOAD })
      await run.result()
    },
    { runs, seconds },
  )
}

export async function latency(once, { runs, seconds }) {
  const times = []
  const until = performance.now() + seconds * 1000
  for (let i = 0; i < runs + LATENCY_WARM; i += 1) {
    const from = performance.now()
    await once()
    if (i >= LATENCY_WARM || performance.now() > until) times.push(performance.now() - from)
    if (performance.now() > until) break
  }
  return spread(times)
}

/** Starts are spread over one second; how late each wakes is measured inside the run. */
async function sleepers(system, { runs }) {
  const nap = async (i) => {
    await sleep(Math.max(0, (i * 1000) / runs))
    const run = await system.start('sleeper', { key: i })
    return run.result()
  }
  await nap(-1) // once unmeasured
  return spread(await Promise.all(Array.from({ length: runs }, (_, i) => nap(i))))
}

/** All runs wait, then all are signalled at once: completions per second. */
async function signals(system, { runs }) {
  const handles = await inLanes(100, runs, () => system.start('waiter', null))
  await until(() => counts.waiting >= runs)
  await sleep(1_000) // what follows the last step before the wait
  const from = performance.now()
  await Promise.all(
    handles.map(async (run) => {
      await run.signal(PAYLOAD)
      await run.result()
    }),
  )
  return { perSecond: (runs * 1000) / (performance.now() - from) }
}

/** One run of many steps: milliseconds per step over all of them. The first 100 steps of a short one warm it. */
async function longRun(system, { steps }) {
  const warm = await system.start('chain', { steps: 100, payload: PAYLOAD })
  await warm.result()
  marks.keep = true
  const run = await system.start('chain', { steps, payload: PAYLOAD })
  await run.result()
  return { msPerStep: (marks.at.at(-1) - marks.at[0]) / (steps - 1) }
}

/** The median step of the 200 that follow step `from`: the disk has its moods. */
export function stepMs(at, from) {
  const steps = at.slice(from, from + STRETCH + 1)
  return median(steps.slice(1).map((time, i) => time - steps[i]))
}

export async function inLanes(width, total, once) {
  const results = []
  let next = 0
  const lane = async () => {
    while (next < total) {
      next += 1
      results.push(await once())
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
  return results
}

export async function until(met) {
  while (!(await met())) await sleep(20)
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p99: at(0.99) }
}
