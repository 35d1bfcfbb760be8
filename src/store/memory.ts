// The store port in memory: a few maps, one synchronous function per method. For stateless runs and for the
// simulation; the contract suite holds it to what the SQL store does. It has no locks and no snapshots to get
// wrong, so `busy` is never its answer.

import type {
  Admitted,
  Call,
  Called,
  Committed,
  Debounced,
  Delta,
  FeedEntry,
  Fence,
  LoneStart,
  Owned,
  RunReader,
  Settled,
  StepTransaction,
  Store,
  ToolStore,
  Worker,
} from '../kernel/store.js'
import type { MessageId, RunId, Uid, WorkerId } from '../model/ids.js'
import { type FinalStatus, type Instant, isFinal, type NewEntry } from '../model/run.js'
import { dueRuns, nextDueAt } from './memory-claim.js'
import { pushBack } from './memory-limits.js'
import { MemoryMoving } from './memory-moving.js'
import { MemoryReader } from './memory-reader.js'
import { checkEntry, refuseUnstorable } from './memory-refusals.js'
import {
  claimedOf,
  entryOf,
  lastTaken,
  type MemoryRun,
  messageOf,
  neededOf,
  own,
  placeOf,
  release,
  setDue,
} from './memory-run.js'
import type { MemoryStoreOptions } from './memory-tables.js'

export type { MemoryRun } from './memory-run.js'
export type { MemoryDefect } from './memory-tables.js'

export class MemoryStore extends MemoryMoving implements ToolStore {
  readonly read: RunReader
  /** What step transactions have written, in order of their commits. */
  readonly written: { readonly sql: string; readonly params: readonly unknown[] }[] = []
  /** Who reaps: the worker that has joined last. */
  private joined: WorkerId | null = null
  private readonly debounced = new Map<string, Uid>()

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
    const due = dueRuns(this.openRuns(), by, { places, suspects }, now)
    const claimed = due.map((row) => own(row, by, now))
    return { now, claimed, nextDueAt: nextDueAt(this.openRuns(), by) }
  }

  async load(
    what: readonly { readonly fence: Fence; readonly fromSeq: number; readonly fromNo: number }[],
  ) {
    return what.flatMap(({ fence, fromSeq, fromNo }) => {
      const row = this.runs.get(fence.uid)
      if (row?.owner !== fence.owner || row.epoch !== fence.epoch) return []
      const isWhole = fromSeq === 0
      const entries = (isWhole ? neededOf(row) : row.journal.slice(fromSeq)).map(entryOf)
      const untaken = row.messages.filter(({ no, takenSeq }) => no > fromNo && takenSeq === null)
      const messages = untaken.map(messageOf)
      const taken = isWhole ? lastTaken(row) : 0
      return [{ uid: fence.uid, entries, messages, taken }]
    })
  }

  async admit(isSweep: boolean, by: Worker | null = null, places = 0): Promise<Admitted> {
    const counts = !this.defects.has('admit-without-count')
    return this.slots.admit(this, { isSweep, counts, by, places })
  }

  async debounce(start: LoneStart, key: string): Promise<Debounced> {
    const { run } = start
    refuseUnstorable([{ kind: 'start', run, claim: false }], this)
    const name = JSON.stringify([run.workspace, run.definition, key])
    const row = this.runs.get(this.debounced.get(name) ?? run.uid)
    const isPending = row?.status === 'pending' && row.owner === null && row.epoch === 0
    if (row && isPending && row.stop === null && row.journal.length === 1) {
      pushBack(row, run, this.now())
      return { kind: 'done', uid: row.uid, id: row.run.id }
    }
    const answer = await this.startAlone(start, null)
    if (answer.kind === 'exists') return answer
    this.debounced.set(name, run.uid)
    return { kind: 'done', uid: run.uid, id: run.id }
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
    const { beat, startedAt } = this.workers.get(by.id) ?? { beat: 0, startedAt: now }
    this.workers.set(by.id, { beat, startedAt, leaseUntil: now + by.leaseMs, worker: by })
    this.joined = by.id
    this.slots.declare(by)
    return { now }
  }

  async declare(by: Worker): Promise<void> {
    const row = this.workers.get(by.id)
    if (row) this.workers.set(by.id, { ...row, worker: by })
  }

  async beat(by: Worker) {
    const now = this.now()
    const row = this.workers.get(by.id)
    if (row) {
      row.beat += 1
      row.leaseUntil = now + by.leaseMs
    }
    const owned: Owned[] = []
    for (const run of this.openRuns()) {
      if (run.owner !== by.id) continue
      const { uid, epoch, inbox, stop } = run
      owned.push({ uid, epoch, inbox, stop, row: claimedOf(run) })
    }
    return { alive: row !== undefined, now, owned }
  }

  async leave(by: Worker): Promise<void> {
    const now = this.now()
    for (const row of this.openRuns()) {
      if (row.owner !== by.id) continue
      release(row, now)
      this.note(row.uid, 0)
    }
    this.workers.delete(by.id)
  }

  reap(unmoved: Parameters<Store['reap']>[0], inherit: boolean) {
    return this.reapFor(inherit ? this.joined : null, false, unmoved)
  }

  /** For who shares this store with others. `heir` inherits; `again`: its last answer was lost. */
  async reapFor(
    heir: WorkerId | null,
    again: boolean,
    unmoved: readonly { readonly id: WorkerId; readonly beat: number }[],
  ) {
    const now = this.now()
    const dead: WorkerId[] = []
    for (const { id, beat } of unmoved) {
      const row = this.workers.get(id)
      const isLeased = row && row.leaseUntil >= now && !this.defects.has('reap-without-lease')
      if (row?.beat !== beat || isLeased) continue
      this.workers.delete(id)
      dead.push(id)
    }
    const freed = this.freeOrphans(now)
    const orphaned = this.feed.filter(
      ({ worker }) => !this.workers.has(worker) || (again && worker === heir),
    )
    const rows = heir === null ? [] : orphaned
    for (const row of rows) row.worker = heir ?? row.worker
    const inherited = rows.flatMap(({ spans }) => spans.flatMap((span) => this.feedEntries(span)))
    const workers = [...this.workers].map(([id, { beat }]) => ({ id, beat }))
    return { workers, dead, freed, inherited, inheritedIds: rows.map(({ id }) => id) }
  }

  /** The runs of every owner without a row. */
  private freeOrphans(now: Instant): number {
    let freed = 0
    for (const row of this.openRuns()) {
      if (row.owner === null || this.workers.has(row.owner)) continue
      release(row, now)
      this.note(row.uid, 0)
      if (!this.defects.has('crashes-not-counted')) row.crashes += 1
      freed += 1
    }
    return freed
  }

  private feedEntries([uid, from, to]: readonly [Uid, number, number]): FeedEntry[] {
    const row = this.runs.get(uid)
    if (!row) return []
    const { id, workspace, definition } = row.run
    const entries = row.journal.slice(from - 1, to).map(entryOf)
    return entries.map((entry) => ({ uid, id, workspace, definition, entry }))
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
    for (const { entry } of chain) checkEntry(entry)
    if (rows.includes(null)) return 'changed'
    const now = this.now()
    for (const [i, { entry, due }] of chain.entries()) {
      const row = rows[i]
      if (!row) continue
      this.append(row, entry)
      row.attempt += 1
      row.crashes = 0
      row.status = 'waiting'
      this.keep(row)
      row.reason = due ? null : 'child'
      row.finishedAt = null
      setDue(row, due ? now : null)
      row.updatedAt = now
      // One that has passed would end it again at once.
      if (row.deadlineAt !== null && row.deadlineAt <= now) row.deadlineAt = null
    }
    for (const row of rows) if (row) this.tellOfEnds(row, now)
    return 'done'
  }

  /** Of its children under an id that have ended while it was over: nobody could tell it then. */
  private tellOfEnds(row: MemoryRun, now: Instant): void {
    const children = [...this.runs.values()].filter(({ run }) => run.parent?.uid === row.uid)
    for (const child of children.toSorted((a, b) => (a.uid < b.uid ? -1 : 1))) {
      const { uid, status, attempt, journal } = child
      const id = `child:${uid}:${attempt}` as MessageId
      const isKnown = row.messages.some((message) => message.id === id)
      if (!isFinal(status) || String(child.run.id) === String(uid) || isKnown) continue
      row.inbox += 1
      row.messages.push({
        ...{ id, kind: 'child', name: '', meta: { uid, status } },
        ...{ payload: journal.at(-1)?.payload ?? null, no: row.inbox, at: now },
        ...{ takenSeq: null, replySeq: null },
      })
      setDue(row, row.dueAt ?? row.asksAt ?? now)
    }
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

  async called(calls: readonly Call[]) {
    return calls.flatMap(({ uid, no }): (Call & Called)[] => {
      const row = this.runs.get(uid)
      const { takenSeq = null, replySeq = null } = row?.messages[placeOf(row, no)] ?? {}
      const isOver = !row || isFinal(row.status)
      if (takenSeq === null) return isOver ? [{ uid, no, fate: 'finished', reply: null }] : []
      if (replySeq === 0 && !isOver) return []
      const answer = replySeq ? row?.journal[replySeq - 1] : undefined
      const reply = answer ? { kind: answer.kind, payload: answer.payload } : null
      return [{ uid, no, fate: takenSeq > 0 ? 'taken' : 'refused', reply }]
    })
  }

  async close(): Promise<void> {}
}

export function openMemoryStore(options: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options)
}
