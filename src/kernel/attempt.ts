// One attempt of one step: user code with a time limit, an AbortSignal and, if it asks for one, a transaction.
//
// Owns:      the attempt's abort controller, its timer and its open transaction.
// Talks to:  StepOrder.execute (user code), Store.open. Tells its frame once, by `attemptEnded`.
//
// Invariants
//   A1. The owner is told at most once. A late result of code that was given up has no effect.
//   A2. A failure is told only when its transaction is known to be rolled back, so the next attempt meets no
//       locks of this one.
//   A3. Once the closing of a transaction has begun the time limit is off: what is being stored is not undone.

import { encodeError, errorRecord } from '../model/error-record.js'
import { leaseLost, PerdureError, stepTimedOut } from '../model/errors.js'
import { shownName, type Uid } from '../model/ids.js'
import {
  type Attempt,
  type DocumentRow,
  type Effect,
  Failure,
  type Outside,
  type StepOrder,
  type Transaction,
} from '../model/program.js'
import type { Instant, RunFacts, Stored } from '../model/run.js'
import type { Running, StepAsk } from './asks.js'
import { runInside } from './inside.js'
import type { Meters } from './meters.js'
import type { Outgoing } from './outgoing.js'
import type { Clock, Ports } from './ports.js'
import { Published, type Publisher } from './publisher.js'
import { type StepTransaction, StoreUnavailable } from './store.js'

export type AttemptEnd =
  | {
      readonly kind: 'completed'
      readonly effect: Effect
      readonly transaction: StepTransaction | null
    }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Not the code's failure: it is executed again, and not counted. */
  | { readonly kind: 'again' }

export interface AttemptTimes {
  /** 1-based. */
  readonly number: number
  /** By the monotonic clock. */
  readonly startedAt: number
}

/** Who is told of the end, once. */
export interface AttemptOwner {
  readonly out: Outgoing
  readonly epoch: number
  /** It gives the run away: nothing new begins. */
  readonly handingOver: string | null
  /** The attempt waits for something to be stored. */
  pump(): void
  attemptEnded(ask: StepAsk, attempt: RunningAttempt, end: AttemptEnd): void
}

export interface AttemptDeps {
  readonly clock: Clock
  readonly now: () => Instant
  readonly fault: Ports['fault']
  /** The lease is not in doubt. */
  readonly mayStart: () => boolean
  readonly open: (limitMs: number) => Promise<StepTransaction>
  readonly outside: () => Outside
  readonly documents: (uid: Uid) => Promise<readonly DocumentRow[]>
  readonly publisher: Publisher
  readonly meters: Meters
  /** One connection for everything. */
  readonly isSingle: boolean
  /** null: the code is called as it is. */
  readonly execute: ExecuteStep | null
}

/** One execution of a step's code. */
export interface Execution {
  readonly run: RunFacts
  readonly name: string
  readonly occurrence: number
  readonly order: StepOrder
  readonly attempt: Attempt
}

/** Stands at the one place from which the code of steps is called. */
export type ExecuteStep = (execution: Execution) => Promise<Effect>

/** Database answers that mean: the same transaction again may succeed. */
const AGAIN = new Set(['40001', '40P01'])
const OPEN_AGAIN_MS = 100

export class RunningAttempt implements AttemptTimes, Running, Attempt {
  readonly number: number
  readonly startedAt: number
  private readonly run: RunFacts
  private readonly ask: StepAsk
  private readonly deps: AttemptDeps
  private readonly owner: AttemptOwner
  private controller: AbortController | null = null
  private abortReason: Error | null = null
  private offTimer: (() => void) | null = null
  private opened: StepTransaction | null = null
  private published: Published | null = null
  private hasPublished = false
  /** From the moment it asks for one. */
  hasTransaction = false
  private pastIsStored: (() => void) | null = null
  private over = false
  private isLeaving = false
  private conflict = false

  constructor(run: RunFacts, ask: StepAsk, deps: AttemptDeps, owner: AttemptOwner) {
    this.run = run
    this.ask = ask
    this.number = ask.attempts + 1
    this.deps = deps
    this.owner = owner
    this.startedAt = deps.clock.monotonic()
  }

  /** For people. */
  get shown(): string {
    return `"${this.step}" of run ${this.run.id}`
  }

  start(): void {
    this.limitTime()
    let executed: Promise<Effect>
    try {
      executed = this.execute()
    } catch (error) {
      executed = Promise.reject(error)
    }
    executed.then(
      (effect) => this.completed(effect),
      (error: unknown) => this.failed(error),
    )
  }

  private limitTime(): void {
    const { timeoutMs } = this.ask.order
    if (timeoutMs !== null)
      this.offTimer = this.deps.clock.after(timeoutMs, () => this.timeOut(timeoutMs))
  }

  private execute(): Promise<Effect> {
    const { execute } = this.deps
    const { name, occurrence, order } = this.ask
    if (execute === null) return order.execute(this)
    return execute({ run: this.run, name, occurrence, order, attempt: this })
  }

  /** Raises the AbortSignal; the code may still finish, and its result still counts. */
  abort(reason: Error): void {
    this.abortReason ??= reason
    this.controller?.abort(this.abortReason)
  }

  leave(reason: Error, graceMs: number): void {
    if (this.over || this.isLeaving) return
    this.isLeaving = true
    this.abort(reason)
    if (this.hasTransaction) return this.expire(reason)
    this.offTimer?.()
    this.offTimer = this.deps.clock.after(graceMs, () => this.expire(reason))
  }

  /** Takes away the right to write: whatever the code does now is not recorded. */
  giveUp(reason: Error = leaseLost(this.run.id)): void {
    this.abort(reason)
    if (this.over) return
    this.finish()
    void this.rollback()
  }

  // ── what user code sees of it (Attempt) ───────────────────────────────────────────────────────────────────

  get step(): string {
    return shownName(this.ask.name, this.ask.occurrence)
  }

  now(): Instant {
    return this.deps.now()
  }

  get idempotencyKey(): string {
    return `${this.run.uid}/${this.ask.occurrence}/${this.ask.name}`
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.abortReason) this.controller.abort(this.abortReason)
    }
    return this.controller.signal
  }

  get kept(): Stored | null {
    return this.ask.kept
  }

  private get isPastStored(): boolean {
    return this.owner.out.ackedSeq >= this.ask.afterSeq
  }

  past(): Promise<void> {
    if (this.isPastStored) return Promise.resolve()
    return new Promise((resolve) => {
      const before = this.pastIsStored
      this.pastIsStored = () => {
        before?.()
        resolve()
      }
      this.owner.pump()
    })
  }

  /** It began early, and does not wait: soon it ends. */
  get isEarly(): boolean {
    return this.pastIsStored === null && !this.isPastStored
  }

  /** Something was stored. */
  stored(): void {
    if (this.pastIsStored === null || !this.isPastStored) return
    this.pastIsStored()
    this.pastIsStored = null
  }

  publish(value: Stored): void {
    if (!this.over && !this.hasPublished) this.stream.add(value)
  }

  private get stream(): Published {
    const { run, number: attempt, step, owner } = this
    const of = { uid: run.uid, epoch: owner.epoch, step, attempt }
    const isHeld = this.hasTransaction && this.deps.isSingle
    this.published ??= new Published(of, this.deps.publisher, this.past(), isHeld)
    return this.published
  }

  documents(): Promise<readonly DocumentRow[]> {
    return this.untilAnswered(() => this.deps.documents(this.run.uid))
  }

  /** Each call has an id, so it can be made again. */
  get outside(): Outside {
    const { start, signal, cancel, look } = this.deps.outside()
    return {
      start: (...args) => this.untilAnswered(() => start(...args)),
      signal: (...args) => this.untilAnswered(() => signal(...args)),
      cancel: (...args) => this.untilAnswered(() => cancel(...args)),
      look: (...args) => this.untilAnswered(() => look(...args)),
    }
  }

  async transaction<T>(limitMs: number, work: (sql: Transaction) => Promise<T>): Promise<T> {
    await this.past()
    this.hasTransaction = true
    if (this.deps.isSingle) await this.published?.hold()
    // A database that is away, or has no connection free, takes no time of the code's.
    this.offTimer?.()
    const transaction = await this.openTransaction(limitMs)
    if (this.over) {
      await transaction.rollback()
      throw leaseLost(this.run.id)
    }
    this.opened = transaction
    this.limitTime()
    // The process may have been stopped while it was opened: the code has not begun, and must not (L1 of the lease).
    this.conflict = !this.deps.mayStart()
    if (this.conflict) throw leaseLost(this.run.id)
    const openedAt = this.deps.clock.monotonic()
    let isLost = false
    const handle: Transaction = {
      query: async (sql, params) => {
        if (this.over) throw leaseLost(this.run.id)
        try {
          return await transaction.query(sql, params)
        } catch (error) {
          isLost ||= error instanceof StoreUnavailable
          throw error
        }
      },
    }
    try {
      const inside = (): Promise<T> => work(handle)
      return await runInside(() => transaction.inside?.(inside) ?? inside())
    } catch (error) {
      // A lost connection is not the code's failure, unless the code was idle until the server ended it.
      const isOutage = isLost && this.deps.clock.monotonic() - openedAt < limitMs
      this.conflict = isOutage || AGAIN.has(String((error as { code?: unknown } | null)?.code))
      throw error
    }
  }

  private openTransaction(limitMs: number): Promise<StepTransaction> {
    return this.untilAnswered(async () => {
      this.deps.fault('transaction.open')
      const transaction = await this.deps.open(limitMs)
      this.deps.fault('transaction.opened')
      return transaction
    })
  }

  /** A database that is away is waited for: that is nobody's failure. */
  private async untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
    await this.past()
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        const isAway =
          error instanceof StoreUnavailable || PerdureError.is(error, 'DATABASE_UNAVAILABLE')
        if (this.over || !isAway) throw error
        await new Promise<void>((resolve) => void this.deps.clock.after(OPEN_AGAIN_MS, resolve))
      }
    }
  }

  private timeOut(ms: number): void {
    const { order } = this.ask
    this.expire(order.timedOut?.(ms) ?? stepTimedOut(this.step, ms, this.run.id))
  }

  private expire(error: Error): void {
    if (this.over) return
    this.abort(error)
    this.finish()
    void Promise.all([this.rollback(), this.published?.end(undefined)]).then(() =>
      this.finished({ kind: 'failed', failure: new Failure(encodeError(error, 'a step')) }),
    )
  }

  /** U1 of the publisher. Storing takes no time of the code's. */
  private afterPublished(then: () => void): boolean {
    const { published, opened } = this
    if (published === null || this.hasPublished) return false
    this.hasPublished = true
    this.offTimer?.()
    const inside = opened?.inside?.bind(opened)
    published.end(inside).then(then, then)
    return true
  }

  private completed(effect: Effect): void {
    if (this.over || this.afterPublished(() => this.completed(effect))) return
    this.finish()
    this.finished({ kind: 'completed', effect, transaction: this.opened })
  }

  private failed(error: unknown): void {
    if (this.over || this.afterPublished(() => this.failed(error))) return
    this.finish()
    void this.rollback().then(() => {
      if (this.conflict || this.isOfDoubt) return this.finished({ kind: 'again' })
      const failure =
        error instanceof Failure
          ? error
          : new Failure(encodeError(error, `step "${this.ask.name}"`))
      return this.finished(
        this.isOfLeaving(failure) ? { kind: 'again' } : { kind: 'failed', failure },
      )
    })
  }

  /** We told it to stop because the lease seemed lost, and it was not: nobody's failure. */
  private get isOfDoubt(): boolean {
    return PerdureError.is(this.abortReason, 'LEASE_LOST')
  }

  /** The owner leaves, and its code was refused for that: nobody's failure, and it is done elsewhere. */
  private isOfLeaving({ error }: Failure): boolean {
    return this.owner.handingOver !== null && errorRecord(error).code === 'ENGINE_CLOSED'
  }

  private finished(end: AttemptEnd): void {
    const ms = this.deps.clock.monotonic() - this.startedAt
    this.deps.meters.step(this.run.definition, end.kind, ms)
    this.owner.attemptEnded(this.ask, this, end)
  }

  private finish(): void {
    this.over = true
    this.offTimer?.()
  }

  private async rollback(): Promise<void> {
    if (!this.opened) return
    try {
      this.deps.fault('rollback.before')
      await this.opened.rollback()
      this.deps.fault('rollback.after')
    } catch {
      // The connection is gone, and with it the transaction.
    }
  }
}
