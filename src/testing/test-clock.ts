// A clock that moves only when told. What is due at once needs no moving: it happens in the next turn of the
// event loop.

import type { Clock } from '../kernel/ports.js'

/** Who has set a timer: a life of the engine. */
export interface Owner {
  readonly alive: boolean
  /** Calls back in the next turn of the event loop. Gives back the way to call it off. */
  soon(callback: () => void): () => void
}

interface Timer {
  readonly at: number
  readonly owner: Owner
  readonly callback: () => void
}

export class TestClock {
  nowMs: number
  private readonly startMs: number
  /** In the order in which they were set. */
  private readonly timers = new Set<Timer>()

  constructor(startMs: number) {
    this.startMs = startMs
    this.nowMs = startMs
  }

  clockOf(owner: Owner): Clock {
    return {
      monotonic: () => this.nowMs - this.startMs,
      after: (ms, callback) => {
        if (ms <= 0) return owner.soon(callback)
        const timer = { at: Math.ceil(this.nowMs + ms), owner, callback }
        this.timers.add(timer)
        return () => void this.timers.delete(timer)
      },
    }
  }

  /** When the next timer rings; null if none is set. */
  get nextAt(): number | null {
    const next = this.next()
    return next ? next.at : null
  }

  /** Rings every timer that is due by then, in the order of their times, and of their setting at one time. */
  moveTo(at: number): void {
    this.nowMs = at
    for (let timer = this.next(); timer && timer.at <= at; timer = this.next()) {
      this.timers.delete(timer)
      timer.owner.soon(timer.callback)
    }
  }

  private next(): Timer | null {
    let first: Timer | null = null
    for (const timer of this.timers) {
      if (!timer.owner.alive) this.timers.delete(timer)
      else if (first === null || timer.at < first.at) first = timer
    }
    return first
  }
}
