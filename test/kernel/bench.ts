// A kernel whose time stands still unless it is moved, on a store whose commits can be held.

import type { Kernel, KernelOptions } from '../../src/kernel/api.js'
import { type Counters, newCounters } from '../../src/kernel/counters.js'
import { createKernel } from '../../src/kernel/engine.js'
import type { Hint, Ports } from '../../src/kernel/ports.js'
import { type Answer, type Delta, type Store, StoreRefused } from '../../src/kernel/store.js'
import type { RunId } from '../../src/model/ids.js'
import type { Program, StepOrder, Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { MemoryStore } from '../../src/store/memory.js'

export const to = { workspace: 'default', id: 'order-1' as RunId }
export const start = {
  ...to,
  definition: 'shop',
  version: null,
  input: '"input"',
  tags: {},
  priority: 5,
  delayMs: 0,
  timeoutMs: null,
}

export class Bench {
  readonly memory = new MemoryStore({ now: () => this.now })
  readonly calls: string[] = []
  readonly said: string[] = []
  readonly counters: Counters = newCounters()
  private now = 1_700_000_000_000
  private timers: { at: number; callback: () => void }[] = []
  private readonly listeners = new Set<(hint: Hint) => unknown>()
  private opened = 0
  /** Says what the database answers to these, without asking it; null: it is asked. */
  answers: ((deltas: readonly Delta[]) => readonly Answer[] | null) | null = null
  /** How many entries each turn that was stored had. */
  readonly turnEntries: number[] = []
  private held: { apply(): void; refuse(): void }[] | null = null

  open(build: string, body: (turn: Turn) => Promise<string>, closeGraceMs = 0): Promise<Kernel> {
    const program: Program = { name: 'shop', version: '1', style: 'function', body }
    return this.openProgram(program, { build, closeGraceMs })
  }

  openProgram(
    program: Program,
    options: Pick<KernelOptions, 'build' | 'closeGraceMs' | 'execute'> &
      Partial<Pick<KernelOptions, 'programs'>>,
  ): Promise<Kernel> {
    return createKernel({
      store: this.store(),
      ports: this.ports(),
      programs: [program],
      worker: true,
      concurrency: 10,
      leaseMs: 30_000,
      pollMs: 1_000,
      framesMax: 10,
      ...options,
      counters: this.counters,
    })
  }

  step(turn: Turn, name: string): Promise<string> {
    const execute: StepOrder['execute'] = async () => {
      this.calls.push(name)
      return { value: `"${name}"` }
    }
    return turn.step(name, { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute })
  }

  holdCommits(): void {
    this.held = []
  }

  releaseCommits(): void {
    const held = this.held ?? []
    this.held = null
    for (const { apply } of held) apply()
  }

  /** The database cannot store what the held commits say. */
  refuseCommits(): void {
    const held = this.held ?? []
    this.held = null
    for (const { refuse } of held) refuse()
  }

  /** Moves the time and lets everything happen that can. */
  async pass(ms: number): Promise<void> {
    await idle()
    this.now += ms
    const due = this.timers.filter(({ at }) => at <= this.now)
    this.timers = this.timers.filter(({ at }) => at > this.now)
    for (const { callback } of due) callback()
    await idle()
  }

  private store(): Store {
    const { memory } = this
    const commit: Store['commit'] = (by, deltas, options) =>
      new Promise((resolve, reject) => {
        const apply = (): void => {
          const answers = this.answers?.(deltas) ?? null
          for (const one of deltas)
            if (one.kind === 'turn') this.turnEntries.push(one.entries.length)
          if (answers === null) return resolve(memory.commitNow(by, deltas, options))
          resolve({ now: this.now, answers, claimed: [], feedId: null, isAsking: false })
        }
        const refuse = (): void => reject(new StoreRefused('unstorable', '22P05'))
        if (this.held) this.held.push({ apply, refuse })
        else apply()
      })
    return new Proxy(memory, {
      get: (target, key: keyof MemoryStore) => {
        if (key === 'commit') return commit
        const value: unknown = target[key]
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  private ports(): Ports {
    const say = (message: string): void => void this.said.push(message)
    this.opened += 1
    const number = this.opened
    return {
      clock: {
        monotonic: () => this.now,
        after: (ms, callback) => {
          const timer = { at: this.now + ms, callback }
          this.timers.push(timer)
          return () => {
            this.timers = this.timers.filter((other) => other !== timer)
          }
        },
      },
      quiet: { next: (callback) => void setImmediate(callback) },
      random: {
        bytes: (count) => new Uint8Array(count).fill(this.memory.runs.size).fill(number, 0, 1),
        fraction: () => 0.5,
      },
      hints: {
        publish: (hint) => {
          for (const hear of this.listeners) hear(hint)
        },
        subscribe: (hear) => {
          this.listeners.add(hear)
          return () => this.listeners.delete(hear)
        },
        close: async () => {},
      },
      log: { debug: () => {}, info: () => {}, warn: say, error: say },
      fault: () => {},
    }
  }
}

async function idle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
}
