// A simulated world: one store, a few processes, a database clock, and what goes wrong with all of them.

import type { Kernel, KernelEvent } from '../../src/kernel/api.js'
import { type Counters, newCounters } from '../../src/kernel/counters.js'
import type { Defect } from '../../src/kernel/defects.js'
import { createKernel } from '../../src/kernel/engine.js'
import type { Hint, Ports } from '../../src/kernel/ports.js'
import type { WorkerHost } from '../../src/kernel/worker.js'
import type { Uid } from '../../src/model/ids.js'
import { type MemoryDefect, MemoryStore } from '../../src/store/memory.js'
import { countBatch, newBatches } from './batches.js'
import { type Change, FaultyStore, type Witness } from './faulty-store.js'
import { graphsProgram } from './graphs.js'
import { Watch } from './invariants.js'
import { limitsOf } from './limits.js'
import { counterProgram, opsProgram } from './machines.js'
import type { Aim, Faults, Options } from './options.js'
import { type Dispatch, flowProgram, type Stage, taskProgram } from './programs.js'
import { countChange, newRare } from './rare.js'
import { type Life, Scheduler } from './scheduler.js'

export interface Execution extends Dispatch {
  readonly life: string
  /** By the database's clock. */
  readonly at: number
}

/** Code of a step under way. */
export interface Running {
  readonly uid: string
  readonly name: string
  readonly signal: AbortSignal
  readonly life: Life
}

/** One life of one process. */
export interface Process {
  readonly slot: number
  readonly life: Life
  readonly store: FaultyStore
  readonly definitions: readonly string[]
  kernel: Kernel | null
  host: WorkerHost | null
  closing: boolean
}

export interface Switches {
  readonly defects?: ReadonlySet<Defect>
  readonly memoryDefects?: ReadonlySet<MemoryDefect>
  /** Half of the worlds have programs with scopes, races, loops and undo. */
  readonly scopes?: boolean
  /** The world as it was drawn, whatever it costs. */
  readonly whole?: boolean
  /** Instead of what the seed says. */
  readonly aim?: Aim
  readonly cuts?: Cuts
}

/** What is left of a world that is made smaller, by the numbers of its faults and of its callers' plans; null: all. */
export interface Cuts {
  readonly faults: ReadonlySet<number> | null
  readonly plans: ReadonlySet<number> | null
}

/** A fault that a world has drawn, whether it was left in it or not. */
export interface Struck {
  readonly kind: keyof Faults
  readonly at: number
}

const BASE_AT = 1_700_000_000_000
const BEHIND_MAX_MS = 4_000
const NO_FAULTS: Faults = {
  notApplied: 0,
  replyLost: 0,
  late: 0,
  slow: 0,
  busy: 0,
  hintsLost: 0,
  hintsDoubled: 0,
  poison: 0,
  bombs: 0,
  faultPoints: 0,
  crashes: 0,
  pauses: 0,
  clockJumps: 0,
  outages: 0,
}

export class World implements Witness {
  readonly options: Options
  readonly scheduler: Scheduler
  readonly memory: MemoryStore
  readonly watch: Watch
  readonly counters: Counters = newCounters()
  readonly batches = newBatches()
  readonly rare = newRare()
  readonly executions: Execution[] = []
  /** Steps with an undo whose code has come to its end. */
  readonly done: Dispatch[] = []
  readonly running = new Set<Running>()
  readonly processes: Process[] = []
  /** Entries that some listener has heard, as `uid:seq`. */
  readonly heard = new Set<string>()
  readonly struck: Struck[] = []
  awayUntil = 0
  healed = false
  private readonly switches: Switches
  private readonly subscribers = new Map<Life, (hint: Hint) => boolean>()
  private dbOffset = 0
  /** What the database's clock has shown before it was set back. */
  private latest = 0
  private freshest = 0
  private lives = 0
  private explosions = 0

  constructor(options: Options, switches: Switches = {}) {
    this.options = options
    this.switches = switches
    this.scheduler = new Scheduler(options.seed)
    this.scheduler.spinsMax += options.races + 4 * options.machines
    this.memory = new MemoryStore({
      now: () => this.dbNow(),
      mailboxMax: options.mailboxMax,
      ...(switches.memoryDefects ? { defects: switches.memoryDefects } : {}),
    })
    this.watch = new Watch(this)
  }

  dbNow(): number {
    return BASE_AT + Math.floor(this.scheduler.now) + this.dbOffset
  }

  faults(): Faults {
    return this.healed ? NO_FAULTS : this.options.faults
  }

  /** Chance decides whether this goes wrong now. */
  strikes(kind: keyof Faults): boolean {
    return this.scheduler.rng.chance(this.faults()[kind]) && this.mayStrike(kind)
  }

  /** A fault has its number whether it is left in this world or not. */
  mayStrike(kind: keyof Faults): boolean {
    const kept = this.switches.cuts?.faults ?? null
    this.struck.push({ kind, at: this.scheduler.now })
    return kept === null || kept.has(this.struck.length - 1)
  }

  /** Whether the callers still do this one of their plans. */
  mayPlan(plan: number): boolean {
    return this.switches.cuts?.plans?.has(plan) ?? true
  }

  changed(change: Change): void {
    if (change.method === 'commit') countBatch(this.batches, change.deltas, this.memory)
    countChange(this, change)
    this.watch.changed(change)
  }

  jumpClock(ms: number): void {
    this.latest = Math.max(this.latest, this.dbNow())
    this.dbOffset += ms
    this.scheduler.note(`the database's clock jumps by ${ms}`)
  }

  // ── processes ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Living processes with a kernel that takes calls. */
  get open(): readonly Process[] {
    return this.processes.filter((p) => p.life.alive && p.kernel !== null && !p.closing)
  }

  /** In worlds that are split, of each half of the workers. */
  private get definitions(): readonly [readonly string[], readonly string[]] {
    if (this.options.machines === 0) return [['flow'], ['task']]
    return [
      ['flow', 'machine', 'graph'],
      ['task', 'counter'],
    ]
  }

  boot(slot: number): void {
    this.lives += 1
    const life: Life = { name: `w${slot}.${this.lives}`, alive: true, heldUntil: 0 }
    const split = this.options.split && !this.healed
    const definitions = split ? this.definitions[slot % 2 === 0 ? 0 : 1] : this.definitions.flat()
    const store = new FaultyStore(this, life)
    const process: Process = {
      slot,
      life,
      store,
      definitions,
      kernel: null,
      host: null,
      closing: false,
    }
    this.processes.push(process)
    const stage = this.stage(process)
    const programs = [flowProgram(stage), taskProgram(stage)]
    if (this.options.machines > 0) {
      programs.push(opsProgram(stage), counterProgram(stage), graphsProgram(stage))
    }
    const limits = limitsOf(this.options)
    const { concurrency, framesMax, leaseMs, pollMs, patience } = this.options
    createKernel({
      store,
      ports: this.ports(process),
      programs: programs
        .filter((program) => definitions.includes(program.name))
        .map((program) => ({ ...program, limits })),
      worker: true,
      concurrency,
      framesMax,
      leaseMs,
      pollMs: pollMs * patience,
      build: life.name,
      closeGraceMs: 1_000,
      counters: this.counters,
      ...(this.switches.defects ? { defects: this.switches.defects } : {}),
    }).then(
      (kernel) => {
        process.kernel = kernel
        process.host = (kernel as unknown as { readonly host: WorkerHost }).host
        kernel.on((event) => this.hear(process, event))
        this.completeCode(process)
      },
      () => {
        this.end(process)
        this.bootLater(slot, 200)
      },
    )
  }

  bootLater(slot: number, ms: number): void {
    this.scheduler.after(null, ms, `boot ${slot}`, () => this.boot(slot))
  }

  crash(process: Process): void {
    if (!process.life.alive) return
    this.scheduler.note(`${process.life.name} crashes`)
    this.end(process)
    this.bootLater(process.slot, this.scheduler.rng.pick([50, 500, 4_000]))
  }

  pause(process: Process, ms: number): void {
    this.scheduler.note(`${process.life.name} pauses for ${ms}`)
    // A second pause never shortens the first.
    process.life.heldUntil = Math.max(process.life.heldUntil, this.scheduler.now + ms)
  }

  /** Gracefully; another process takes its place. */
  close(process: Process): void {
    const { kernel } = process
    if (!kernel || process.closing || !process.life.alive) return
    process.closing = true
    this.scheduler.note(`${process.life.name} closes`)
    const failed = (error: unknown): void =>
      this.scheduler.fail('exception', `${process.life.name} did not close: ${error}`)
    kernel.close().then(() => {
      this.watch.closed(process)
      // What it still does is seen for a while: it must be nothing.
      this.scheduler.after(null, 1_000, `${process.life.name} exits`, () => this.end(process))
      this.bootLater(process.slot, this.scheduler.rng.pick([1, 300]))
    }, failed)
  }

  heal(): void {
    this.healed = true
    this.awayUntil = 0
    // A clock that was set back is put right, but for a little: nobody has to wait for a minute.
    const behindMs = this.latest - this.dbNow()
    if (behindMs > BEHIND_MAX_MS) this.jumpClock(behindMs - BEHIND_MAX_MS)
    for (const process of this.open) this.completeCode(process)
  }

  /** Once healed, every process has all the code. */
  private completeCode(process: Process): void {
    const isPart = process.definitions.length < this.definitions.flat().length
    if (this.healed && isPart) this.close(process)
  }

  private end(process: Process): void {
    process.life.alive = false
    this.subscribers.delete(process.life)
  }

  // ── what a process is given ───────────────────────────────────────────────────────────────────────────────

  private ports(process: Process): Ports {
    const { life } = process
    const { scheduler } = this
    const { rng } = scheduler
    const base = rng.int(1_000_000)
    const { drift } = this.options
    const rate = 1 + (rng.fraction() * 2 - 1) * drift
    const silent = (): void => {}
    const note = (message: string): void => scheduler.note(`${life.name} says: ${message}`)
    return {
      clock: {
        monotonic: () => base + scheduler.now * rate,
        after: (ms, callback) => {
          if (!life.alive) return () => {}
          return scheduler.after(life, Math.max(0, ms / rate), `timer ${Math.round(ms)}`, callback)
        },
      },
      quiet: { next: (callback) => void scheduler.after(life, 0, 'quiet', callback) },
      random: {
        bytes: (count) => Uint8Array.from({ length: count }, () => rng.int(256)),
        fraction: () => rng.fraction(),
      },
      hints: {
        publish: (hint) => life.alive && this.publish(hint),
        subscribe: (listener) => {
          this.subscribers.set(life, listener)
          return () => this.subscribers.delete(life)
        },
        close: async () => {},
      },
      log: { debug: silent, info: silent, warn: note, error: note },
      fault: () => {
        if (this.strikes('faultPoints')) this.crash(process)
      },
    }
  }

  private publish(hint: Hint): void {
    const { rng } = this.scheduler
    for (const [life, listener] of this.subscribers) {
      if (this.strikes('hintsLost')) continue
      const times = this.strikes('hintsDoubled') ? 2 : 1
      for (let i = 0; i < times; i += 1) {
        const delay = this.strikes('slow') ? 1_000 : rng.int(3)
        this.scheduler.after(life, delay, `hint ${hint.kind}`, () => listener(hint))
      }
    }
  }

  private stage(process: Process): Stage {
    const { life } = process
    return {
      dispatched: (dispatch, signal) => {
        if (!life.alive) return () => {}
        this.executions.push({ ...dispatch, life: life.name, at: this.dbNow() })
        this.watch.dispatched(process, dispatch)
        const { uid, name } = dispatch
        const running = { uid, name, signal, life }
        this.running.add(running)
        return () => this.running.delete(running)
      },
      work: (ms, signal) =>
        new Promise((resolve, reject) => {
          const off = this.scheduler.after(life, ms, 'work', resolve)
          signal?.addEventListener('abort', () => {
            off()
            reject(signal.reason)
          })
        }),
      explode: () => {
        this.explosions += 1
        if (this.explosions > 12) return Promise.reject(new Error('a bomb that was defused'))
        this.crash(process)
        return new Promise(() => {})
      },
      did: (what) => {
        if (life.alive) this.done.push(what)
      },
      fresh: () => {
        this.freshest += 1
        return this.freshest
      },
    }
  }

  private hear(process: Process, event: KernelEvent): void {
    if (!process.life.alive || event.kind !== 'entry') return
    this.heard.add(event.id)
    this.watch.heard(event.run.uid as Uid, event.entry)
  }
}
