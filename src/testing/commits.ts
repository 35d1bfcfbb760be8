// Counts the commits of a test engine, and does to them what a plan says: ends the life beside one of them, holds it
// up, or loses its answer.

import type { Delta } from '../kernel/store.js'
import type { AboutCommit, Commit, Watcher } from './gated-store.js'
import { type Life, never } from './life.js'
import { turns } from './turns.js'

/** What becomes of a commit. */
export interface CommitFate {
  /** The life ends there. */
  readonly end?: 'before' | 'after' | null
  /** It is stored, and the engine does not hear it. */
  readonly isLost?: boolean
  /** So many turns of the event loop go by first. */
  readonly delay?: number
}

/** `number`: 1 is the first one after `watch`. null: nothing happens to it. */
export type CommitPlan = (commit: AboutCommit, number: number) => CommitFate | null

export class Commits implements Watcher {
  count = 0
  private plan: CommitPlan | null = null
  private readonly deps: { saw(delta: Delta): void; end(life: Life): void }

  constructor(deps: { saw(delta: Delta): void; end(life: Life): void }) {
    this.deps = deps
  }

  /** Counts from here on. */
  watch(plan: CommitPlan | null): void {
    this.count = 0
    this.plan = plan
  }

  saw(delta: Delta): void {
    this.deps.saw(delta)
  }

  async commit<T>(life: Life, commit: Commit<T>): Promise<T> {
    this.count += 1
    const fate = this.plan?.(commit, this.count) ?? null
    if (fate === null) return commit.work()
    await turns(fate.delay ?? 0)
    // Nobody would find what a dead worker has taken: a test engine looks for that only when a life begins.
    if (!life.alive) return never()
    if (fate.end === 'before') {
      this.deps.end(life)
      return never()
    }
    const answer = await commit.work()
    if (fate.end === 'after') this.deps.end(life)
    return fate.isLost && commit.canBeLost ? commit.lost() : answer
  }
}
