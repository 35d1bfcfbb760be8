import { expect, test } from 'vitest'
import type { Kernel } from '../../src/kernel/api.js'
import { type Counters, newCounters } from '../../src/kernel/counters.js'
import { createKernel } from '../../src/kernel/engine.js'
import type { Ports } from '../../src/kernel/ports.js'
import type { Store } from '../../src/kernel/store.js'
import type { RunId } from '../../src/model/ids.js'
import type { Program, StepOrder, Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { MemoryStore } from '../../src/store/memory.js'

const to = { workspace: 'default', id: 'order-1' as RunId }
const start = {
  ...to,
  definition: 'shop',
  version: null,
  input: '"input"',
  tags: {},
  priority: 5,
  delayMs: 0,
  timeoutMs: null,
}

/** A kernel whose time stands still unless it is moved, on a store whose commits can be held. */
class Bench {
  readonly memory = new MemoryStore({ now: () => this.now })
  readonly calls: string[] = []
  readonly said: string[] = []
  readonly counters: Counters = newCounters()
  private now = 1_700_000_000_000
  private timers: { at: number; callback: () => void }[] = []
  private held: (() => void)[] | null = null

  open(build: string, body: (turn: Turn) => Promise<string>): Promise<Kernel> {
    const program: Program = { name: 'shop', version: '1', style: 'function', body }
    return createKernel({
      store: this.store(),
      ports: this.ports(),
      programs: [program],
      worker: true,
      concurrency: 10,
      leaseMs: 30_000,
      pollMs: 1_000,
      build,
      framesMax: 0,
      closeGraceMs: 0,
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
    for (const release of held) release()
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
      new Promise((resolve) => {
        const apply = (): void => resolve(memory.commitNow(by, deltas, options))
        if (this.held) this.held.push(apply)
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
        bytes: (count) => new Uint8Array(count).fill(this.memory.runs.size),
        fraction: () => 0.5,
      },
      hints: { publish: () => {}, subscribe: () => () => {}, close: async () => {} },
      log: { debug: () => {}, info: () => {}, warn: say, error: say },
      fault: () => {},
    }
  }
}

async function idle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('a step starts when every outcome before it is stored, and not earlier', async () => {
  const bench = new Bench()
  const kernel = await bench.open('one', async (turn) => {
    const paid = await bench.step(turn, 'pay')
    await bench.step(turn, 'ship')
    return paid
  })
  await kernel.start(start)
  bench.holdCommits()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay'])
  await bench.pass(5_000)
  expect(bench.calls).toEqual(['pay'])
  bench.releaseCommits()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay', 'ship'])
  expect(bench.memory.find(to.workspace, to.id)?.status).toBe('completed')
  await kernel.close()
})

test('code that differs from the history parks the run before it starts anything', async () => {
  const bench = new Bench()
  const first = await bench.open('one', async (turn) => {
    await bench.step(turn, 'pay')
    await turn.sleep('a while', { afterMs: 60_000 })
    return '"paid"'
  })
  await first.start(start)
  await bench.pass(10)
  await first.close()
  expect(bench.calls).toEqual(['pay'])
  const second = await bench.open('two', async (turn) => {
    await bench.step(turn, 'pay')
    await bench.step(turn, 'refund')
    return '"refunded"'
  })
  await bench.pass(60_000)
  for (let i = 0; i < 10; i += 1) await bench.pass(1_000)
  expect(bench.calls).toEqual(['pay'])
  expect(bench.counters['run.diverged']).toBe(1)
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.status).toBe('waiting')
  expect(row?.reason).toBe('diverged')
  expect(bench.said.join('\n')).toContain(
    'At question 2 the history has sleep "a while", the code now asks step "refund" (inline).',
  )
  void second.close()
})
