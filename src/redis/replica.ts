// The whole state in the memory of this process: the store in memory, brought forward by the log. Every process applies the same calls in
// the same order at the same times, so all of them have the same state.
//
// Invariants
//   R1. What is applied depends on the state, the call and the time of its entry alone: no clock and no chance of this process.
//   R2. What only this process does (`fanOut`, and calls that are idle) changes no answer of any later call of the log.

import { deserialize, serialize } from 'node:v8'
import type { Cursor, RunRecord, Worker } from '../kernel/store.js'
import type { WorkerId } from '../model/ids.js'
import { EVENTS_KEPT_MS, FOLLOWED_MS } from '../model/limits.js'
import type { Instant } from '../model/run.js'
import { MemoryStore } from '../store/memory.js'
import { dueRuns } from '../store/memory-claim.js'

/** Calls that the log has. */
export const WRITES = [
  ...(['commit', 'claim', 'join', 'declare', 'beat', 'leave', 'reapFor', 'delivered'] as const),
  ...(['reopen', 'admit', 'debounce', 'startAlone', 'burn', 'setPaused', 'fork', 'prune'] as const),
  ...(['emit', 'heard', 'forget'] as const),
  ...(['putSchedule', 'subscribe', 'pauseSchedule', 'dropSchedule', 'fire'] as const),
  ...(['saveDefinition', 'archiveDefinition'] as const),
  ...(['putWebhooks', 'rotateWebhook', 'startByWebhook', 'putWebhookTargets'] as const),
  ...(['publish', 'follow', 'holdRuns', 'putAll'] as const),
]

/** Parts of the object that are no state. */
const NO_STATE: ReadonlySet<string> = new Set([
  ...['now', 'clock', 'read', 'callers', 'defects', 'mailboxMax', 'written', 'slots'],
])

export interface ReplicaOptions {
  readonly mailboxMax?: number
}

export class Replica extends MemoryStore {
  private readonly clock: { at: Instant }

  constructor(options: ReplicaOptions = {}) {
    const clock = { at: 0 }
    super({ ...options, now: () => clock.at })
    this.clock = clock
  }

  /** Time never goes back. */
  moveTo(at: Instant): void {
    this.clock.at = Math.max(this.clock.at, at)
  }

  /** Of an entry: what was read at a later time has changed nothing. */
  setTime(at: Instant): void {
    this.clock.at = at
  }

  dump(): Buffer {
    const fields = Object.entries(this).filter(([name]) => !NO_STATE.has(name))
    return serialize({ fields: Object.fromEntries(fields), slots: { ...this.slots } })
  }

  restore(dumped: Buffer): void {
    const { fields, slots } = deserialize(dumped) as { fields: object; slots: object }
    Object.assign(this, fields)
    Object.assign(this.slots, slots)
  }

  // ── calls that are in the log under names of their own ──────────────────────────────────────────────────────

  putAll(records: readonly RunRecord[], isSkipping: boolean) {
    return this.putRuns(paged(records), isSkipping)
  }

  /** Events that have been told, and are old. */
  async forget(events: readonly string[]): Promise<void> {
    for (const key of events) this.events.delete(key)
  }

  // ── whether a call would change anything ────────────────────────────────────────────────────────────────────

  hasDue(by: Worker, places: number, suspects: number): boolean {
    return dueRuns(this.openRuns(), by, { places, suspects }, this.now()).length > 0
  }

  hasDead(
    heir: WorkerId | null,
    again: boolean,
    unmoved: readonly { readonly id: WorkerId; readonly beat: number }[],
  ): boolean {
    const now = this.now()
    const isDead = unmoved.some(({ id, beat }) => {
      const row = this.workers.get(id)
      return row?.beat === beat && row.leaseUntil < now
    })
    if (again || isDead) return true
    if (heir !== null && this.feed.some(({ worker }) => !this.workers.has(worker))) return true
    for (const { owner } of this.openRuns()) {
      if (owner !== null && !this.workers.has(owner)) return true
    }
    return false
  }

  hasAsking(isSweep: boolean): boolean {
    const now = this.now()
    for (const { owner, stop, slot, asksAt, dueAt } of this.openRuns()) {
      if (owner !== null || stop !== null) continue
      if (slot === false && asksAt !== null && asksAt <= now) return true
      if (isSweep && slot === true && dueAt !== null && dueAt <= now) return true
    }
    return false
  }

  hasOld(keepMs: number): boolean {
    const horizon = this.now() - keepMs
    for (const { finishedAt } of this.runs.values()) {
      if (finishedAt !== null && finishedAt < horizon) return true
    }
    return false
  }

  oldEvents(atMost: number): string[] {
    const horizon = this.now() - EVENTS_KEPT_MS
    const old: string[] = []
    for (const [key, { at, isTold }] of this.events) {
      // In the order of their times.
      if (at >= horizon || old.length >= atMost) break
      if (isTold) old.push(key)
    }
    return old
  }

  /** Where who follows begins, if changes are written for long enough from now on. */
  followed(): Cursor | null {
    if (this.followedUntil < this.now() + FOLLOWED_MS / 2) return null
    return { key: String(this.lastKey + 1), id: '0', place: 0 }
  }
}

async function* paged(records: readonly RunRecord[]) {
  yield records
}
