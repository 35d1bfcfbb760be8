// The tables of the store in memory, and the commit on them: own results, then starts, then mail, as in SQL.

import type {
  Answer,
  Claimed,
  Committed,
  Delta,
  MessageDelta,
  StartDelta,
  TurnDelta,
  Worker,
} from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import { MAILBOX_MAX } from '../model/limits.js'
import { type Instant, isFinal, type NewEntry, type NewMessage } from '../model/run.js'
import { claimedOf, hasCode, idKey, type MemoryRun, versionFor } from './memory-run.js'

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

export class MemoryTables {
  readonly runs = new Map<Uid, MemoryRun>()
  readonly workers = new Map<WorkerId, { beat: number; leaseUntil: Instant; worker: Worker }>()
  protected feed: { id: number; worker: WorkerId; ranges: [Uid, number, number][] }[] = []
  protected readonly now: () => Instant
  protected readonly defects: ReadonlySet<MemoryDefect>
  private readonly byId = new Map<string, Uid>()
  private readonly mailboxMax: number
  private feedIds = 0

  constructor(options: MemoryStoreOptions) {
    this.now = options.now
    this.mailboxMax = options.mailboxMax ?? MAILBOX_MAX
    this.defects = options.defects ?? new Set()
  }

  find(workspace: string, id: RunId): MemoryRun | undefined {
    const uid = this.byId.get(idKey(workspace, id))
    return uid && this.runs.get(uid)
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

  protected append(row: MemoryRun, entry: NewEntry): void {
    row.journal.push({ ...entry, seq: row.journal.length + 1, epoch: row.epoch })
  }

  private done(row: MemoryRun): Answer & { kind: 'done' } {
    const { uid, inbox, stop } = row
    return { kind: 'done', uid, inbox, stop, messageNo: 0, repeated: false }
  }

  protected own(row: MemoryRun, by: Worker, now: Instant): Claimed {
    row.owner = by.id
    row.epoch += 1
    row.dueAt = null
    row.status = 'running'
    row.reason = null
    row.startedAt ??= now
    row.version ??= versionFor(by, row.run.definition)
    return claimedOf(row)
  }
}
