// The times of a run of a graph: how long it may execute, waits not counted, and how long it may wait unanswered.
//
// Everything here is computed from the times of answers, so a replay comes to the same.

import type { Turn } from '../../model/program.js'
import type { Instant } from '../../model/run.js'
import type { Plan } from './plan.js'

export class Watch {
  private readonly turn: Turn
  private readonly limitMs: number | null
  private readonly waitLimitMs: number | null
  private active = 0
  private activeSince: Instant = 0
  private usedMs = 0
  private readonly waits = new Set<{ readonly until: Instant }>()

  constructor(turn: Turn, { limitMs, waitLimitMs }: Plan) {
    this.turn = turn
    this.limitMs = limitMs
    this.waitLimitMs = waitLimitMs
  }

  /** Something of the run executes until this is settled. */
  async executing<T>(work: Promise<T>): Promise<T> {
    if (this.active === 0) this.activeSince = this.turn.now()
    this.active += 1
    this.say()
    try {
      return await work
    } finally {
      this.active -= 1
      if (this.active === 0) this.usedMs += this.turn.now() - this.activeSince
      this.say()
    }
  }

  /** The run waits for an answer until this is settled. */
  async waiting<T>(work: Promise<T>): Promise<T> {
    if (this.waitLimitMs === null) return await work
    const wait = { until: this.turn.now() + this.waitLimitMs }
    this.waits.add(wait)
    this.say()
    try {
      return await work
    } finally {
      this.waits.delete(wait)
      this.say()
    }
  }

  private say(): void {
    const ends = [...this.waits].map(({ until }) => until)
    if (this.active > 0 && this.limitMs !== null)
      ends.push(this.activeSince + this.limitMs - this.usedMs)
    this.turn.expires(ends.length > 0 ? Math.min(...ends) : null)
  }
}
