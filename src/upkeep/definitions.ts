// Definitions: looks for stored ones that have changed, once a second and when somebody says so. Every process does it.

import type { Clock, Log } from '../kernel/ports.js'

export interface DefinitionsDeps {
  readonly clock: Clock
  readonly log: Log
  readonly everyMs: number
  refresh(): Promise<void>
}

export class Definitions {
  private readonly deps: DefinitionsDeps
  private isClosed = false
  private isPoked = false
  private underWay: Promise<void> | null = null
  private offTimer = (): void => {}

  constructor(deps: DefinitionsDeps) {
    this.deps = deps
    this.next(deps.everyMs)
  }

  /** Something has changed. */
  poke(): void {
    if (this.underWay !== null) this.isPoked = true
    else this.next(0)
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.offTimer()
    await this.underWay
  }

  private next(ms: number): void {
    this.offTimer()
    if (this.isClosed) return
    this.offTimer = this.deps.clock.after(ms, () => {
      this.underWay = this.look()
    })
  }

  private async look(): Promise<void> {
    this.isPoked = false
    try {
      await this.deps.refresh()
    } catch (error) {
      if (!this.isClosed) {
        this.deps.log.debug('stored graphs could not be looked at; it tries again', { error })
      }
    }
    this.underWay = null
    this.next(this.isPoked ? 0 : this.deps.everyMs)
  }
}
