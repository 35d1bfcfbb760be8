// The times of a run of a graph: how long it may execute, waits not counted, and how long it may wait unanswered.
//
// Everything here is computed from the times of answers, so a replay comes to the same.

import type { Turn } from '../../model/program.js'
import type { Instant } from '../../model/run.js'
import type { Plan } from './plan.js'

/** Something that has begun and not ended. `until`: it waits, and no longer than that. */
interface Open {
  readonly path: string
  readonly until: Instant | null
}

export class Watch {
  private readonly turn: Turn
  private readonly limitMs: number | null
  private readonly waitLimitMs: number | null
  private readonly open = new Set<Open>()
  private activeSince: Instant | null = null
  private usedMs = 0

  constructor(turn: Turn, { limitMs, waitLimitMs }: Plan) {
    this.turn = turn
    this.limitMs = limitMs
    this.waitLimitMs = waitLimitMs
  }

  /** Something of the run executes until this is settled; `path`: of the scope it is in. */
  executing<T>(path: string, work: Promise<T>): Promise<T> {
    return this.during({ path, until: null }, work)
  }

  /** The run waits for an answer until this is settled. */
  waiting<T>(path: string, work: Promise<T>): Promise<T> {
    if (this.waitLimitMs === null) return work
    return this.during({ path, until: this.turn.now() + this.waitLimitMs }, work)
  }

  /** A scope is over, and what was open in it never settles. */
  left(path: string): void {
    for (const one of this.open) if (one.path.startsWith(path)) this.open.delete(one)
    this.say()
  }

  /** The run is at its end. */
  over(): void {
    this.open.clear()
    this.say()
  }

  private during<T>(one: Open, work: Promise<T>): Promise<T> {
    this.open.add(one)
    this.say()
    const over = (): void => {
      this.open.delete(one)
      this.say()
    }
    return work.then(
      (value) => {
        over()
        return value
      },
      (error: unknown) => {
        over()
        throw error
      },
    )
  }

  private say(): void {
    const now = this.turn.now()
    let isActive = false
    let end = Number.POSITIVE_INFINITY
    for (const { until } of this.open) {
      if (until === null) isActive = true
      else end = Math.min(end, until)
    }
    if (isActive) this.activeSince ??= now
    else if (this.activeSince !== null) {
      this.usedMs += now - this.activeSince
      this.activeSince = null
    }
    if (this.activeSince !== null && this.limitMs !== null) {
      end = Math.min(end, this.activeSince + this.limitMs - this.usedMs)
    }
    this.turn.expires(end === Number.POSITIVE_INFINITY ? null : end)
  }
}
