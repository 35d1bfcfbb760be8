// Retention: finished runs are deleted when they have been kept long enough. One worker at a time does it; which one is the
// database's to say.
//
// Owns:      where the sweep stands, and its timer.
// Talks to:  Store.prune, a bounded part per call, with a rest between two of them.

import type { Clock, Log } from '../kernel/ports.js'
import type { Store } from '../kernel/store.js'
import type { Uid } from '../model/ids.js'

export interface RetentionDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly keepMs: number
  /** From the end of one sweep to the next. */
  readonly everyMs: number
}

const REST_MS = 20

export class Retention {
  private readonly deps: RetentionDeps
  private isClosed = false
  private underWay: Promise<void> = Promise.resolve()
  private offTimer = (): void => {}

  constructor(deps: RetentionDeps) {
    this.deps = deps
    this.next(deps.everyMs, null)
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.offTimer()
    await this.underWay
  }

  private next(ms: number, after: Uid | null): void {
    if (this.isClosed) return
    this.offTimer = this.deps.clock.after(ms, () => {
      this.underWay = this.part(after)
    })
  }

  private async part(after: Uid | null): Promise<void> {
    const { store, log, keepMs, everyMs } = this.deps
    let next: Uid | null = null
    try {
      const answer = await store.prune(keepMs, after)
      next = answer?.next ?? null
      const pruned = answer?.pruned ?? 0
      if (pruned > 0) log.debug(`retention has deleted ${pruned} runs`)
    } catch (error) {
      if (!this.isClosed) log.debug('retention could not delete; it tries again', { error })
    }
    this.next(next === null ? everyMs : REST_MS, next)
  }
}
