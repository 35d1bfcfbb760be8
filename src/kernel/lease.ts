// Lease: this incarnation's sign of life, and the watch over the others'.
//
// Owns:      the worker row, the time of the last beat, what was last seen of other workers.
// Talks to:  Store.join, beat, reap. Tells its host what the database says about the runs it owns.
//
// Invariants
//   L1. When beats have failed for two thirds of the lease no new function starts; results are kept.
//   L2. The first thing after an outage is a beat: row still there, go on; row gone, this incarnation is over.
//   L3. Another worker is taken for dead only if its lease is over by the database's clock and its beat has not
//       moved for a third of the lease on our own.

import type { WorkerId } from '../model/ids.js'
import type { Instant } from '../model/run.js'
import type { Counters } from './counters.js'
import type { Ports } from './ports.js'
import type { FeedEntry, Owned, Store, Worker } from './store.js'

export interface LeaseDeps {
  readonly store: Store
  readonly ports: Ports
  readonly counters: Counters
  readonly leaseMs: number
  readonly pollMs: number
  newWorker(): Worker
  heard(now: Instant): void
  /** What the database says is ours, at every beat. */
  owned(owned: readonly Owned[]): void
  /** Our row is gone: others have our runs. */
  lost(): void
  /** The steps that began last, for people. */
  ranLast(): readonly string[]
  /** The lease is over by our own clock, and the database does not answer. */
  overdue(): void
  /** Certain again after doubt: what was held back may start. */
  certain(): void
  /** Somebody here would hear the events of dead workers. */
  listens(): boolean
  inherited(entries: readonly FeedEntry[], feedIds: readonly number[]): void
  /** Runs of dead workers are due again. */
  freed(): void
}

export class Lease {
  worker: Worker
  /** How many other workers have a row: hints are for them. */
  others = 0
  private readonly deps: LeaseDeps
  private readonly seen = new Map<WorkerId, { beat: number; since: number }>()
  private lastBeat = Number.NEGATIVE_INFINITY
  /** What its row says. */
  private declared: Worker['definitions'] = []
  private doubtful = false
  private overdue = false
  private closed = false
  private offTimer: (() => void) | null = null

  constructor(deps: LeaseDeps) {
    this.deps = deps
    this.worker = deps.newWorker()
  }

  /** L1 */
  get certain(): boolean {
    return this.deps.ports.clock.monotonic() - this.lastBeat < (this.deps.leaseMs * 2) / 3
  }

  async join(): Promise<void> {
    await this.register()
    this.arm()
  }

  private async register(): Promise<void> {
    const { store, ports } = this.deps
    const sentAt = ports.clock.monotonic()
    const { definitions } = this.worker
    // Before it has joined nothing is certain.
    this.lastBeat = Number.NEGATIVE_INFINITY
    ports.fault('join.before')
    const { now } = await store.join(this.worker)
    ports.fault('join.after')
    this.deps.heard(now)
    this.lastBeat = sentAt
    this.declared = definitions
  }

  /** It can execute more, or less, than its row says. */
  async declare(): Promise<void> {
    const { definitions } = this.worker
    if (definitions === this.declared) return
    try {
      await this.deps.store.declare(this.worker)
      this.declared = definitions
    } catch {
      // The database is away: the next beat tries again.
    }
  }

  close(): void {
    this.closed = true
    this.offTimer?.()
  }

  private get everyMs(): number {
    return Math.min(this.deps.pollMs, this.deps.leaseMs / 6)
  }

  private arm(): void {
    if (this.closed) return
    this.offTimer = this.deps.ports.clock.after(this.everyMs, () => void this.tick())
  }

  private async tick(): Promise<void> {
    await this.look()
    this.arm()
  }

  /** One beat and one look after the others; by itself this happens about once a second. */
  async look(): Promise<void> {
    try {
      await this.beat()
      await this.declare()
      await this.watch()
    } catch {
      // The database is away. Doubt grows with time (L1), and the next tick asks again.
    }
    this.notice()
  }

  private async beat(): Promise<void> {
    const { store, ports } = this.deps
    if (!this.certain && !this.doubtful) this.notice()
    const sentAt = ports.clock.monotonic()
    ports.fault('beat.before')
    const { alive, now, owned } = await store.beat(this.worker)
    ports.fault('beat.after')
    if (this.closed) return
    this.deps.heard(now)
    if (!alive) return this.reborn()
    // Doubt may have come while the answer was awaited: what was held back then is waiting for `certain`.
    this.notice()
    this.lastBeat = sentAt
    const wasInDoubt = this.doubtful
    this.doubtful = false
    this.overdue = false
    this.deps.owned(owned)
    if (wasInDoubt) this.deps.certain()
  }

  private async reborn(): Promise<void> {
    this.deps.counters['worker.reborn'] += 1
    this.deps.ports.log.warn('This worker was taken for dead; its runs went on elsewhere.', {
      hint: 'a blocked event loop or a long pause of the process; look at the steps that began last',
      steps: this.deps.ranLast(),
    })
    this.deps.lost()
    this.worker = this.deps.newWorker()
    await this.register()
    this.doubtful = false
    this.overdue = false
    this.deps.certain()
  }

  private notice(): void {
    const { counters, leaseMs, ports } = this.deps
    if (!this.certain && !this.doubtful) {
      this.doubtful = true
      counters['worker.doubtful'] += 1
    }
    const past = ports.clock.monotonic() - this.lastBeat
    if (past >= leaseMs && !this.overdue) {
      this.overdue = true
      this.deps.overdue()
    }
  }

  /** Looks after the others: anyone may, at any time; it is the same for all. */
  private async watch(): Promise<void> {
    const { store, ports, counters, leaseMs } = this.deps
    const now = ports.clock.monotonic()
    const unmoved = [...this.seen]
      .filter(([, seen]) => now - seen.since >= leaseMs / 3)
      .map(([id, seen]) => ({ id, beat: seen.beat }))
    ports.fault('reap.before')
    const { workers, dead, freed, inherited, inheritedIds } = await store.reap(
      unmoved,
      this.deps.listens(),
    )
    ports.fault('reap.after')
    counters['worker.reaped'] += dead.length
    this.others = workers.length - 1
    const alive = new Set(workers.map((worker) => worker.id))
    for (const id of this.seen.keys()) if (!alive.has(id)) this.seen.delete(id)
    for (const { id, beat } of workers) {
      if (id === this.worker.id) continue
      if (this.seen.get(id)?.beat !== beat) this.seen.set(id, { beat, since: now })
    }
    counters['event.inherited'] += inherited.length
    this.deps.inherited(inherited, inheritedIds)
    if (freed > 0) this.deps.freed()
  }
}
