// Callers that give up after a fixed time. One timer for all of them: who began first gives up first.

import type { Clock } from './ports.js'

export interface Patient {
  readonly until: number
  readonly giveUp: () => void
}

export class Patience {
  private readonly clock: Clock
  private readonly ms: number
  private readonly waiting = new Set<Patient>()
  private offTimer: (() => void) | null = null

  constructor(clock: Clock, ms: number) {
    this.clock = clock
    this.ms = ms
  }

  wait(giveUp: () => void): Patient {
    const patient = { until: this.clock.monotonic() + this.ms, giveUp }
    this.waiting.add(patient)
    this.offTimer ??= this.clock.after(this.ms, () => this.look())
    return patient
  }

  over(patient: Patient): void {
    this.waiting.delete(patient)
    if (this.waiting.size === 0) this.close()
  }

  /** Nobody will hear anything more. */
  end(): void {
    this.close()
    for (const { giveUp } of this.waiting) giveUp()
    this.waiting.clear()
  }

  private close(): void {
    this.offTimer?.()
    this.offTimer = null
  }

  private look(): void {
    this.offTimer = null
    const now = this.clock.monotonic()
    for (const patient of this.waiting) {
      if (patient.until > now) {
        this.offTimer = this.clock.after(patient.until - now, () => this.look())
        return
      }
      this.waiting.delete(patient)
      patient.giveUp()
    }
  }
}
