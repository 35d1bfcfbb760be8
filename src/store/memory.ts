// The store port in memory: a few maps, one synchronous function per method. For stateless runs and for the
// simulation; the contract suite holds it to what the SQL store does. It has no locks and no snapshots to get
// wrong, so `busy` is never its answer.

import type {
  Claimed,
  Committed,
  Delta,
  FeedEntry,
  Fence,
  Owned,
  RunReader,
  Settled,
  StepTransaction,
  Store,
  Worker,
} from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import { CRASHES_MAX, CRASHES_SUSPECT } from '../model/limits.js'
import { type FinalStatus, type Instant, isFinal, type NewEntry } from '../model/run.js'
import { MemoryReader } from './memory-reader.js'
import { claimedOf, hasCode, type MemoryRun, needsNoCode } from './memory-run.js'
import { type MemoryStoreOptions, MemoryTables } from './memory-tables.js'

export type { MemoryRun } from './memory-run.js'
export type { MemoryDefect } from './memory-tables.js'

export class MemoryStore extends MemoryTables implements Store {
  readonly read: RunReader
  /** What step transactions have written, in order of their commits. */
  readonly written: { readonly sql: string; readonly params: readonly unknown[] }[] = []

  constructor(options: MemoryStoreOptions) {
    super(options)
    this.read = new MemoryReader(this)
  }

  async commit(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Promise<Committed> {
    return this.commitNow(by, deltas, options)
  }

  // ── claim, load ───────────────────────────────────────────────────────────────────────────────────────────

  async claim(by: Worker, places: number, suspects: number) {
    const now = this.now()
    const due: MemoryRun[] = []
    let nextDueAt: Instant | null = null
    if (!this.workers.has(by.id)) return { now, claimed: [], nextDueAt }
    for (const row of this.runs.values()) {
      if (row.owner !== null || isFinal(row.status)) continue
      if (needsNoCode(row, now)) due.push(row)
      else if (row.dueAt !== null && row.stop === null && hasCode(by, row)) {
        if (row.divergedBuilds.includes(by.build) && row.reason === 'diverged') continue
        if (row.dueAt <= now) due.push(row)
        else if (nextDueAt === null || row.dueAt < nextDueAt) nextDueAt = row.dueAt
      }
    }
    due.sort((a, b) => b.run.priority - a.run.priority || (a.dueAt ?? 0) - (b.dueAt ?? 0))
    const claimed: Claimed[] = []
    let suspectsLeft = suspects
    for (const row of due) {
      if (claimed.length >= places) break
      if (row.crashes >= CRASHES_SUSPECT && row.crashes < CRASHES_MAX) {
        if (suspectsLeft === 0) continue
        suspectsLeft -= 1
      }
      claimed.push(this.own(row, by, now))
    }
    return { now, claimed, nextDueAt }
  }

  async load(
    what: readonly { readonly fence: Fence; readonly fromSeq: number; readonly fromNo: number }[],
  ) {
    return what.flatMap(({ fence, fromSeq, fromNo }) => {
      const row = this.runs.get(fence.uid)
      if (row?.owner !== fence.owner || row.epoch !== fence.epoch) return []
      const entries = row.journal.filter((entry) => entry.seq > fromSeq)
      const messages = row.messages.filter(
        (message) => message.no > fromNo && message.takenSeq === null,
      )
      return [{ uid: fence.uid, entries, messages }]
    })
  }

  // ── transactions ──────────────────────────────────────────────────────────────────────────────────────────

  async open(by: Worker, _limitMs: number): Promise<StepTransaction> {
    const writes: { sql: string; params: readonly unknown[] }[] = []
    return {
      query: async (sql, params = []) => {
        writes.push({ sql, params })
        return { rows: [], rowCount: 0 }
      },
      close: async (delta, { feed }) => {
        const committed = this.commitNow(by, [delta], { resent: false, feed })
        if (committed.answers[0]?.kind === 'done') this.written.push(...writes)
        return committed
      },
      rollback: async () => {},
    }
  }

  async resolve(fence: Fence, lastSeq: number): Promise<'applied' | 'absent' | 'stale'> {
    const row = this.runs.get(fence.uid)
    if (row?.journal[lastSeq - 1]?.epoch === fence.epoch) return 'applied'
    return row?.owner === fence.owner && row.epoch === fence.epoch ? 'absent' : 'stale'
  }

  // ── workers ───────────────────────────────────────────────────────────────────────────────────────────────

  async join(by: Worker) {
    const now = this.now()
    this.workers.set(by.id, { beat: 0, leaseUntil: now + by.leaseMs, worker: by })
    return { now }
  }

  async beat(by: Worker) {
    const now = this.now()
    const row = this.workers.get(by.id)
    if (!row) return { alive: false, now, owned: [] }
    row.beat += 1
    row.leaseUntil = now + by.leaseMs
    const owned: Owned[] = []
    for (const run of this.runs.values()) {
      if (run.owner !== by.id) continue
      const { uid, epoch, inbox, stop } = run
      owned.push({ uid, epoch, inbox, stop, row: claimedOf(run) })
    }
    return { alive: true, now, owned }
  }

  async leave(by: Worker): Promise<void> {
    this.workers.delete(by.id)
    this.free(false)
  }

  async reap(
    unmoved: readonly { readonly id: WorkerId; readonly beat: number }[],
    inherit: boolean,
  ) {
    const now = this.now()
    const dead: WorkerId[] = []
    for (const { id, beat } of unmoved) {
      const row = this.workers.get(id)
      if (row?.beat !== beat || row.leaseUntil >= now) continue
      this.workers.delete(id)
      dead.push(id)
    }
    const freed = this.free(true)
    const orphaned = this.feed.filter((row) => inherit && !this.workers.has(row.worker))
    const inherited = orphaned.flatMap((row) =>
      row.ranges.flatMap((range) => this.feedEntries(range)),
    )
    const inheritedIds = orphaned.map((row) => row.id)
    const workers = [...this.workers].map(([id, { beat }]) => ({ id, beat }))
    return { workers, dead, freed, inherited, inheritedIds }
  }

  private free(crashed: boolean): number {
    let freed = 0
    for (const row of this.runs.values()) {
      if (row.owner === null || this.workers.has(row.owner)) continue
      row.owner = null
      row.dueAt = this.now()
      row.status = row.journal.length > 1 ? 'waiting' : 'pending'
      row.reason = row.journal.length > 1 ? 'timer' : null
      if (crashed && !this.defects.has('crashes-not-counted')) row.crashes += 1
      freed += 1
    }
    return freed
  }

  private feedEntries([uid, from, to]: [Uid, number, number]): FeedEntry[] {
    const row = this.runs.get(uid)
    if (!row) return []
    const { id, workspace, definition } = row.run
    return row.journal
      .filter((entry) => entry.seq >= from && entry.seq <= to)
      .map((entry) => ({ uid, id, workspace, definition, entry }))
  }

  async delivered(feedIds: readonly number[]): Promise<void> {
    this.feed = this.feed.filter((row) => !feedIds.includes(row.id))
  }

  async reopen(
    chain: readonly {
      readonly uid: Uid
      readonly attempt: number
      readonly entry: NewEntry
      readonly due: boolean
    }[],
  ): Promise<'done' | 'changed'> {
    const rows = chain.map(({ uid, attempt }) => {
      const row = this.runs.get(uid)
      return row?.status === 'failed' && row.attempt === attempt ? row : null
    })
    if (rows.includes(null)) return 'changed'
    for (const [i, { entry, due }] of chain.entries()) {
      const row = rows[i]
      if (!row) continue
      this.append(row, entry)
      row.attempt += 1
      row.crashes = 0
      row.status = 'waiting'
      row.reason = due ? 'retry' : 'child'
      row.dueAt = due ? this.now() : null
      row.finishedAt = null
      row.updatedAt = this.now()
    }
    return 'done'
  }

  // ── reading ───────────────────────────────────────────────────────────────────────────────────────────────

  async settled(tickets: readonly { readonly workspace: string; readonly id: RunId }[]) {
    return tickets.flatMap(({ workspace, id }): Settled[] => {
      const row = this.find(workspace, id)
      if (!row || !isFinal(row.status)) return []
      const last = row.journal.at(-1)
      const status: FinalStatus = row.status
      const reason = last?.meta?.reason ?? null
      return [{ workspace, id, uid: row.uid, status, payload: last?.payload ?? null, reason }]
    })
  }

  async close(): Promise<void> {}
}

export function openMemoryStore(options: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options)
}
