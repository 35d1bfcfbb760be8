// Asking: one shared question to the database for everybody who waits for an answer: once a second, sooner for a while
// after `soon`.

import type { Ports } from './ports.js'

const SOON_MS = 5

export interface AskingDeps {
  readonly ports: Ports
  readonly pollMs: number
  /** Somebody waits. */
  isWanted(): boolean
  ask(): Promise<void>
}

export class Asking {
  private readonly deps: AskingDeps
  private offTimer: (() => void) | null = null
  private waitMs: number
  private asking = false
  private closed = false

  constructor(deps: AskingDeps) {
    this.deps = deps
    this.waitMs = deps.pollMs
  }

  get isArmed(): boolean {
    return this.offTimer !== null
  }

  /** The answer may come any moment: what follows is asked for soon again. */
  soon(): void {
    this.waitMs = SOON_MS
  }

  arm(ms: number): void {
    if (this.closed || this.asking) return
    this.offTimer?.()
    this.offTimer = this.deps.ports.clock.after(ms, () => void this.now())
  }

  close(): void {
    this.closed = true
    this.offTimer?.()
  }

  private async now(): Promise<void> {
    this.offTimer = null
    if (!this.deps.isWanted()) return
    this.asking = true
    try {
      await this.deps.ask()
    } catch {
      // The database is away; the next question comes.
    }
    this.asking = false
    this.waitMs = Math.min(this.waitMs * 2, this.deps.pollMs)
    if (this.deps.isWanted()) this.arm(this.waitMs)
  }
}
