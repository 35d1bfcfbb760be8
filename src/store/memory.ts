// The store port in memory: a few maps, one synchronous function per method. For stateless runs and for the
// simulation; the contract suite holds it to what the SQL store does. It has no locks and no snapshots to get
// wrong, so `busy` is never its answer.

import type {
  Answer,
  Claimed,
  Committed,
  Delta,
  FeedEntry,
  Fence,
  MessageDelta,
  NewRun,
  Owned,
  RunFilter,
  RunReader,
  RunView,
  Settled,
  StartDelta,
  StepTransaction,
  Store,
  TurnDelta,
  Worker,
} from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import { CRASHES_MAX, CRASHES_SUSPECT, MAILBOX_MAX } from '../model/limits.js'
import {
  type Entry,
  type FinalStatus,
  type Instant,
  isFinal,
  type Message,
  type NewEntry,
  type NewMessage,
  type Status,
  type Stop,
  type StoredReason,
} from '../model/run.js'

/** A row of `runs`, with its journal and its mailbox. */
export interface MemoryRun {
  readonly uid: Uid
  readonly run: NewRun
  version: string | null
  status: Status
  reason: StoredReason | null
  stop: Stop | null
  owner: WorkerId | null
  dueAt: Instant | null
  epoch: number
  attempt: number
  crashes: number
  inbox: number
  taken: number
  divergedBuilds: string[]
  readonly createdAt: Instant
  updatedAt: Instant
  startedAt: Instant | null
  finishedAt: Instant | null
  readonly deadlineAt: Instant | null
  readonly journal: (Entry & { readonly epoch: number })[]
  readonly messages: (Message & { takenSeq: number | null })[]
}

/** Protections that a test may take out, to prove that it would be noticed. */
export type MemoryDefect =
  | 'fence-without-epoch'
  | 'fence-without-seq'
  | 'park-ignores-inbox'
  | 'message-ids-forgotten'
  | 'terminal-overwrite'
  | 'early-accepted'
  | 'crashes-not-counted'

export interface MemoryStoreOptions {
  readonly now: () => Instant
  readonly mailboxMax?: number
  readonly defects?: ReadonlySet<MemoryDefect>
}

const OUTCOMES = new Set([
  'step.completed',
  'step.failed',
  'timer.fired',
  'message.taken',
  'child.ended',
])

export class MemoryStore implements Store {
  readonly runs = new Map<Uid, MemoryRun>()
  readonly workers = new Map<WorkerId, { beat: number; leaseUntil: Instant; worker: Worker }>()
  /** What step transactions have written, in order of their commits. */
  readonly written: { readonly sql: string; readonly params: readonly unknown[] }[] = []
  readonly read: RunReader
  private readonly byId = new Map<string, Uid>()
  private feed: { id: number; worker: WorkerId; ranges: [Uid, number, number][] }[] = []
  private feedIds = 0
  private readonly now: () => Instant
  private readonly mailboxMax: number
  private readonly defects: ReadonlySet<MemoryDefect>

  constructor(options: MemoryStoreOptions) {
    this.now = options.now
    this.mailboxMax = options.mailboxMax ?? MAILBOX_MAX
    this.defects = options.defects ?? new Set()
    this.read = new MemoryReader(this)
  }

  // ── commit ────────────────────────────────────────────────────────────────────────────────────────────────

  async commit(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Promise<Committed> {
    return this.commitNow(by, deltas, options)
  }

  commitNow(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Committed {
    const now = this.now()
    const claimed: Claimed[] = []
    const ranges: [Uid, number, number][] = []
    const answers: Answer[] = new Array(deltas.length)
    // Own results, then starts, then mail: the order of the SQL function.
    const order: Delta['kind'][] = ['turn', 'start', 'message']
    for (const kind of order) {
      for (const [i, delta] of deltas.entries()) {
        if (delta.kind !== kind) continue
        if (delta.kind === 'turn')
          answers[i] = this.turn(by, delta, options.resent, now, claimed, ranges)
        else if (delta.kind === 'start') answers[i] = this.start(by, delta, now, ranges)
        else answers[i] = this.message(by, delta, now, claimed)
      }
    }
    let feedId: number | null = null
    if (options.feed && ranges.length > 0) {
      this.feedIds += 1
      feedId = this.feedIds
      this.feed.push({ id: feedId, worker: by.id, ranges })
    }
    return { now, answers, claimed, feedId }
  }

  private start(
    by: Worker,
    delta: StartDelta,
    now: Instant,
    ranges: [Uid, number, number][],
  ): Answer {
    const { run } = delta
    const known = this.runs.get(this.byId.get(idKey(run.workspace, run.id)) ?? ('' as Uid))
    if (known && known.uid !== run.uid) {
      const same =
        known.run.definition === run.definition && known.journal[0]?.payload === run.input
      return { kind: 'exists', uid: known.uid, definition: known.run.definition, same }
    }
    if (known) return { ...this.done(known), repeated: true }
    ranges.push([run.uid, 1, 1])
    return this.done(this.insert(by, delta, now))
  }

  private insert(by: Worker, { run, claim }: StartDelta, now: Instant): MemoryRun {
    const dueAt = now + run.delayMs
    const row: MemoryRun = {
      uid: run.uid,
      run,
      version: run.version,
      status: claim ? 'running' : 'pending',
      reason: null,
      stop: null,
      owner: claim ? by.id : null,
      dueAt: claim ? null : dueAt,
      epoch: claim ? 1 : 0,
      attempt: 1,
      crashes: 0,
      inbox: 0,
      taken: 0,
      divergedBuilds: [],
      createdAt: now,
      updatedAt: now,
      startedAt: claim ? now : null,
      finishedAt: null,
      deadlineAt: run.timeoutMs === null ? null : dueAt + run.timeoutMs,
      journal: [],
      messages: [],
    }
    if (claim) row.version ??= versionFor(by, run.definition)
    const meta = run.order ? { order: run.order } : null
    const entry = { kind: 'run.created', name: '', occurrence: 0, attempt: 0 } as const
    this.append(row, { ...entry, at: now, meta, payload: run.input })
    this.runs.set(run.uid, row)
    this.byId.set(idKey(run.workspace, run.id), run.uid)
    return row
  }

  private turn(
    by: Worker,
    delta: TurnDelta,
    resent: boolean,
    now: Instant,
    claimed: Claimed[],
    ranges: [Uid, number, number][],
  ): Answer {
    const { fence, next, entries } = delta
    const row = this.runs.get(fence.uid)
    const refused = this.refuses(row, delta, resent, now)
    if (refused || !row) return refused ?? { kind: 'stale' }
    if (entries.length > 0) ranges.push([row.uid, fence.seq + 1, fence.seq + entries.length])
    for (const entry of entries) {
      this.append(row, entry)
      if (OUTCOMES.has(entry.kind)) row.crashes = 0
    }
    for (const message of row.messages) {
      if (!delta.taken.includes(message.no) || message.takenSeq !== null) continue
      message.takenSeq = row.journal.length
      row.taken += 1
    }
    for (const start of delta.starts) {
      if (this.runs.has(start.run.uid)) continue
      this.insert(by, start, now)
      ranges.push([start.run.uid, 1, 1])
    }
    row.updatedAt = now
    this.move(row, next, now)
    for (const { to, message, claim } of delta.messages) {
      const target = this.runs.get(to)
      if (target) this.deliver(by, target, message, claim, now, claimed)
    }
    return this.done(row)
  }

  private refuses(
    row: MemoryRun | undefined,
    delta: TurnDelta,
    resent: boolean,
    now: Instant,
  ): Answer | null {
    const { fence, next, entries, notBefore } = delta
    if (!row) return { kind: 'stale' }
    const epochHolds = this.defects.has('fence-without-epoch')
      ? row.owner !== null
      : row.owner === fence.owner && row.epoch === fence.epoch
    const seqHolds = this.defects.has('fence-without-seq') || row.journal.length === fence.seq
    if (!epochHolds || !seqHolds) {
      if (!resent) return { kind: 'stale' }
      const last = row.journal[fence.seq + entries.length - 1]
      const applied = entries.length === 0 || last?.epoch === fence.epoch
      return applied ? { ...this.done(row), repeated: true } : { kind: 'stale' }
    }
    if (notBefore !== null && now < notBefore && !this.defects.has('early-accepted')) {
      return { kind: 'early' }
    }
    const overridden = row.stop !== null && next.kind === 'end' && next.stopSeen !== row.stop
    return overridden && row.stop ? { kind: 'stopping', stop: row.stop } : null
  }

  private move(row: MemoryRun, next: TurnDelta['next'], now: Instant): void {
    switch (next.kind) {
      case 'go':
        return
      case 'park': {
        row.owner = null
        row.status = 'waiting'
        row.reason = next.reason
        const mail = row.inbox > next.seen && !this.defects.has('park-ignores-inbox')
        row.dueAt = mail || row.stop === 'cancel' ? now : next.dueAt
        if (next.divergedBuild !== null) {
          row.divergedBuilds = [...row.divergedBuilds, next.divergedBuild].slice(-8)
        }
        if (next.reason === 'diverged') row.dueAt = now
        return
      }
      case 'release':
        row.owner = null
        row.status = row.journal.length > 1 ? 'waiting' : 'pending'
        row.reason = row.journal.length > 1 ? 'timer' : null
        row.dueAt = now
        return
      case 'end':
        row.owner = null
        row.dueAt = null
        row.status = next.status
        row.reason = null
        row.finishedAt = now
    }
  }

  private message(by: Worker, delta: MessageDelta, now: Instant, claimed: Claimed[]): Answer {
    const row = this.find(delta.to.workspace, delta.to.id)
    if (!row) return { kind: 'refused', code: 'RUN_NOT_FOUND', status: null }
    return this.deliver(by, row, delta.message, delta.claim, now, claimed)
  }

  private deliver(
    by: Worker,
    row: MemoryRun,
    message: NewMessage,
    claim: boolean,
    now: Instant,
    claimed: Claimed[],
  ): Answer {
    const known = row.messages.find((one) => one.id === message.id)
    if (known && !this.defects.has('message-ids-forgotten')) {
      return { ...this.done(row), messageNo: known.no, repeated: true }
    }
    if (isFinal(row.status) && !this.defects.has('terminal-overwrite')) {
      return { kind: 'refused', code: 'RUN_FINISHED', status: row.status }
    }
    if (row.inbox - row.taken >= this.mailboxMax && message.kind === 'signal') {
      return { kind: 'refused', code: 'MAILBOX_FULL', status: row.status }
    }
    row.inbox += 1
    row.messages.push({ ...message, no: row.inbox, at: now, takenSeq: null })
    const cancels = message.kind === 'cancel'
    if (cancels) row.stop = 'cancel'
    if (row.owner === null && row.stop !== 'pause' && (row.status === 'waiting' || cancels)) {
      row.dueAt = now
      const diverged = row.divergedBuilds.includes(by.build)
      if (claim && (cancels || (hasCode(by, row) && !diverged)) && this.workers.has(by.id)) {
        claimed.push(this.own(row, by, now))
      }
    }
    return { ...this.done(row), messageNo: row.inbox }
  }

  private append(row: MemoryRun, entry: NewEntry): void {
    row.journal.push({ ...entry, seq: row.journal.length + 1, epoch: row.epoch })
  }

  private done(row: MemoryRun): Answer & { kind: 'done' } {
    const { uid, inbox, stop } = row
    return { kind: 'done', uid, inbox, stop, messageNo: 0, repeated: false }
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

  private own(row: MemoryRun, by: Worker, now: Instant): Claimed {
    row.owner = by.id
    row.epoch += 1
    row.dueAt = null
    row.status = 'running'
    row.reason = null
    row.startedAt ??= now
    row.version ??= versionFor(by, row.run.definition)
    return claimedOf(row)
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

  find(workspace: string, id: RunId): MemoryRun | undefined {
    const uid = this.byId.get(idKey(workspace, id))
    return uid && this.runs.get(uid)
  }

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

const idKey = (workspace: string, id: string): string => `${workspace}\u001f${id}`

function hasCode(by: Worker, row: MemoryRun): boolean {
  return by.definitions.some(
    ({ name, version }) =>
      name === row.run.definition && (row.version === null || row.version === version),
  )
}

function versionFor(by: Worker, definition: string): string | null {
  return by.definitions.find(({ name }) => name === definition)?.version ?? null
}

function needsNoCode(row: MemoryRun, now: Instant): boolean {
  if (row.stop === 'cancel' || row.crashes >= CRASHES_MAX) return true
  return row.deadlineAt !== null && row.deadlineAt <= now
}

function claimedOf(row: MemoryRun): Claimed {
  const { uid, epoch, inbox, stop, crashes, attempt, version, createdAt, deadlineAt } = row
  const { id, workspace, definition, tags, parent } = row.run
  return {
    uid,
    epoch,
    seq: row.journal.length,
    inbox,
    stop,
    crashes,
    attempt,
    id,
    workspace,
    definition,
    version,
    tags,
    parentUid: parent?.uid ?? null,
    parentId: parent?.id ?? null,
    createdAt,
    startedAt: row.startedAt ?? createdAt,
    deadlineAt,
  }
}

class MemoryReader implements RunReader {
  private readonly store: MemoryStore

  constructor(store: MemoryStore) {
    this.store = store
  }

  async get(workspace: string, id: RunId): Promise<RunView | null> {
    const row = this.store.find(workspace, id)
    return row ? viewOf(row) : null
  }

  async list(filter: RunFilter): Promise<readonly RunView[]> {
    const rows = [...this.store.runs.values()].filter((row) => fits(row, filter))
    rows.sort((a, b) => (a.uid < b.uid ? -1 : 1) * (filter.newestFirst ? -1 : 1))
    return rows.slice(0, filter.limit).map(viewOf)
  }

  async history(
    uid: Uid,
    page: { readonly after: number | null; readonly limit: number; readonly newestFirst: boolean },
  ): Promise<readonly Entry[]> {
    const { after, limit, newestFirst } = page
    const entries = (this.store.runs.get(uid)?.journal ?? []).filter((entry) =>
      after === null ? true : newestFirst ? entry.seq < after : entry.seq > after,
    )
    return (newestFirst ? entries.toReversed() : entries).slice(0, limit)
  }

  async openChildren(uid: Uid): Promise<readonly RunView[]> {
    return [...this.store.runs.values()]
      .filter((row) => row.run.parent?.uid === uid && !isFinal(row.status))
      .map(viewOf)
  }

  async liveDefinitions(): Promise<readonly string[]> {
    const all = [...this.store.workers.values()].flatMap(({ worker }) => worker.definitions)
    return [...new Set(all.map(({ name, version }) => `${name}@${version}`))]
  }
}

function fits(row: MemoryRun, filter: RunFilter): boolean {
  const { run } = row
  return (
    (filter.workspace === null || run.workspace === filter.workspace) &&
    (filter.definition === null || run.definition === filter.definition) &&
    (filter.statuses === null || filter.statuses.includes(row.status)) &&
    (filter.reason === null || row.reason === filter.reason) &&
    Object.entries(filter.tags).every(([key, value]) => run.tags[key] === value) &&
    (filter.parentId === null || run.parent?.id === filter.parentId) &&
    (filter.createdAfter === null || row.createdAt > filter.createdAfter) &&
    (filter.createdBefore === null || row.createdAt < filter.createdBefore) &&
    (filter.text === null || run.id.includes(filter.text)) &&
    (filter.after === null ||
      (filter.newestFirst ? row.uid < filter.after : row.uid > filter.after))
  )
}

function viewOf(row: MemoryRun): RunView {
  const { version, status, reason, stop, dueAt, owner, attempt, crashes } = row
  const { uid, createdAt, updatedAt, startedAt, finishedAt, deadlineAt } = row
  const { id, workspace, definition, tags, input, parent } = row.run
  const end = isFinal(status) ? (row.journal.at(-1) ?? null) : null
  const family = { parentUid: parent?.uid ?? null, parentId: parent?.id ?? null }
  const times = { createdAt, updatedAt, startedAt, finishedAt, deadlineAt }
  const state = { status, reason, stop, dueAt, owner, attempt, crashes, seq: row.journal.length }
  const names = { uid, id, workspace, definition, version, tags, input }
  return { ...names, ...family, ...times, ...state, end }
}
