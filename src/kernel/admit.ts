// Admitter: gives slots to runs of limited definitions, after a commit that asked for one or gave one back, when somebody asks
// next, and otherwise once a second: if whoever gave a slot back died before it could ask, that is all it costs. Runs that can begin
// here are taken along: the others are due, for whoever claims them.
//
// A process that has no limited definitions and has heard of none asks nothing.

import { ADMIT_CALLS_MAX } from '../model/limits.js'
import type { Ports } from './ports.js'
import type { Admitted } from './store.js'

export interface AdmitterDeps {
  readonly ports: Ports
  /** With the places that there are here; what was taken has begun. */
  admit(isSweep: boolean): Promise<Admitted>
  /** A definition of this process has limits. */
  isLimited(): boolean
  /** Something is due that was not. */
  admitted(): void
}

export class Admitter {
  private readonly deps: AdmitterDeps
  private isAsked = false
  private isAsking = false
  private isPoked = false
  private isClosed = false
  private offTimer: () => void = () => {}

  constructor(deps: AdmitterDeps) {
    this.deps = deps
  }

  /** A slot was asked for, or given back. */
  poke(): void {
    this.isAsked = true
    this.isPoked = true
    void this.look(false)
  }

  /** Something was made due past the committer: perhaps it asks for a slot instead. */
  madeDue(): void {
    if (this.isNeeded) this.poke()
  }

  /** Once a second. */
  upkeep(): void {
    if (this.isNeeded) void this.look(true)
  }

  private get isNeeded(): boolean {
    return this.isAsked || this.deps.isLimited()
  }

  close(): void {
    this.isClosed = true
    this.offTimer()
  }

  private async look(isSweep: boolean): Promise<void> {
    if (this.isAsking || this.isClosed) return
    this.isAsking = true
    try {
      do {
        this.isPoked = false
        await this.sweep(isSweep)
      } while (this.isPoked && !this.isClosed)
    } catch {
      // The database is away: it is asked again in a second.
    } finally {
      this.isAsking = false
    }
  }

  /** All groups once; where there are too many for that, the next look goes on. */
  private async sweep(isSweep: boolean): Promise<void> {
    const { ports } = this.deps
    let waitMs: number | null = null
    for (let calls = 1; calls <= ADMIT_CALLS_MAX && !this.isClosed; calls += 1) {
      ports.fault('admit.before')
      const answer = await this.deps.admit(isSweep)
      ports.fault('admit.after')
      if (answer.admitted > answer.claimed.length) this.deps.admitted()
      // By the clock that says when: this process's own may be ahead of it.
      const wait = answer.nextAt === null ? null : answer.nextAt - answer.now
      if (wait !== null) waitMs = Math.min(waitMs ?? wait, wait)
      if (answer.isEnd && answer.isStart) break
    }
    this.offTimer()
    if (waitMs === null || this.isClosed) return
    this.offTimer = ports.clock.after(Math.max(1, waitMs), () => this.poke())
  }
}
