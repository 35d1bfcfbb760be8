// The timers of one frame: the next due time of its questions, and the patience with a body that awaits
// something of its own.

import type { Clock } from './ports.js'

export class Alarm {
  private readonly clock: Clock
  private offDue: (() => void) | null = null
  private offPatience: (() => void) | null = null

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Rings once, replacing what was armed before. */
  ringIn(ms: number, ring: () => void): void {
    this.offDue?.()
    this.offDue = this.clock.after(Math.max(1, ms), ring)
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
