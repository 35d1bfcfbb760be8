// What must be true after every change of the store, at every start of a step, and at every event. Numbers are
// those of the reliability bar.

import type { Answer, TurnDelta } from '../../src/kernel/store.js'
import type { Uid, WorkerId } from '../../src/model/ids.js'
import { retryDelayMs } from '../../src/model/retry.js'
import { type Entry, isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import type { Change } from './faulty-store.js'
import { answerTo, finalStatusOf, isAnswer, keyOf, knows, openQuestions } from './fold.js'
import { checkSlot, checkSlots } from './limits.js'
import { checkGiven, checkMachine } from './machine-invariants.js'
import type { Dispatch } from './programs.js'
import { checkScopes, checkUndoOrder } from './scope-invariants.js'
import type { Process, World } from './world.js'

type Row = Omit<MemoryRun, 'journal' | 'messages'>
interface Shadow {
  readonly row: Row
  readonly journal: Entry[]
  readonly messages: number
}

export class Watch {
  private readonly world: World
  private readonly shadows = new Map<Uid, Shadow>()
  private readonly leased = new Map<WorkerId, number>()
  private readonly applied = new Set<string>()
  private readonly keys = new Map<string, string>()
  private readonly policies = new Map<string, Dispatch['retry']>()
  /** No answer is lost here, so places are counted exactly. */
  private readonly strict: boolean

  constructor(world: World) {
    this.world = world
    const { replyLost, late, notApplied, faultPoints, outages } = world.options.faults
    this.strict = replyLost + late + notApplied + faultPoints + outages === 0
  }

  private fail(number: number | string, message: string): void {
    this.world.scheduler.fail(`invariant ${number}`, message)
  }

  // ── after a change ────────────────────────────────────────────────────────────────────────────────────────

  changed(change: Change): void {
    const touched = new Set<string>()
    for (const [i, delta] of change.deltas.entries()) {
      const answer = change.answers[i]
      if (delta.kind === 'turn') for (const { to } of delta.messages) touched.add(to)
      if (delta.kind === 'message') {
        const row = this.world.memory.find(delta.to.workspace, delta.to.id)
        if (row) touched.add(row.uid)
      }
      if (delta.kind === 'turn' && answer) this.turn(delta, answer)
    }
    for (const [i, delta] of change.deltas.entries()) {
      const kind = change.answers[i]?.kind
      if (delta.kind === 'turn' && kind !== 'done') this.unchanged(delta, touched)
    }
    for (const uid of this.shadows.keys()) {
      if (!this.world.memory.runs.has(uid)) this.fail(5, `run ${uid} is gone`)
    }
    for (const row of this.world.memory.runs.values()) this.row(row, change)
    this.capacity()
    checkSlots(this.world, (number, message) => this.fail(number, message))
    this.leases(change)
  }

  private turn(delta: TurnDelta, answer: Answer): void {
    const { uid, owner, epoch, seq } = delta.fence
    const before = this.shadows.get(uid)
    const row = this.world.memory.runs.get(uid)
    if (answer.kind !== 'done' || !row) return
    if (answer.repeated) {
      if (row.journal.length !== before?.journal.length) {
        this.fail(30, `a repeated delta changed run ${uid}`)
      }
      return
    }
    if (!before) return this.fail(3, `a turn of an unknown run ${uid}`)
    const isOwners = delta.brings ? before.row.owner === null : before.row.owner === owner
    if (delta.brings && delta.brings.inbox !== before.row.inbox) {
      this.fail(
        15,
        `messages were brought to ${uid} behind ${delta.brings.inbox}; there were ${before.row.inbox}`,
      )
    }
    if (!isOwners || before.row.epoch !== epoch) {
      this.fail(3, `${owner} wrote to ${uid} at epoch ${epoch}; it is ${before.row.epoch}`)
    }
    if (before.journal.length !== seq) this.fail(4, `a turn of ${uid} did not stand at its end`)
    const key = `${uid}:${epoch}:${seq}`
    if (delta.entries.length > 0 && this.applied.has(key)) this.fail(30, `${key} applied twice`)
    if (delta.entries.length > 0) this.applied.add(key)
  }

  /** Refused in any way: nothing at all has changed. */
  private unchanged(delta: TurnDelta, touched: ReadonlySet<string>): void {
    const { uid } = delta.fence
    const before = this.shadows.get(uid)
    const row = this.world.memory.runs.get(uid)
    if (!row || !before) return
    const same = row.journal.length === before.journal.length && row.attempt === before.row.attempt
    if (!same) return this.fail(28, `a refused turn changed the journal of ${uid}`)
    if (touched.has(uid)) return
    const { owner, status, dueAt, epoch, taken } = before.row
    const rest =
      row.owner === owner && row.status === status && row.dueAt === dueAt && row.taken === taken
    // So that what was sent before is never stored.
    const isBarred = delta.brings && row.owner === null && row.epoch === epoch + 1
    if (!rest || (row.epoch !== epoch && !isBarred))
      this.fail(28, `a refused turn changed the row of ${uid}`)
  }

  private row(row: MemoryRun, change: Change): void {
    const before = this.shadows.get(row.uid)
    if (before && isSame(before, row)) return
    const from = before?.journal.length ?? 0
    if (before) this.history(row, before)
    this.ownership(row, before, change)
    for (const entry of row.journal.slice(from)) this.appended(row, entry, before)
    this.projection(row, from)
    if (row.journal.length > from) this.answers(row)
    checkScopes(this.world, row, from, (number, message) => this.fail(number, message))
    checkMachine(row, (number, message) => this.fail(number, message))
    this.orphan(row)
    const { journal, messages, ...rest } = row
    const known = before?.journal ?? []
    known.push(...journal.slice(known.length))
    this.shadows.set(row.uid, { row: rest, journal: known, messages: messages.length })
  }

  private history(row: MemoryRun, before: Shadow): void {
    for (let i = 0; i < before.journal.length; i += 1) {
      if (row.journal[i] !== before.journal[i])
        this.fail(5, `entry ${i + 1} of ${row.uid} has changed`)
    }
    const was = before.row.status
    const grown = row.journal.slice(before.journal.length)
    if (isFinal(was) && was !== row.status && grown[0]?.kind !== 'run.reopened') {
      this.fail(6, `${row.uid} was ${was} and is ${row.status}`)
    }
    if (isFinal(was) && grown.length > 0 && grown[0]?.kind !== 'run.reopened') {
      this.fail(6, `${row.uid} was ${was} and got ${grown[0]?.kind}`)
    }
    if (row.inbox < before.row.inbox || row.taken < before.row.taken) {
      this.fail(15, `messages of ${row.uid} went away`)
    }
    if (isFinal(was) && row.inbox > before.row.inbox && isFinal(row.status)) {
      this.fail(6, `${row.uid} was ${was} and got a message`)
    }
  }

  private ownership(row: MemoryRun, before: Shadow | undefined, change: Change): void {
    const was = before?.row.epoch ?? 0
    const isBrought = change.deltas.some(
      (d) => d.kind === 'turn' && d.brings && d.fence.uid === row.uid,
    )
    const taken =
      row.owner !== null &&
      (row.epoch !== was || !before || (isBrought && before.row.owner === null))
    // What was sent before is kept out by one more (0018, F5).
    if (row.epoch < was || row.epoch > was + (isBrought ? 2 : 1)) {
      this.fail(2, `the epoch of ${row.uid} went from ${was} to ${row.epoch}`)
    }
    if (before && row.owner !== before.row.owner && row.owner !== null && !taken) {
      this.fail(2, `${row.uid} changed hands at the same epoch`)
    }
    const freed = before && before.row.owner !== null && row.owner === null
    if (freed && change.method === 'reap' && row.crashes !== before.row.crashes + 1) {
      this.fail('F17', `${row.uid} was freed from a dead worker, and no crash was counted`)
    }
    checkSlot(this.world, row, taken, (number, message) => this.fail(number, message))
    if (!taken || !before) return
    if (before.row.stop === 'pause' && row.stop === 'pause') {
      this.fail('rest', `${row.uid} was paused and taken`)
    }
    const held = before.row.owner
    const own = change.deltas.some((d) => d.kind === 'turn' && d.fence.uid === row.uid)
    if (held !== null && !own) this.fail(1, `${row.uid} was taken from ${held} by ${row.owner}`)
  }

  private appended(row: MemoryRun, entry: Entry, before: Shadow | undefined): void {
    const now = this.world.dbNow()
    const dueAt = entry.meta?.dueAt
    const byTime = entry.kind === 'timer.fired' || entry.kind === 'wait.withdrawn'
    if (byTime && (dueAt === undefined || now < dueAt)) {
      this.fail(18, `${entry.kind} of ${row.uid} at ${now}, due at ${dueAt}`)
    }
    // A graph has limits of its own: that of its waits, and that of its execution.
    const deadline = row.run.definition === 'graph' ? (dueAt ?? Infinity) : deadlineOf(row)
    if (entry.kind === 'run.timed_out' && now < deadline) {
      this.fail(18, `${row.uid} timed out too early`)
    }
    const ends = finalStatusOf(entry)
    if (ends) this.family(row)
    const wasStopping = row.journal.some(({ kind }) => kind === 'run.stopping')
    if (ends && before?.row.stop === 'cancel' && ends !== 'cancelled' && !wasStopping) {
      this.fail(21, `${row.uid} was to be cancelled and ended ${ends}`)
    }
    if (ends && before?.row.stop === 'pause') this.fail('rest', `${row.uid} was paused and ended`)
    if (entry.kind === 'step.failed') this.delay(row, entry)
  }

  /** The commit that ends a run tells its open children to stop. */
  private family(row: MemoryRun): void {
    for (const child of this.world.memory.runs.values()) {
      if (child.run.parent?.uid !== row.uid || isFinal(child.status)) continue
      // Re-opened by hand after its parent had heard of its failure: it is on its own.
      if (child.attempt > 1 || !knows(row, child)) continue
      if (child.stop !== 'cancel') this.fail(22, `${row.uid} left its child ${child.uid} alone`)
    }
  }

  private delay(row: MemoryRun, entry: Entry): void {
    const policy = this.policies.get(`${row.uid} ${keyOf(entry)}`)
    const retryAt = entry.meta?.retryAt
    if (!policy || retryAt === undefined) return
    const expected = retryDelayMs(policy, entry.attempt, 0)
    const waits = retryAt - entry.at
    // Where a clock is set back, or is ahead until it hears the database's, it may be so between the decision and its being written down.
    const { faults, drift, pollMs } = this.world.options
    const isJumpy = faults.clockJumps > 0
    if (!(waits <= expected + 2 * drift * pollMs) && !isJumpy)
      this.fail(39, `retry ${entry.attempt} waits ${waits}, not ${expected}`)
    if (entry.attempt > policy.attempts) this.fail(10, `attempt ${entry.attempt} of ${row.uid}`)
  }

  private projection(row: MemoryRun, from: number): void {
    const { uid, journal, messages } = row
    for (let i = from; i < journal.length; i += 1) {
      const { seq } = journal[i] ?? {}
      if (seq !== i + 1) this.fail(4, `entry ${i + 1} of ${uid} has number ${seq}`)
    }
    const ended = finalStatusOf(journal.at(-1))
    if ((ended ?? 'open') !== (isFinal(row.status) ? row.status : 'open')) {
      this.fail(7, `${uid} is ${row.status}, its journal says ${ended ?? 'open'}`)
    }
    if (isFinal(row.status) && (row.owner !== null || row.dueAt !== null)) {
      this.fail(7, `${uid} is final and has an owner or is due`)
    }
    if (row.owner !== null && (row.dueAt !== null || row.status !== 'running')) {
      this.fail(7, `${uid} is owned, ${row.status}, due at ${row.dueAt}`)
    }
    const ids = new Set(messages.map((message) => message.id))
    const byNo = new Map(messages.map((message) => [message.no, message]))
    // An event that was taken when it came, and that nobody knows, is forgotten.
    const forgotten = journal.filter(
      ({ kind, meta }) => kind === 'message.taken' && meta?.no && !byNo.has(meta.no),
    ).length
    if (row.inbox !== messages.length + forgotten || ids.size !== messages.length) {
      this.fail(15, `the mailbox of ${uid} has ${messages.length} messages, counter ${row.inbox}`)
    }
    const taken = messages.filter((message) => message.takenSeq !== null)
    if (row.taken !== taken.length + forgotten)
      this.fail(7, `${uid} counts ${row.taken} taken messages`)
    const used = new Set<number>()
    for (const { kind, meta } of journal) {
      if (kind !== 'message.taken' && kind !== 'child.ended') continue
      // A child that was not started any more.
      if (meta?.no === undefined) continue
      const { no } = meta
      if (used.has(no)) this.fail(15, `message ${no} of ${uid} was delivered twice`)
      used.add(no)
      if (byNo.get(no)?.takenSeq === null) this.fail(7, `message ${no} of ${uid} is not taken`)
    }
    for (const { no, kind } of taken) {
      const isRefused = kind === 'trigger' && byNo.get(no)?.takenSeq === 0
      if (!used.has(no) && kind !== 'cancel' && !isRefused)
        this.fail(15, `message ${no} of ${uid} is lost`)
    }
  }

  /** One answer per question, attempts in order, signals in order. */
  private answers(row: MemoryRun): void {
    const answered = new Set<string>()
    const attempts = new Map<string, number>()
    const last = new Map<string, number>()
    for (const entry of row.journal) {
      const key = keyOf(entry)
      if (entry.kind === 'run.reopened') answered.clear()
      if (isAnswer(entry)) {
        if (answered.has(key)) this.fail(8, `${key} of ${row.uid} is answered twice`)
        answered.add(key)
      }
      if (entry.kind === 'step.failed' || entry.kind === 'step.completed') {
        const attempt = (attempts.get(key) ?? 0) + 1
        if (entry.attempt !== attempt) {
          this.fail(10, `${key} of ${row.uid}: attempt ${entry.attempt} follows ${attempt - 1}`)
        }
        attempts.set(key, attempt)
      }
      // What is heard elsewhere is for one question each; each child ends once.
      const { kind: sentAs } = row.messages.find(({ no }) => no === entry.meta?.no) ?? {}
      const isHeard = sentAs === 'event' || sentAs === 'child'
      if (entry.kind === 'message.taken' && !isHeard) {
        const { message = '', no = 0 } = entry.meta ?? {}
        if (no < (last.get(message) ?? 0)) this.fail(16, `signals "${message}" of ${row.uid}`)
        last.set(message, no)
      }
    }
  }

  /** Every open run has something that will make it go on. */
  private orphan(row: MemoryRun): void {
    if (isFinal(row.status) || row.owner !== null || row.reason === 'diverged') return
    if (row.stop === 'pause') return
    if (row.journal.some((entry) => entry.kind === 'run.reopened')) return this.reopenedOrphan(row)
    const { waits, children, dueAt, doubtful } = openQuestions(row)
    // A scope of it is over and waits for a child that it has told to stop: what else it left is forgotten.
    if (children.some((uid) => this.isTold(uid))) return
    const due = row.dueAt ?? row.asksAt
    if (due !== null) {
      if (dueAt !== null && due > Math.max(dueAt, this.world.dbNow()) + 1) {
        if (row.status === 'waiting') this.fail(31, `${row.uid} sleeps past ${dueAt}`)
      }
      return
    }
    if (dueAt !== null) return this.fail(31, `${row.uid} has a due time and is not due`)
    const isStopping = row.journal.some(({ kind }) => kind === 'run.stopping')
    for (const message of row.messages) {
      if (message.takenSeq !== null) continue
      const awaited =
        message.kind === 'event'
          ? waits.some(
              (wait) =>
                wait.name === message.meta?.name && wait.occurrence === message.meta.occurrence,
            )
          : message.kind === 'signal' || message.kind === 'trigger'
            ? waits.some((wait) => wait.meta?.names?.includes(message.name))
            : message.kind === 'cancel'
              ? !isStopping || message.meta?.force
              : children.includes(message.meta?.uid ?? '')
      if (awaited) return this.fail(31, `${row.uid} sleeps although message ${message.no} is there`)
    }
    const alive = children.some((uid) => this.isOpen(uid))
    if (waits.length === 0 && !alive && !doubtful) this.fail(31, `nothing will wake ${row.uid}`)
  }

  private reopenedOrphan(row: MemoryRun): void {
    if (row.dueAt !== null || row.asksAt !== null) return
    const children = [...this.world.memory.runs.values()].some(
      (child) => child.run.parent?.uid === row.uid && !isFinal(child.status),
    )
    const waits = row.journal.some((entry) => entry.kind === 'wait.opened')
    if (!children && !waits) this.fail(31, `nothing will wake ${row.uid}, which was re-opened`)
  }

  private isTold(uid: string): boolean {
    const row = this.world.memory.runs.get(uid as Uid)
    return row?.messages.some(({ kind }) => kind === 'cancel') ?? false
  }

  private isOpen(uid: string): boolean {
    const row = this.world.memory.runs.get(uid as Uid)
    return row !== undefined && !isFinal(row.status)
  }

  /** Nobody is taken for dead before the lease is over. */
  private leases({ method }: Change): void {
    const { workers } = this.world.memory
    for (const [id, until] of this.leased) {
      if (workers.has(id) || method !== 'reap' || until < this.world.dbNow()) continue
      this.fail(1, `${id} was taken for dead before its time`)
    }
    this.leased.clear()
    for (const [id, { leaseUntil }] of workers) this.leased.set(id, leaseUntil)
  }

  private capacity(): void {
    const { concurrency, framesMax } = this.world.options
    for (const { host, life } of this.world.processes) {
      if (!host || !life.alive) continue
      const { id } = host.lease.worker
      let owned = 0
      for (const row of this.world.memory.runs.values()) {
        if (row.owner === id && row.stop !== 'cancel') owned += 1
      }
      if (owned > concurrency && this.strict) this.fail(29, `${life.name} owns ${owned} runs`)
      const { kept } = host.frames as unknown as { readonly kept: ReadonlyMap<Uid, unknown> }
      if (kept.size > framesMax) this.fail(40, `${life.name} keeps ${kept.size} frames`)
    }
  }

  // ── at the start of a step, at an event, at a close ───────────────────────────────────────────────────────

  dispatched(process: Process, dispatch: Dispatch): void {
    const { uid, name, occurrence, idempotencyKey } = dispatch
    const row = this.world.memory.runs.get(uid as Uid)
    if (!row) return this.fail(13, `a step of ${uid}, which is not stored`)
    const key = keyOf(dispatch)
    const known = this.keys.get(`${uid} ${key}`) ?? idempotencyKey
    if (known !== idempotencyKey) this.fail(12, `two idempotency keys for ${key} of ${uid}`)
    this.keys.set(`${uid} ${key}`, idempotencyKey)
    this.policies.set(`${uid} ${key}`, dispatch.retry)
    for (const told of dispatch.told) {
      const isStored = row.journal.some(
        (entry) =>
          entry.name === told.name && entry.occurrence === told.occurrence && isTold(entry, told),
      )
      if (!isStored) {
        this.fail('O3', `${name}#${occurrence} of ${uid} started before ${keyOf(told)} was stored`)
      }
    }
    checkGiven(row, dispatch, (n, message) => this.fail(n, message))
    // A lease that ends before its time, by the database's clock, cannot be known here.
    if (this.world.options.faults.clockJumps > 0) return
    if (row.owner !== process.host?.lease.worker.id) {
      this.fail(1, `${process.life.name} executes ${key} of ${uid}, owned by ${row.owner}`)
    }
    if (answerTo(row, key)) this.fail(9, `${key} of ${uid} is answered and executed again`)
    checkUndoOrder(this.world, row, dispatch, (n, message) => this.fail(n, message))
    const isFailure = ({ kind }: Entry) => kind === 'step.failed' || kind === 'undo.failed'
    const failed = row.journal.filter((e) => isFailure(e) && keyOf(e) === key).length
    if (dispatch.attempt !== failed + 1) {
      this.fail(10, `${key} of ${uid}: attempt ${dispatch.attempt} after ${failed} failures`)
    }
  }

  heard(uid: Uid, entry: Entry): void {
    const stored = this.world.memory.runs.get(uid)?.journal[entry.seq - 1]
    if (stored?.kind !== entry.kind || stored.payload !== entry.payload) {
      this.fail(34, `a listener heard ${entry.kind} of ${uid}, which is not stored`)
    }
  }

  closed(process: Process): void {
    if (process.store.transactions.size > 0) {
      this.fail('leak', `${process.life.name} has closed with an open transaction`)
    }
  }
}

/** A run that was re-opened while it was undone has none any more: what stopped it tells. */
function deadlineOf({ deadlineAt, journal }: MemoryRun): number {
  const stopping = journal.find(({ kind }) => kind === 'run.stopping')
  return deadlineAt ?? stopping?.meta?.dueAt ?? Number.POSITIVE_INFINITY
}

function isSame(before: Shadow, row: MemoryRun): boolean {
  if (row.journal.length !== before.journal.length) return false
  if (row.messages.length !== before.messages) return false
  const { row: was } = before
  return (
    row.status === was.status &&
    row.owner === was.owner &&
    row.epoch === was.epoch &&
    row.dueAt === was.dueAt &&
    row.asksAt === was.asksAt &&
    row.slot === was.slot &&
    row.taken === was.taken &&
    row.inbox === was.inbox &&
    row.stop === was.stop
  )
}

function isTold(entry: Entry, told: { readonly text: string | null }): boolean {
  if (!isAnswer(entry)) return false
  if (entry.kind === 'timer.fired' || entry.kind === 'wait.withdrawn') return told.text === null
  return (entry.payload ?? null) === told.text
}
