// The kernel of a test engine: one life after the other on the same database. Callers outlive a crash, as clients in
// another process would: what they have asked is asked again of the next life, under the same id.

import type {
  Address,
  Kernel,
  KernelEvent,
  KernelOptions,
  Measured,
  OperatingKernel,
  StartRequest,
  TriggerCall,
} from '../kernel/api.js'
import type { ExecuteStep } from '../kernel/attempt.js'
import { createKernel, type KernelHost } from '../kernel/engine.js'
import { readingFor } from '../kernel/reading.js'
import { definitionsFor, schedulingFor, streamsFor, webhooksFor } from '../kernel/scheduling.js'
import type {
  Called,
  DefinitionStore,
  RunReader,
  ScheduleStore,
  Settled,
  Store,
  StreamStore,
  WebhookStore,
} from '../kernel/store.js'
import { type MessageId, type RunId, type Uid, uuidv7 } from '../model/ids.js'
import type { Program } from '../model/program.js'
import { gatedStore, type Watcher } from './gated-store.js'
import { Life, OVER, type PortsGiven } from './life.js'

/** Leases, polls and upkeep never come by themselves: 100,000 years. */
const NEVER_MS = 100_000 * 365 * 24 * 60 * 60 * 1000

export interface LivesDeps extends PortsGiven {
  readonly watcher: Watcher
  execute(life: Life, isAside: boolean): ExecuteStep
  openStore(life: Life): Promise<Store>
  /** Whether a caller has not heard the answer, and asks the same again. */
  isAskedTwice(what: string): boolean
  /** A program as a test has changed it; left out: as it is. */
  stubbed?(program: Program): Program
  /** The engine is closed. */
  closed(): Promise<void>
}

export type Options = Omit<KernelOptions, 'ports'>
type Listener = (event: KernelEvent) => unknown
type Living = { readonly life: Life; readonly kernel: KernelHost }

export class Lives implements Kernel {
  readonly read: RunReader
  readonly schedules: ScheduleStore
  readonly definitions: DefinitionStore
  readonly webhooks: WebhookStore
  readonly streams: StreamStore
  private readonly deps: LivesDeps
  private readonly options: Options
  private readonly listeners = new Map<object, { readonly listener: Listener; off: () => void }>()
  /** Those of stateless runs: they have nothing that could go on after a crash, so they are spared. */
  private readonly asides = new Set<Life>()
  private readonly lives: Life[] = []
  private beginning = 0
  /** As every life learns it. */
  private learnt: readonly Program[]
  private current: Promise<Living>
  private closing: Promise<void> | null = null

  constructor(deps: LivesDeps, options: Options) {
    this.deps = deps
    this.options = options
    this.read = readingFor(options.store.read)
    this.schedules = schedulingFor(options.store)
    this.definitions = definitionsFor(options.store)
    this.learnt = options.learnt ?? []
    this.webhooks = webhooksFor(options.store)
    this.streams = streamsFor(options.store)
    this.current = this.begin(Promise.resolve())
  }

  // ── lives ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Those in which something can happen. */
  get living(): readonly Life[] {
    return [...this.lives.slice(-1), ...this.asides]
  }

  /** A life is about to begin. */
  get isBeginning(): boolean {
    return this.beginning > 0
  }

  /** How many runs were claimed, in all lives. */
  get claimed(): number {
    return [...this.lives, ...this.asides].reduce((sum, { claimed }) => sum + claimed, 0)
  }

  async begun(): Promise<void> {
    await this.current
  }

  async crash(): Promise<void> {
    const { life } = await this.current
    this.end(life)
    await this.current
  }

  /** Ends this life where it stands; the next one begins at once. */
  end(life: Life): void {
    if (!life.alive) return
    const buried = life.die()
    if (this.closing !== null || this.asides.has(life)) return
    this.current = this.begin(buried)
    this.current.catch(() => {})
  }

  /** Work of a life that is about to begin. */
  async beginningOf<T>(work: () => Promise<T>): Promise<T> {
    this.beginning += 1
    try {
      return await work()
    } finally {
      this.beginning -= 1
    }
  }

  /** A kernel of its own, for a stateless run. */
  async aside(options: Options): Promise<Kernel> {
    const life = new Life()
    this.asides.add(life)
    const kernel = await this.beginningOf(() => this.kernelOf(life, options, options.store))
    const close = kernel.close.bind(kernel)
    kernel.close = async () => {
      await close()
      await life.die()
      this.asides.delete(life)
    }
    return kernel
  }

  private begin(before: Promise<void>): Promise<Living> {
    const isFirst = this.lives.length === 0
    const life = new Life()
    this.lives.push(life)
    return this.beginningOf(async () => {
      await before
      const kernel = await Promise.race([this.boot(life, isFirst), life.over])
      // It has ended in its first moments: the next one is under way.
      return kernel === OVER ? this.current : { life, kernel }
    })
  }

  private async boot(life: Life, isFirst: boolean): Promise<KernelHost> {
    const store = await this.deps.openStore(life)
    const kernel = await this.kernelOf(life, { ...this.options, learnt: this.learnt }, store)
    for (const heard of this.listeners.values()) heard.off = kernel.on(heard.listener)
    // Frees what the last life had, and inherits what it has not told. A live engine does it within a second.
    if (!isFirst) await kernel.host.lease.look()
    return kernel
  }

  private async kernelOf(life: Life, options: Options, store: Store): Promise<KernelHost> {
    const { watcher, execute } = this.deps
    const isAside = this.asides.has(life)
    const kernel = await createKernel({
      ...options,
      store: gatedStore(store, life, isAside ? null : watcher),
      ports: life.portsOf(this.deps),
      execute: execute(life, isAside),
      pollMs: NEVER_MS,
      leaseMs: NEVER_MS,
      closeGraceMs: 0,
    })
    life.kernel = kernel
    return kernel
  }

  // ── the kernel of the engine ──────────────────────────────────────────────────────────────────────────────

  start(request: StartRequest): Promise<{ readonly uid: Uid; readonly id: RunId }> {
    const id = request.id ?? this.newId<RunId>()
    return this.sent('a start', (kernel) => kernel.start({ ...request, id }))
  }

  signal(to: Address, name: string, payload: string | null, id: MessageId | null): Promise<void> {
    const messageId = id ?? this.newId<MessageId>()
    const what = `signal "${name}"`
    return this.sent(what, (kernel) => kernel.signal(to, name, payload, messageId))
  }

  trigger(to: Address, call: TriggerCall): Promise<Called> {
    const id = call.id ?? this.newId<MessageId>()
    return this.sent(`trigger "${call.name}"`, (kernel) => kernel.trigger(to, { ...call, id }))
  }

  cancel(to: Address, reason: string, id: MessageId | null, force = false): Promise<void> {
    const messageId = id ?? this.newId<MessageId>()
    return this.sent('a cancel', (kernel) => kernel.cancel(to, reason, messageId, force))
  }

  /** A transaction of the caller's ends with the life that it was begun in. */
  readonly operations: OperatingKernel = {
    madeDue: () => void this.ask(async ({ operations }) => operations.madeDue()),
    start: (request, message, within) => {
      const id = request.id ?? this.newId<RunId>()
      const first = message && { ...message, id: message.id ?? this.newId<MessageId>() }
      return this.ask(({ operations }) => operations.start({ ...request, id }, first, within))
    },
    debounce: (request, key) => {
      const id = request.id ?? this.newId<RunId>()
      return this.ask(({ operations }) => operations.debounce({ ...request, id }, key))
    },
    startOnce: (request) => this.ask(({ operations }) => operations.startOnce(request)),
    lookWithin: (within, to) => this.ask(({ operations }) => operations.lookWithin(within, to)),
    signalWithin: (within, to, name, payload, id) =>
      this.ask(({ operations }) => operations.signalWithin(within, to, name, payload, id)),
    emit: (workspace, event, within) =>
      this.ask(({ operations }) => operations.emit(workspace, event, within)),
    transaction: (work) => this.ask(({ operations }) => operations.transaction(work)),
    pause: (to) => this.ask(({ operations }) => operations.pause(to)),
    resume: (to) => this.ask(({ operations }) => operations.resume(to)),
    fork: (to, order) => {
      const id = order.id ?? this.newId<RunId>()
      return this.ask(({ operations }) => operations.fork(to, { ...order, id }))
    },
  }

  async retry(to: Address, expectedAttempt: number | null): Promise<void> {
    const before = await this.read.get(to.workspace, to.id)
    let isAgain = false
    await this.ask(async (kernel) => {
      const view = isAgain ? await this.read.get(to.workspace, to.id) : before
      isAgain = true
      // The last life ended behind its commit.
      if (before && view && view.attempt > before.attempt) return
      await kernel.retry(to, expectedAttempt)
    })
  }

  result(to: Address, signal: AbortSignal | null): Promise<Settled> {
    return this.ask((kernel) => kernel.result(to, signal))
  }

  on(listener: Listener): () => void {
    const key = {}
    const kernel = this.lives.at(-1)?.kernel
    this.listeners.set(key, { listener, off: kernel?.on(listener) ?? (() => {}) })
    return () => {
      this.listeners.get(key)?.off()
      this.listeners.delete(key)
    }
  }

  async learn(programs: readonly Program[]): Promise<void> {
    this.learnt = programs.map((program) => this.deps.stubbed?.(program) ?? program)
    await this.ask((kernel) => kernel.learn(this.learnt))
  }

  /** By the life of this moment. */
  measured(): Promise<Measured> {
    return this.ask((kernel) => kernel.measured())
  }

  now(): number {
    return this.deps.clock.nowMs
  }

  close(): Promise<void> {
    this.closing ??= this.shut()
    return this.closing
  }

  private async shut(): Promise<void> {
    const { life, kernel } = await this.current
    await kernel.close()
    await life.die()
    await this.deps.closed()
  }

  /** Asks the life of this moment, and the next one if that ends before it has answered. */
  private async ask<T>(question: (kernel: Kernel) => Promise<T>): Promise<T> {
    for (;;) {
      const { life, kernel } = await this.current
      const answer = await Promise.race([question(kernel), life.over])
      if (answer !== OVER) return answer
    }
  }

  /** Asks under an id: once more changes nothing. */
  private async sent<T>(what: string, question: (kernel: Kernel) => Promise<T>): Promise<T> {
    const answer = await this.ask(question)
    return this.deps.isAskedTwice(what) ? this.ask(question) : answer
  }

  private newId<Id extends string>(): Id {
    const { clock, random } = this.deps
    return uuidv7(clock.nowMs, random.bytes(10)) as Id
  }
}
