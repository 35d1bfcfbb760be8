// Counts the commits of a test engine, and ends its life beside one of them.

import type { Delta } from '../kernel/store.js'
import type { Watcher } from './gated-store.js'
import { type Life, never } from './life.js'

export interface CommitPoint {
  /** 1 is the first one after `watch`. */
  readonly number: number
  readonly when: 'before' | 'after'
}

export class Commits implements Watcher {
  count = 0
  /** What the commit at the point held; null if it has not come. */
  reached: string | null = null
  private point: CommitPoint | null = null
  private readonly deps: { saw(delta: Delta): void; end(life: Life): void }

  constructor(deps: { saw(delta: Delta): void; end(life: Life): void }) {
    this.deps = deps
  }

  /** Counts from here on, and crashes there. */
  watch(point: CommitPoint | null): void {
    this.count = 0
    this.reached = null
    this.point = point
  }

  saw(delta: Delta): void {
    this.deps.saw(delta)
  }

  async commit<T>(life: Life, about: () => string, work: () => Promise<T>): Promise<T> {
    this.count += 1
    const isHere = this.point?.number === this.count
    if (isHere) this.reached = about()
    if (isHere && this.point?.when === 'before') {
      this.deps.end(life)
      return never()
    }
    const answer = await work()
    if (isHere) this.deps.end(life)
    return answer
  }
}
