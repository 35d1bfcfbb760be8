// The timers of one frame: the next due time of its questions, and the patience with a body that awaits
// something of its own.

import type { Clock } from './ports.js'

const OVERDUE_MAX_MS = 64

export class Alarm {
  private readonly clock: Clock
  private offDue: (() => void) | null = null
  private offPatience: (() => void) | null = null
  private overdueMs = 1

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * Rings once, replacing what was armed before. What is overdue and stays so waits for something else, an answer of the
   * database: it rings less and less often, or every such run would keep the process busy while the database is away.
   */
  ringIn(ms: number, ring: () => void): void {
    this.offDue?.()
    const isOverdue = ms <= 0
    this.offDue = this.clock.after(isOverdue ? this.overdueMs : Math.max(1, ms), ring)
    this.overdueMs = isOverdue ? Math.min(this.overdueMs * 2, OVERDUE_MAX_MS) : 1
  }

  silence(): void {
    this.offDue?.()
    this.offDue = null
  }

  /** Rings unless the body says something first. */
  patience(ms: number, ring: () => void): void {
    this.offPatience?.()
    this.offPatience = this.clock.after(ms, ring)
  }

  bodySpoke(): void {
    this.offPatience?.()
    this.offPatience = null
  }

  off(): void {
    this.silence()
    this.bodySpoke()
  }
}
