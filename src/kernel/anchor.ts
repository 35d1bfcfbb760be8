// The database's clock as it is known in this process: never ahead of it, and seldom far behind.
//
// Each answer carries the database's time, read before the answer was sent: so answer + time since then is at
// most the truth. The best of the last few seconds is taken; older ones are forgotten, so that a clock that was
// set back is followed. A worker's own wall clock is never asked.

import type { Instant } from '../model/run.js'
import type { Clock } from './ports.js'

const FORGET_AFTER_MS = 2_000

export class Anchor {
  private readonly clock: Clock
  private best = Number.NEGATIVE_INFINITY
  private next = Number.NEGATIVE_INFINITY
  private last = Number.NEGATIVE_INFINITY
  private since = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** `askedAt`, of the monotonic clock: the answer was made after it. So a clock that was set back is known at once. */
  heard(now: Instant, askedAt?: number): void {
    const local = this.clock.monotonic()
    const offset = now - local
    this.last = offset
    if (askedAt !== undefined && this.best > now + 1 - askedAt) this.ahead()
    if (local - this.since > FORGET_AFTER_MS) {
      this.since = local
      this.best = Math.max(this.next, offset)
      this.next = offset
    }
    this.next = Math.max(this.next, offset)
    this.best = Math.max(this.best, offset)
  }

  /** The database says that we are ahead of it: only what it said last counts. */
  ahead(): void {
    this.best = this.last
    this.next = this.last
  }

  now(): Instant {
    return Math.floor(this.clock.monotonic() + this.best)
  }
}
