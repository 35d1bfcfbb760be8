// Who follows runs, here and in other processes. One question for all followers of this process, now and then, is the truth. Whoever
// executes runs is told which are followed, and tells of their commits: that shortens the wait, and losing it costs time alone.

import type { Hints } from '../kernel/ports.js'
import type { Standing, StreamStore } from '../kernel/store.js'
import type { Uid } from '../model/ids.js'

const SOON_MS = 5
/** It is said so often that a run is followed, and believed for so long. */
const SAY_EVERY_MS = 10_000
const BELIEVED_MS = 30_000
/** Runs that others follow; beyond this those are forgotten that nobody speaks of any more. */
const WATCHED_MAX = 1_000

export interface FollowingDeps {
  readonly hints: Hints
  readonly standings: StreamStore['standings']
  readonly pollMs: number
}

interface Waiter {
  readonly isBehind: (standing: Standing) => boolean
  readonly wake: () => void
}

interface Followed {
  /** How often a commit was heard of. */
  heard: number
  saidAt: number
  readonly waiters: Set<Waiter>
}

export class Following {
  private readonly deps: FollowingDeps
  private readonly followed = new Map<Uid, Followed>()
  /** By other processes: until when. */
  private readonly watched = new Map<Uid, number>()
  private readonly unsubscribe: () => void
  private timer: NodeJS.Timeout | null = null
  private timerAt = Number.POSITIVE_INFINITY
  private waitMs = SOON_MS
  private isAsking = false
  private isClosed = false

  constructor(deps: FollowingDeps) {
    this.deps = deps
    this.unsubscribe = deps.hints.subscribe((hint) => {
      if (hint.kind === 'watched') this.watch(hint.uid)
      if (hint.kind === 'changed') this.heard(hint.uid)
      // What it acts upon is for everybody: it never passes a hint on.
      return hint.kind === 'watched' || hint.kind === 'changed'
    })
  }

  /** This process has committed something of the run. Costs nothing while nobody follows any. */
  changed(uid: Uid): void {
    if (this.followed.size > 0) this.heard(uid)
    const until = this.watched.size > 0 ? this.watched.get(uid) : undefined
    if (until === undefined) return
    if (until > performance.now()) this.deps.hints.publish({ kind: 'changed', uid })
    else this.watched.delete(uid)
  }

  /** To be taken before the run is read: what is committed meanwhile is not missed. */
  mark(uid: Uid): number {
    return this.followed.get(uid)?.heard ?? 0
  }

  /** Resolves when there is more to read of the run, or may be; when it has ended, is gone, or this is closed. */
  async wait(
    uid: Uid,
    mark: number,
    isBehind: (standing: Standing) => boolean,
    signal: AbortSignal | null,
  ): Promise<void> {
    const followed = this.follow(uid)
    if (followed.heard !== mark || this.isClosed) return
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        followed.waiters.delete(waiter)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const waiter: Waiter = { isBehind, wake }
      followed.waiters.add(waiter)
      signal?.addEventListener('abort', wake)
      if (signal?.aborted) wake()
      this.arm(this.waitMs)
    })
  }

  close(): void {
    this.isClosed = true
    this.unsubscribe()
    if (this.timer) clearTimeout(this.timer)
    for (const { waiters } of this.followed.values()) wakeAll(waiters)
    this.followed.clear()
  }

  private follow(uid: Uid): Followed {
    const known = this.followed.get(uid)
    if (known) return known
    const followed: Followed = { heard: 0, saidAt: Number.NEGATIVE_INFINITY, waiters: new Set() }
    this.followed.set(uid, followed)
    this.say(uid, followed)
    // What came between the first reading and this is asked for at once.
    this.waitMs = SOON_MS
    return followed
  }

  private say(uid: Uid, followed: Followed): void {
    const now = performance.now()
    if (now - followed.saidAt < SAY_EVERY_MS) return
    followed.saidAt = now
    this.deps.hints.publish({ kind: 'watched', uid })
  }

  private watch(uid: Uid): void {
    const now = performance.now()
    this.watched.set(uid, now + BELIEVED_MS)
    if (this.watched.size <= WATCHED_MAX) return
    for (const [one, until] of this.watched) if (until <= now) this.watched.delete(one)
  }

  private heard(uid: Uid): void {
    const followed = this.followed.get(uid)
    if (!followed) return
    followed.heard += 1
    wakeAll(followed.waiters)
  }

  /** Not later than in `ms`. */
  private arm(ms: number): void {
    const at = performance.now() + ms
    if (this.isClosed || this.isAsking || at >= this.timerAt) return
    if (this.timer) clearTimeout(this.timer)
    this.timerAt = at
    this.timer = setTimeout(() => void this.ask(), ms)
  }

  private async ask(): Promise<void> {
    this.timer = null
    this.timerAt = Number.POSITIVE_INFINITY
    const uids = [...this.followed].filter(([, { waiters }]) => waiters.size > 0)
    for (const [uid, { waiters, saidAt }] of this.followed) {
      const isOver = waiters.size === 0 && performance.now() - saidAt > BELIEVED_MS
      if (isOver) this.followed.delete(uid)
    }
    if (uids.length === 0) return
    this.isAsking = true
    for (const [uid, followed] of uids) this.say(uid, followed)
    try {
      const standings = await this.deps.standings(uids.map(([uid]) => uid))
      for (const [uid, { waiters }] of uids) {
        const standing = standings.get(uid)
        for (const { isBehind, wake } of [...waiters]) if (!standing || isBehind(standing)) wake()
      }
    } catch {
      // The database is away; the next question comes.
    }
    this.isAsking = false
    this.waitMs = Math.min(this.waitMs * 2, this.deps.pollMs)
    this.arm(this.waitMs)
  }
}

function wakeAll(waiters: ReadonlySet<Waiter>): void {
  for (const { wake } of [...waiters]) wake()
}
