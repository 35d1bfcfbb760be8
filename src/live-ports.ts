// The outside as it really is: clock, randomness, the turn of the event loop.

import { randomBytes } from 'node:crypto'
import type { Clock, Hints, Log, Ports, Quiet, Random, Telemetry } from './kernel/ports.js'
import { TIMER_MAX_MS } from './model/limits.js'

type Environment = Readonly<Record<string, string | undefined>>

export async function openLivePorts(
  hints: Hints,
  log: Log,
  env: Environment = process.env,
  telemetry: Telemetry | null = null,
): Promise<Ports> {
  const testing = env.PERDURE_FAULT || env.PERDURE_FAULT_COUNT
  const fault = testing ? (await import('./live-faults.js')).makeFault(env) : () => {}
  return { clock, quiet: makeQuiet(), random, hints, log, fault, telemetry }
}

const clock: Clock = {
  monotonic: () => performance.now(),
  // Not unref'd: with an embedded database nothing else keeps a worker's process alive. close() calls them off.
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), TIMER_MAX_MS))
    return () => clearTimeout(timer)
  },
}

/** One setImmediate for all that was asked in one task: it is asked once per delivered outcome. */
export function makeQuiet(schedule: (flush: () => void) => void = setImmediate): Quiet {
  let waiting: (() => void)[] = []
  const flush = (): void => {
    const due = waiting
    waiting = []
    let next = 0
    try {
      for (; next < due.length; next += 1) due[next]?.()
    } finally {
      // One that threw takes none of the others with it.
      for (const left of due.slice(next + 1)) quiet.next(left)
    }
  }
  const quiet: Quiet = {
    next: (callback) => {
      if (waiting.push(callback) === 1) schedule(flush)
    },
  }
  return quiet
}

const POOL_BYTES = 8_192
let pool = randomBytes(POOL_BYTES)
let used = 0

const random: Random = {
  // Ten bytes for every run and message: one call of the system for hundreds of them.
  bytes: (count) => {
    if (used + count > pool.length) {
      pool = randomBytes(Math.max(POOL_BYTES, count))
      used = 0
    }
    used += count
    return pool.subarray(used - count, used)
  },
  fraction: () => Math.random(),
}
