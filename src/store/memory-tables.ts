// The tables of the store in memory, and the commit on them, in the order of commit_v2: turns without messages and
// starts, turns with messages, then all mail.

import type {
  Answer,
  Committed,
  Delta,
  MessageDelta,
  StartDelta,
  TurnDelta,
  Worker,
} from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import { MAILBOX_MAX } from '../model/limits.js'
import { type EntryMeta, type Instant, isFinal, type NewEntry } from '../model/run.js'
import { isFolded } from './fold.js'
import { bring, isAsLeft, isBrought } from './memory-brought.js'
import { writeDocument } from './memory-documents.js'
import { deliver, type Fate, type Letter } from './memory-mail.js'
import { refuseUnstorable } from './memory-refusals.js'
import { idKey, type MemoryRun, placeOf, release, setDue, versionFor } from './memory-run.js'
import { isBroughtWhole } from './pack-brought.js'
import { createdMeta } from './pack-commit.js'
import { isOutcome } from './pack-turns.js'

/** Protections that a test may take out, to prove that it would be noticed. */
export type MemoryDefect =
  | 'fence-without-epoch'
  | 'fence-without-seq'
  | 'park-ignores-inbox'
  | 'message-ids-forgotten'
  | 'terminal-overwrite'
  | 'early-accepted'
  | 'crashes-not-counted'
  | 'fence-by-worker'
  | 'unlock-unfenced'
  | 'taken-though-refused'
  | 'reap-without-lease'
  | 'park-keeps-slot'
  | 'admit-without-count'

export interface MemoryStoreOptions {
  readonly now: () => Instant
  readonly mailboxMax?: number
  readonly defects?: ReadonlySet<MemoryDefect>
}

/** What was appended: entries from … to … of a run. */
type Span = readonly [uid: Uid, from: number, to: number]

/** A commit under way. */
interface Batch {
  readonly by: Worker
  readonly now: Instant
  readonly resent: boolean
  readonly spans: Span[]
  readonly fates: Map<TurnDelta, 'applied' | 'repeated' | Answer>
  /** Those with limits that were started, woken, or have given their slot back. */
  isAsking: boolean
}

export class MemoryTables {
  readonly runs = new Map<Uid, MemoryRun>()
  /** All that have not ended, and some that have or are gone: those are left out when they are met. */
  private readonly unfinished = new Set<MemoryRun>()
  readonly workers = new Map<
    WorkerId,
    { beat: number; leaseUntil: Instant; readonly startedAt: Instant; worker: Worker }
  >()
  readonly now: () => Instant
  protected feed: { readonly id: number; worker: WorkerId; readonly spans: readonly Span[] }[] = []
  protected readonly defects: ReadonlySet<MemoryDefect>
  readonly byId = new Map<string, Uid>()
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

  /** Those that have not ended: most have, and who looks for work need not walk over them. */
  *openRuns(): Generator<MemoryRun> {
    for (const row of this.unfinished) {
      if (isFinal(row.status) || !this.runs.has(row.uid)) this.unfinished.delete(row)
      else yield row
    }
  }

  /** It is new, or goes on. */
  keep(row: MemoryRun): void {
    this.runs.set(row.uid, row)
    // Last, whether or not it was still there: the order is the same in every process that does the same.
    this.unfinished.delete(row)
    this.unfinished.add(row)
  }

  commitNow(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Committed {
    refuseUnstorable(deltas, { byId: this.byId, runs: this.runs })
    const now = this.now()
    const batch: Batch = {
      by,
      now,
      resent: options.resent,
      spans: [],
      fates: new Map(),
      isAsking: false,
    }
    const turns = deltas.filter((delta) => delta.kind === 'turn')
    turns.sort((a, b) => (a.fence.uid < b.fence.uid ? -1 : 1))
    const starts = deltas.filter((delta) => delta.kind === 'start')
    const messages = deltas.filter((delta) => delta.kind === 'message')

    const silent = turns.filter((turn) => turn.messages.length === 0)
    const children = silent.flatMap((turn) => (this.turn(turn, batch) ? turn.starts : []))
    const started = new Map(starts.map((start) => [start, this.start(start, batch)]))
    for (const child of children) this.start(child, batch)
    const telling = turns.filter((turn) => turn.messages.length > 0 && this.turn(turn, batch))
    for (const child of telling.flatMap((turn) => turn.starts)) this.start(child, batch)

    const letters = this.mail(messages, telling)
    const {
      fates,
      claimed,
      isAsking: isWoken,
    } = deliver(letters, {
      by,
      now,
      mailboxMax: this.mailboxMax,
      forgetsIds: this.defects.has('message-ids-forgotten'),
      writesToFinal: this.defects.has('terminal-overwrite'),
    })
    // After all of it: mail of this batch may have come behind a turn.
    const answers = deltas.map((delta): Answer => {
      if (delta.kind === 'turn') return this.turnAnswer(delta, batch)
      if (delta.kind === 'start') return started.get(delta) ?? done(delta.run.uid)
      const at = messages.indexOf(delta)
      return mailAnswer(letters[at]?.row, fates[at] ?? 'RUN_NOT_FOUND')
    })
    const feedId = options.feed ? this.fed(batch) : null
    return { now, answers, claimed, feedId, isAsking: batch.isAsking || isWoken }
  }

  private fed({ by, spans }: Batch): number | null {
    if (spans.length === 0) return null
    this.feedIds += 1
    this.feed.push({ id: this.feedIds, worker: by.id, spans })
    return this.feedIds
  }

  /** Callers' messages, then those of the turns that were applied. */
  private mail(messages: readonly MessageDelta[], turns: readonly TurnDelta[]): readonly Letter[] {
    const callers = messages.map(({ to, message, claim }) => {
      return { row: this.find(to.workspace, to.id), message, claim, isCallers: true }
    })
    const told = turns.flatMap((turn) =>
      turn.messages.map(({ to, message, claim }) => {
        return { row: this.runs.get(to), message, claim, isCallers: false }
      }),
    )
    return [...callers, ...told]
  }

  // ── starts ────────────────────────────────────────────────────────────────────────────────────────────────

  private start(delta: StartDelta, batch: Batch): Answer {
    const { run } = delta
    const known = this.find(run.workspace, run.id)
    if (known && known.uid !== run.uid) {
      const { definition } = known.run
      const same = definition === run.definition && known.journal[0]?.payload === run.input
      return { kind: 'exists', uid: known.uid, definition, same }
    }
    const repeated = this.runs.has(run.uid)
    if (!repeated) this.insert(delta, batch)
    batch.isAsking ||= !repeated && run.limits != null
    return { ...done(run.uid), repeated }
  }

  protected insert(
    { run, claim }: StartDelta,
    { by, now, spans }: Pick<Batch, 'now' | 'spans'> & { readonly by: Worker | null },
    created: EntryMeta | null = createdMeta(run),
  ): MemoryRun {
    const dueAt = now + run.delayMs
    const row: MemoryRun = {
      uid: run.uid,
      run,
      version: run.version ?? (claim && by ? versionFor(by, run.definition) : null),
      status: claim ? 'running' : 'pending',
      reason: null,
      stop: null,
      undoOpen: 0,
      state: null,
      place: null,
      error: null,
      documents: [],
      owner: claim && by ? by.id : null,
      dueAt: claim || run.limits ? null : dueAt,
      slot: run.limits ? false : null,
      asksAt: run.limits ? dueAt : null,
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
    const entry = { kind: 'run.created', name: '', occurrence: 0, attempt: 0 } as const
    this.append(row, { ...entry, at: now, meta: created, payload: run.input })
    this.keep(row)
    this.byId.set(idKey(run.workspace, run.id), run.uid)
    spans.push([run.uid, 1, 1])
    return row
  }

  // ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether it was applied. */
  private turn(delta: TurnDelta, batch: Batch): boolean {
    const { fence, next, entries, taken, refused: untaken } = delta
    const row = this.runs.get(fence.uid)
    const refused = this.unbrought(row, delta, batch) ?? this.refuses(row, delta, batch)
    batch.fates.set(delta, refused ?? 'applied')
    if (refused && row) this.harm(row, delta, batch.now)
    if (refused || !row) return false
    const from = row.journal.length
    for (const entry of entries) {
      this.append(row, entry)
      if (isOutcome(entry)) row.crashes = 0
    }
    const takenSeq = row.journal.length
    if (entries.length > 0) batch.spans.push([row.uid, from + 1, takenSeq])
    row.taken += taken.length + untaken.length
    // The payload is in the journal now.
    for (const no of taken) settle(row, no, takenSeq)
    for (const no of untaken) settle(row, no, 0)
    row.updatedAt = batch.now
    row.undoOpen = delta.undoOpen ?? row.undoOpen
    this.leaves(row, delta, from)
    if (delta.brings?.areNew && isFolded(delta)) row.messages.length -= delta.brings.messages.length
    this.listens(row, delta)
    this.move(row, next, batch.now)
    if (next.kind === 'end') this.ended(row)
    batch.isAsking ||= row.slot !== null && next.kind !== 'go'
    return true
  }

  /** null: it brings nothing, or has brought it. */
  private unbrought(
    row: MemoryRun | undefined,
    delta: TurnDelta,
    { by, now, resent }: Batch,
  ): 'repeated' | Answer | null {
    const { mailboxMax } = this
    const isMember = this.workers.has(by.id)
    if (!delta.brings || bring(row, delta, { by, isMember, now, mailboxMax })) return null
    if (resent && isBrought(row, delta)) return 'repeated'
    if (resent && row && isAsLeft(row, delta)) row.epoch += 1
    return { kind: 'stale' }
  }

  /** What people see of it, its documents, and whom its entries answer. `from`: the entry before them. */
  private leaves(row: MemoryRun, { shown, documents, answers }: TurnDelta, from: number): void {
    row.state = shown?.state ?? row.state
    if (shown?.at) {
      row.place = shown.at.place
      row.error = shown.at.error
    }
    for (const { document, entry } of documents) writeDocument(row, document, from + entry)
    for (const { no, entry } of answers) {
      const message = row.messages[placeOf(row, no)]
      if (message) message.replySeq = entry === null ? 0 : from + entry
    }
  }

  /** What a refused turn would do if nothing kept it from that. */
  private harm(row: MemoryRun, { next, taken }: TurnDelta, now: Instant): void {
    const isOver = next.kind === 'park' || next.kind === 'release'
    if (this.defects.has('unlock-unfenced') && row.owner !== null && isOver) release(row, now)
    if (!this.defects.has('taken-though-refused')) return
    row.taken += taken.length
    for (const no of taken) settle(row, no, row.journal.length)
  }

  /** What it waits for and emits beside the mailboxes. */
  protected listens(_row: MemoryRun, _delta: TurnDelta): void {}

  /** Whoever is to be told of its end. */
  protected ended(_row: MemoryRun): void {}

  private refuses(
    row: MemoryRun | undefined,
    { fence, next, entries, notBefore }: TurnDelta,
    { resent, now }: Batch,
  ): 'repeated' | Answer | null {
    const isOwner = row?.owner === fence.owner && row.epoch === fence.epoch
    const isUnfenced = this.defects.has('fence-without-epoch') && row?.owner !== null
    const isOurs = this.defects.has('fence-by-worker') && row?.owner === fence.owner
    const epochHolds = isOwner || isUnfenced || isOurs
    const seqHolds = this.defects.has('fence-without-seq') || row?.journal.length === fence.seq
    if (!row || !epochHolds || !seqHolds) {
      const last = row?.journal[fence.seq + entries.length - 1]
      const isStored = entries.length === 0 || last?.epoch === fence.epoch
      return resent && isStored ? 'repeated' : { kind: 'stale' }
    }
    if (notBefore !== null && now < notBefore && !this.defects.has('early-accepted')) {
      return { kind: 'early' }
    }
    const isUnseen = next.kind === 'end' && row.stop !== null && next.stopSeen !== row.stop
    return isUnseen && row.stop ? { kind: 'stopping', stop: row.stop } : null
  }

  private move(row: MemoryRun, next: TurnDelta['next'], now: Instant): void {
    if (next.kind === 'release') return release(row, now)
    row.reason = null
    if (next.kind === 'go') return
    const keepsSlot = next.kind === 'park' && next.keepsSlot && row.stop !== 'pause'
    if (row.slot && !keepsSlot && !this.defects.has('park-keeps-slot')) row.slot = false
    row.owner = null
    setDue(row, null)
    if (next.kind === 'end') {
      if (row.slot) row.slot = false
      row.status = next.status
      row.finishedAt = now
      return
    }
    const { divergedBuild: build, seen } = next
    row.status = 'waiting'
    row.reason = row.stop === 'pause' ? 'paused' : next.reason
    if (row.stop !== 'pause') {
      const hasMail = row.inbox > seen && !this.defects.has('park-ignores-inbox')
      const isTold = row.stop === 'cancel' && next.stopSeen !== 'cancel'
      setDue(row, isTold || hasMail || build !== null ? now : next.dueAt)
    }
    if (build === null) return
    const others = row.divergedBuilds.filter((one) => one !== build)
    row.divergedBuilds = [build, ...others].slice(0, 8)
  }

  private turnAnswer(delta: TurnDelta, { fates }: Batch): Answer {
    const fate = fates.get(delta) ?? { kind: 'stale' }
    if (fate !== 'applied' && fate !== 'repeated') return fate
    const { uid } = delta.fence
    const answer = done(uid, this.runs.get(uid))
    if (fate === 'repeated') return { ...answer, repeated: true }
    // Answered before anything else of the batch is done: this is what it has brought itself.
    const { brings } = delta
    if (!brings || !isBroughtWhole(delta)) return answer
    return { ...answer, inbox: brings.inbox + brings.messages.length, stop: null }
  }

  protected append(row: MemoryRun, entry: NewEntry): void {
    row.journal.push({ ...entry, seq: row.journal.length + 1, epoch: row.epoch })
  }
}

function settle(row: MemoryRun, no: number, takenSeq: number): void {
  const at = placeOf(row, no)
  const message = row.messages[at]
  if (message) row.messages[at] = { ...message, payload: null, takenSeq }
}

function done(uid: Uid, row?: MemoryRun): Answer & { kind: 'done' } {
  const { inbox, stop } = row ?? { inbox: 0, stop: null }
  return { kind: 'done', uid, inbox, stop, messageNo: 0, repeated: false }
}

function mailAnswer(row: MemoryRun | undefined, fate: Fate): Answer {
  if (typeof fate === 'string' || !row) {
    const code = typeof fate === 'string' ? fate : 'RUN_NOT_FOUND'
    return { kind: 'refused', code, status: row?.status ?? null }
  }
  return { ...done(row.uid, row), messageNo: fate.no, repeated: fate.isKnown }
}
