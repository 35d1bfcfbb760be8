// Claimer: looks for due runs whenever there is a free place: when hinted at, when the next one is due, and
// otherwise once a second. Hints only shorten the wait.

import { CLAIM_MAX } from '../model/limits.js'
import type { Instant } from '../model/run.js'
import type { Counters } from './counters.js'
import type { Ports } from './ports.js'
import type { Claimed, Store, Worker } from './store.js'

const OVERDUE_MS = 50

export interface ClaimerDeps {
  readonly store: Store
  readonly ports: Ports
  readonly counters: Counters
  readonly pollMs: number
  worker(): Worker
  now(): Instant
  heard(now: Instant, askedAt: number): void
  /** Places for runs; they are promised while the question is under way. */
  promisePlaces(most: number): number
  unpromise(count: number): void
  mayClaim(): boolean
  suspectsRunning(): number
  take(claimed: readonly Claimed[]): void
}

export class Claimer {
  private readonly deps: ClaimerDeps
  private readonly poll: boolean
  private offTimer: (() => void) | null = null
  private nextAt = Number.POSITIVE_INFINITY
  private asking = false
  private poked = false
  private full = false
  private closed = false

  constructor(deps: ClaimerDeps, poll = true) {
    this.deps = deps
    this.poll = poll
  }

  /** Something may be due now. */
  poke(): void {
    this.poked = true
    if (!this.asking) this.arm(0)
  }

  /** Something becomes due then. */
  expect(at: Instant): void {
    if (this.asking || at >= this.nextAt) return
    this.nextAt = at
    this.arm(Math.max(0, at - this.deps.now()))
  }

  /** A place is free; if the last look found more than there was room for, it looks again. */
  roomAgain(): void {
    if (this.full) this.poke()
  }

  /**
   * Another question whose answer brings runs along: with places promised for them, as for those of a claim. None while the last
   * look found more than there was room for: those come first.
   */
  async along<T extends { readonly claimed: readonly Claimed[] }>(
    ask: (by: Worker, places: number) => Promise<T>,
  ): Promise<T> {
    const { deps } = this
    const mayTake = !this.full && !this.closed && deps.mayClaim()
    const places = mayTake ? deps.promisePlaces(CLAIM_MAX) : 0
    const by = deps.worker()
    let answer: T
    try {
      answer = await ask(by, places)
    } finally {
      deps.unpromise(places)
    }
    this.taken(answer.claimed, by)
    return answer
  }

  private taken(claimed: readonly Claimed[], by: Worker): void {
    this.deps.counters['claim.runs'] += claimed.length
    // What an incarnation that is over has claimed belongs to others by now.
    if (!this.closed && by === this.deps.worker()) this.deps.take(claimed)
  }

  close(): void {
    this.closed = true
    this.offTimer?.()
  }

  private arm(ms: number): void {
    if (this.closed) return
    this.offTimer?.()
    this.offTimer = this.deps.ports.clock.after(ms, () => void this.claim())
  }

  private async claim(): Promise<void> {
    const { deps } = this
    const places = deps.mayClaim() ? deps.promisePlaces(CLAIM_MAX) : 0
    this.full = places === 0
    this.poked = false
    this.nextAt = Number.POSITIVE_INFINITY
    let waitMs = deps.pollMs
    if (places > 0) {
      this.asking = true
      try {
        const suspects = deps.suspectsRunning() > 0 ? 0 : 1
        deps.ports.fault('claim.before')
        const by = deps.worker()
        const askedAt = deps.ports.clock.monotonic()
        const { now, claimed, nextDueAt } = await deps.store.claim(by, places, suspects)
        deps.ports.fault('claim.after')
        deps.counters['claim.asked'] += 1
        // If we were ahead of it, what is due next would be asked for without a pause.
        deps.heard(now, askedAt)
        deps.unpromise(places)
        if (this.closed) return
        this.full = claimed.length >= places
        this.taken(claimed, by)
        if (claimed.length > 0) this.poked = true
        if (nextDueAt !== null) waitMs = Math.min(waitMs, Math.max(0, nextDueAt - deps.now()))
        // Overdue, and not for us: a suspect while another one runs, or locked. To ask at once would be to ask for ever.
        const isOthers = claimed.length === 0 && nextDueAt !== null && nextDueAt <= now
        if (isOthers) waitMs = Math.min(deps.pollMs, OVERDUE_MS)
      } catch {
        deps.unpromise(places)
      }
      this.asking = false
    }
    if (!this.poll && !this.poked) return
    // A small spread keeps several workers from asking in step.
    const spread = waitMs === deps.pollMs ? 0.9 + deps.ports.random.fraction() * 0.1 : 1
    this.nextAt = deps.now() + waitMs
    this.arm(this.poked && !this.full ? 0 : waitMs * spread)
  }
}
