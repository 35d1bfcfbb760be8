// Callers that give up after a fixed time. One timer for all of them: who began first gives up first.

import type { Clock } from './ports.js'

export abstract class Patient {
  until = 0
  before: Patient | null = null
  behind: Patient | null = null
  line: Patience | null = null

  abstract giveUp(): void

  /** It has what it waited for. */
  over(): void {
    this.line?.over(this)
  }
}

export class Patience {
  private readonly clock: Clock
  private readonly ms: number
  /** A chain: nothing is made for each, and who is over is not kept by others. */
  private first: Patient | null = null
  private last: Patient | null = null
  private offTimer: (() => void) | null = null

  constructor(clock: Clock, ms: number) {
    this.clock = clock
    this.ms = ms
  }

  wait(patient: Patient): void {
    const { last } = this
    patient.until = this.clock.monotonic() + this.ms
    patient.line = this
    patient.before = last
    if (last) last.behind = patient
    else this.first = patient
    this.last = patient
    this.offTimer ??= this.clock.after(this.ms, () => this.look())
  }

  over(patient: Patient): void {
    this.leave(patient)
    if (!this.first) this.close()
  }

  /** Nobody will hear anything more. */
  end(): void {
    this.close()
    while (this.first) this.leave(this.first).giveUp()
  }

  private leave(patient: Patient): Patient {
    const { before, behind } = patient
    if (before) before.behind = behind
    else this.first = behind
    if (behind) behind.before = before
    else this.last = before
    patient.before = null
    patient.behind = null
    patient.line = null
    return patient
  }

  private close(): void {
    this.offTimer?.()
    this.offTimer = null
  }

  private look(): void {
    this.offTimer = null
    const now = this.clock.monotonic()
    for (let { first } = this; first; first = this.first) {
      const leftMs = first.until - now
      if (leftMs > 0) {
        this.offTimer = this.clock.after(leftMs, () => this.look())
        return
      }
      this.leave(first).giveUp()
    }
  }
}
