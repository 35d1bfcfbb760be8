// The whole state in the memory of this process: the store in memory, brought forward by the log. Every process applies the same calls in
// the same order at the same times, so all of them have the same state.
//
// Invariants
//   R1. What is applied depends on the state, the call and the time of its entry alone: no clock and no chance of this process.
//   R2. What only this process does (`fanOut`, and calls that are idle) changes no answer of any later call of the log.

import { deserialize, serialize } from 'node:v8'
import type { Cursor, RunRecord, Worker } from '../kernel/store.js'
import type { Uid, WorkerId } from '../model/ids.js'
import { EVENTS_KEPT_MS, FOLLOWED_MS } from '../model/limits.js'
import type { Instant } from '../model/run.js'
import { MemoryStore } from '../store/memory.js'
import { dueRuns } from '../store/memory-claim.js'
import type { MemoryWait } from '../store/memory-events.js'
import { idKey, type MemoryRun } from '../store/memory-run.js'

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

/** Parts of the object that are no state, and those that are dumped in a way of their own: rows are large, and waits point to them. */
const APART: ReadonlySet<string> = new Set([
  ...['now', 'clock', 'read', 'callers', 'defects', 'mailboxMax', 'written'],
  ...['slots', 'runs', 'byId', 'unfinished', 'waits'],
])
const ROWS_PER_PART = 1_000

interface Head {
  readonly fields: object
  readonly slots: object
  readonly open: readonly Uid[]
  readonly waits: readonly (Omit<MemoryWait, 'row'> & { readonly uid: Uid })[]
}

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

  /** In parts, so that whoever takes them can let others go on in between; nothing may be applied meanwhile. */
  *dump(): Generator<Buffer> {
    const fields = Object.entries(this).filter(([name]) => !APART.has(name))
    const head: Head = {
      fields: Object.fromEntries(fields),
      slots: { ...this.slots },
      open: [...this.openRuns()].map(({ uid }) => uid),
      waits: this.waits.map(({ row, ...wait }) => ({ ...wait, uid: row.uid })),
    }
    yield serialize(head)
    const rows = [...this.runs.values()]
    for (let at = 0; at < rows.length; at += ROWS_PER_PART) {
      yield serialize(rows.slice(at, at + ROWS_PER_PART))
    }
  }

  async restore(parts: AsyncIterable<Buffer>): Promise<void> {
    let head: Head | null = null
    for await (const part of parts) {
      if (head === null) {
        head = deserialize(part) as Head
        continue
      }
      for (const row of deserialize(part) as readonly MemoryRun[]) {
        this.runs.set(row.uid, row)
        this.byId.set(idKey(row.run.workspace, row.run.id), row.uid)
      }
    }
    if (head === null) return
    Object.assign(this, head.fields)
    Object.assign(this.slots, head.slots)
    const rowOf = (uid: Uid): MemoryRun[] => [this.runs.get(uid) ?? []].flat()
    for (const row of head.open.flatMap(rowOf)) this.keep(row)
    this.waits = head.waits.flatMap(({ uid, ...wait }) =>
      rowOf(uid).map((row) => ({ ...wait, row })),
    )
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

  hasAsking(isSweep: boolean, ..._taking: unknown[]): boolean {
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
