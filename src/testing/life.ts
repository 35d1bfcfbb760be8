// One life of the engine: what a process is until it is killed. When it is over nothing that it began is heard of
// any more: no callback, no answer of the database, no statement. User code that still runs cannot be stopped, but
// what it returns goes nowhere.

import type { Execution } from '../kernel/attempt.js'
import type { KernelHost } from '../kernel/engine.js'
import type { Hint, Log, Ports, Random, Telemetry } from '../kernel/ports.js'
import type { StepTransaction } from '../kernel/store.js'
import { makeQuiet } from '../live-ports.js'
import type { Owner, TestClock } from './test-clock.js'

/** Taken when this is loaded: a test may replace the global ones. */
const { setImmediate: immediate, clearImmediate: noImmediate } = globalThis

export const OVER = Symbol('this life is over')

export interface PortsGiven {
  readonly clock: TestClock
  readonly random: Random
  readonly log: Log
  readonly telemetry?: Telemetry | null
}

export class Life implements Owner {
  alive = true
  kernel: KernelHost | null = null
  /** Questions to the database and callbacks of this moment that are under way. */
  pending = 0
  /** Grows with everything that happens. */
  moves = 0
  /** How many runs it has claimed. */
  claimed = 0
  /** User code under way. */
  readonly running = new Set<Execution>()
  /** Code that settle() has lost patience with: it goes on with time only. */
  readonly slow = new Set<Execution>()
  readonly transactions = new Set<StepTransaction>()
  readonly over: Promise<typeof OVER>
  private readonly hinted = new Set<(hint: Hint) => boolean>()
  private readonly end: () => void

  constructor() {
    let end = (): void => {}
    this.over = new Promise((resolve) => {
      end = () => resolve(OVER)
    })
    this.end = end
  }

  /** Resolves when the database has given up what was open. */
  async die(): Promise<void> {
    this.alive = false
    this.end()
    await Promise.all([...this.transactions].map((open) => open.rollback().catch(() => {})))
  }

  soon(callback: () => void): () => void {
    let isDone = false
    const done = (): boolean => {
      if (isDone) return false
      isDone = true
      this.pending -= 1
      this.moves += 1
      return true
    }
    this.pending += 1
    const handle = immediate(() => {
      if (done() && this.alive) callback()
    })
    return () => {
      if (done()) noImmediate(handle)
    }
  }

  /** What the work gives, as long as this life lasts; then nothing, ever. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    if (!this.alive) return never()
    this.pending += 1
    try {
      return await work()
    } finally {
      this.pending -= 1
      this.moves += 1
      if (!this.alive) await never()
    }
  }

  /** Something may be due: what the poll of a live engine finds about once a second. */
  poke(): void {
    for (const listener of this.hinted) listener({ kind: 'due', definition: null })
  }

  portsOf({ clock, random, log, telemetry }: PortsGiven): Ports {
    const quiet = makeQuiet((flush) => void this.soon(flush))
    return {
      clock: clock.clockOf(this),
      quiet,
      random,
      log,
      fault: () => {},
      telemetry: telemetry ?? null,
      hints: {
        publish: () => {},
        subscribe: (listener) => {
          this.hinted.add(listener)
          return () => this.hinted.delete(listener)
        },
        close: async () => {},
      },
    }
  }
}

export function never<T>(): Promise<T> {
  return new Promise(() => {})
}
