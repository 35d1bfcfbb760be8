// Frame: a run in memory, and the loop that drives its body through one turn after another.
//
// Owns:      the open questions of one run, its mailbox, and what it has decided and not stored yet (Outgoing).
// Talks to:  the body (through turn.ts), attempts of steps (attempt.ts), and its worker through FrameDeps: it
//            submits itself when it has something to commit, and hears the answer by `answered`.
//
// Invariants (PROTOCOL S1-10)
//   O1. Outcomes are numbered in the order of arrival and delivered one at a time in that order, live and on
//       replay by the same loop; after each the loop waits until the body is quiet.
//   O2. What the body asks while it quiets, and the end of the run, stand directly behind that outcome.
//   O3. A function starts only when every outcome delivered before it was asked for is durable.
//   O4. On replay nothing starts before every recorded outcome is delivered and every recorded ask matched.
//   F1. A frame that is not `active` sends nothing, and what its body still says has no effect.

import { encodeError } from '../model/error-record.js'
import { diverged, foreignAwait, historyTooLong, leaseLost, runFinished } from '../model/errors.js'
import {
  ENTRIES_MAX,
  ENTRIES_WARN,
  FOREIGN_AWAIT_MAX_MS,
  FOREIGN_AWAIT_WARN_MS,
} from '../model/limits.js'
import { Failure, type Program } from '../model/program.js'
import type { Entry, Instant, Message, NewEntry, RunFacts, Stored } from '../model/run.js'
import { answerAsk, askEntry, outcomeEntry, recordOutcome, stepOutcome } from './answers.js'
import { type Ask, type ChildAsk, dueOf, type RecordAsk, type StepAsk } from './asks.js'
import { type AttemptEnd, type AttemptTimes, RunningAttempt } from './attempt.js'
import type { Difference } from './divergence.js'
import { type End, endFact, endMessages, type StopCause } from './ending.js'
import type { FrameDeps } from './frame-deps.js'
import { look, type Outcome } from './look.js'
import { Mailbox } from './mailbox.js'
import { Outgoing, type Parts } from './outgoing.js'
import { keyOf } from './replay.js'
import { Replayer } from './replayer.js'
import type { Answer, Next, TurnDelta } from './store.js'
import { closeTransaction, rollBack } from './transaction.js'
import { makeTurn } from './turn.js'

type Settled = { readonly output: Stored } | { readonly failure: Failure }
const REASON = {
  step: 'retry',
  timer: 'timer',
  wait: 'signal',
  child: 'child',
  record: 'retry',
} as const

export interface StoredRun {
  /** null: nothing has been recorded yet but its creation. */
  readonly journal: readonly Entry[] | null
  readonly seq: number
  readonly epoch: number
  readonly attempt: number
  readonly suspect: boolean
}

export class Frame {
  readonly deps: FrameDeps
  readonly run: RunFacts
  readonly program: Program | null
  readonly attempt: number
  readonly suspect: boolean
  readonly mail = new Mailbox()
  readonly out: Outgoing
  readonly history: Replayer
  readonly open = new Map<string, Ask>()
  epoch: number
  state: 'active' | 'parked' | 'gone' = 'active'
  /** Database time of the last answer. */
  nowAt: Instant
  /** Stored bytes that were delivered into the body: what keeping this frame costs. */
  bytes = 0
  inFlight: { readonly delta: TurnDelta; readonly parts: Parts } | null = null
  /** A transaction of the run is being closed: it is the delta in flight. */
  closing = false
  /** Its body has been called: the open questions are here, not only in the journal. */
  driven = false

  private readonly counts = new Map<string, number>()
  private readonly ready: Outcome[] = []
  private asked: Ask[] = []
  /** Steps and records that were asked for and have no entry yet, in order. */
  private unwritten: (StepAsk | RecordAsk)[] = []
  private live = false
  private settling = false
  private lookAgain = true
  private handingOver = false
  private lastOutcomeSeq = 0
  private body: Settled | null = null
  private stop: StopCause | null = null
  private end: End | null = null
  private difference: Difference | null = null
  private aborter: AbortController | null = null
  private offTimer: (() => void) | null = null
  private offForeign: (() => void) | null = null

  constructor(deps: FrameDeps, run: RunFacts, program: Program | null, stored: StoredRun) {
    this.deps = deps
    this.run = run
    this.program = program
    this.attempt = stored.attempt
    this.suspect = stored.suspect
    this.epoch = stored.epoch
    this.out = new Outgoing(stored.seq)
    this.history = new Replayer(stored.journal ?? [])
    this.nowAt = run.startedAt
    for (const entry of stored.journal ?? []) this.bytes += entry.payload?.length ?? 0
  }

  // ── a turn begins ─────────────────────────────────────────────────────────────────────────────────────────

  /** Drives the body from the beginning of its history. */
  begin(): void {
    this.driven = true
    this.settle(() => {
      this.program?.body(makeTurn(this)).then(
        (output) => this.bodySettled({ output }),
        (error: unknown) => this.bodySettled({ failure: asFailure(error) }),
      )
    })
  }

  /** Ends a run that is not to execute any code. */
  endWithoutCode(cause: StopCause): void {
    this.live = true
    this.stop = cause
    this.pump()
  }

  /** A kept frame goes on under a new claim. */
  resume(epoch: number): void {
    this.state = 'active'
    this.epoch = epoch
    this.lookAgain = true
    this.pump()
  }

  /** New messages, in order of their numbers. */
  hear(messages: readonly Message[]): void {
    this.mail.put(messages)
    this.pump()
  }

  // ── the body speaks (turn.ts) ─────────────────────────────────────────────────────────────────────────────

  get replaying(): boolean {
    return !this.live
  }

  get stopping(): AbortSignal {
    this.aborter ??= new AbortController()
    return this.aborter.signal
  }

  /** For what is written down: never before the last answer. What is due is decided by the clock itself. */
  clock(): Instant {
    return Math.max(this.deps.now(), this.nowAt)
  }

  nextOccurrence(name: string): number {
    const occurrence = (this.counts.get(name) ?? 0) + 1
    this.counts.set(name, occurrence)
    return occurrence
  }

  asks(ask: Ask): void {
    if (this.state === 'parked') this.deps.spokeWhileParked(this, ask.name)
    if (this.state !== 'active' || this.end || this.stop) return
    ask.afterSeq = this.lastOutcomeSeq
    this.asked.push(ask)
    this.settle()
  }

  mark(id: string): boolean {
    const known = this.history.mark(id, this.asked.length)
    if (known !== 'new') return known === 'recorded'
    const facts = { occurrence: 0, attempt: 0, meta: null, payload: null }
    this.append({ kind: 'mark', name: id, at: this.clock(), ...facts })
    return true
  }

  stopFromInside(reason: string): void {
    if (this.state !== 'active' || this.end) return
    this.stop ??= { kind: 'cancel', reason, inside: true, message: null }
    this.settle()
  }

  private bodySettled(body: Settled): void {
    this.body = body
    this.settle()
  }

  // ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Lets the body react to `cause`, and goes on when it is quiet. */
  private settle(cause?: () => void): void {
    const waiting = this.settling
    this.settling = true
    cause?.()
    if (waiting) return
    this.deps.ports.quiet.next(() => {
      this.settling = false
      if (this.state !== 'active') return
      this.offForeign?.()
      if (this.live) this.admit(this.asked)
      else this.replay()
      if (this.handingOver) this.deps.submit(this)
    })
  }

  private replay(): void {
    const step = this.history.next(this.asked, this.body !== null)
    if (step.kind === 'diverged') return this.diverge(step.difference)
    if (step.kind === 'missing') {
      // The body may be awaiting something of its own: give it a moment.
      const { clock } = this.deps.ports
      this.offForeign = clock.after(FOREIGN_AWAIT_WARN_MS, () => this.diverge(step.difference))
      return
    }
    for (const ask of step.recalled) this.open.set(keyOf(ask.name, ask.occurrence), ask)
    this.asked = []
    if (step.kind === 'live') {
      this.live = true
      for (const ask of this.open.values()) {
        if (ask.kind === 'record') this.ready.push(recordOutcome(ask))
      }
      return this.admit(step.fresh)
    }
    if (this.deps.defects.has('start-while-replaying')) this.startWhatCan()
    const { entry } = step
    const key = keyOf(entry.name, entry.occurrence)
    const ask = this.open.get(key)
    this.open.delete(key)
    this.nowAt = Math.max(this.nowAt, entry.at)
    this.settle(() => ask && answerAsk(ask, entry))
  }

  private admit(asked: readonly Ask[]): void {
    this.asked = []
    for (const ask of asked) {
      this.open.set(keyOf(ask.name, ask.occurrence), ask)
      this.lookAgain = true
      if (ask.kind === 'record') this.ready.push(recordOutcome(ask))
      if (ask.kind === 'step' || ask.kind === 'record') this.unwritten.push(ask)
      else {
        this.writeAsks()
        if (ask.kind === 'child') this.startChild(ask)
        else this.append(askEntry(ask))
        ask.journaled = true
      }
    }
    this.pump()
  }

  /** What has happened is delivered, one thing at a time; then whatever can go on goes on. */
  pump(): void {
    if (this.state !== 'active' || this.settling || this.closing || !this.live || this.end) return
    if (this.leaving) return
    const stop = this.stop ?? this.reasonToStop()
    if (stop) return this.pumpStop(stop)
    if (this.body) return this.finish(endOf(this.body))
    const outcome = this.ready.shift() ?? this.lookForOutcome()
    if (outcome) return this.deliver(outcome)
    this.startWhatCan()
    if (this.out.waiting || this.parkable() || this.handingOver) this.deps.submit(this)
    this.arm()
  }

  /** It is being parked or given back: what happens now is for the next turn, which may be another worker's. */
  private get leaving(): boolean {
    return this.inFlight !== null && this.inFlight.delta.next.kind !== 'go'
  }

  private lookForOutcome(): Outcome | null {
    if (!this.lookAgain && !this.mail.fresh) return null
    const outcome = look(this.open.values(), this.mail, this.deps.now())
    this.lookAgain = outcome !== null
    this.mail.fresh = false
    return outcome
  }

  private deliver(outcome: Outcome): void {
    const { ask } = outcome
    if (outcome.transaction && this.inFlight) {
      this.ready.unshift(outcome)
      return
    }
    if (outcome.transaction) return closeTransaction(this, outcome, outcome.transaction)
    const entry = this.record(outcome)
    if (outcome.final) return this.answer(ask, entry)
    if (ask.kind === 'step' || ask.kind === 'child') {
      ask.attempts = outcome.attempt
      ask.retryAt = outcome.meta?.retryAt ?? null
      ask.afterSeq = this.out.lastSeq
      if (ask.kind === 'child') ask.uid = null
    }
    this.pump()
  }

  /** The body hears of an outcome that has its number. */
  answer(ask: Ask, entry: NewEntry): void {
    this.open.delete(keyOf(ask.name, ask.occurrence))
    this.lastOutcomeSeq = this.out.lastSeq
    this.nowAt = entry.at
    this.bytes += entry.payload?.length ?? 0
    this.lookAgain = true
    this.settle(() => answerAsk(ask, entry))
  }

  /** Writes down an outcome, behind the questions that were asked before it. */
  record(outcome: Outcome): NewEntry {
    const { ask, message, notBefore } = outcome
    // A step or record that is the only unwritten question needs no entry for having been asked (replay.ts).
    if (this.unwritten.length === 1 && this.unwritten[0] === ask) this.unwritten = []
    else this.writeAsks()
    ask.journaled = true
    if (message) this.mail.take(message)
    if (message && !this.deps.defects.has('taken-not-marked')) this.out.takes(message.no)
    if (notBefore !== undefined && !this.deps.defects.has('early-timer')) this.out.holds(notBefore)
    const entry = outcomeEntry(outcome, this.clock())
    this.append(entry)
    return entry
  }

  private writeAsks(): void {
    for (const ask of this.unwritten) {
      ask.journaled = true
      this.append(askEntry(ask))
    }
    this.unwritten = []
  }

  /** The entry that would have told of this question was not stored. */
  unwrite(ask: StepAsk): void {
    ask.journaled = false
    this.unwritten.unshift(ask)
  }

  private append(entry: NewEntry): void {
    const seq = this.out.append(entry)
    if (seq < ENTRIES_WARN) return
    const { id } = this.run
    if (seq === ENTRIES_WARN) this.deps.ports.log.warn(`Run ${id} has ${seq} journal entries.`)
    if (seq >= ENTRIES_MAX) this.body ??= { failure: asFailure(historyTooLong(id, seq)) }
  }

  // ── going on ──────────────────────────────────────────────────────────────────────────────────────────────

  private startWhatCan(): void {
    if (this.handingOver || !this.deps.mayStart()) return
    for (const ask of this.open.values()) {
      if (ask.kind === 'child' && this.isNext(ask)) this.startChild(ask)
      if (ask.kind !== 'step' || !this.isNext(ask)) continue
      const durable = this.out.ackedSeq >= ask.afterSeq
      if (durable || this.deps.defects.has('start-before-durable')) this.startStep(ask)
    }
  }

  /** Neither under way nor waiting for its retry. */
  private isNext(ask: StepAsk | ChildAsk): boolean {
    if (ask.kind === 'step' ? ask.running : ask.uid) return false
    return ask.retryAt === null || ask.retryAt <= this.deps.now()
  }

  private startStep(ask: StepAsk): void {
    this.deps.ports.fault('step.start')
    const attempt = new RunningAttempt(this.run, ask, this.deps.attempts, (end) => {
      if (ask.running === attempt) this.stepEnded(ask, attempt, end)
    })
    ask.running = attempt
    attempt.start()
  }

  private stepEnded(ask: StepAsk, attempt: AttemptTimes, end: AttemptEnd): void {
    ask.running = null
    this.deps.ports.fault('step.finished')
    const outcome = stepOutcome(ask, attempt, end, this.clock(), this.deps)
    if (outcome) this.ready.push(outcome)
    this.pump()
  }

  /** The step's writes were refused when they were to become final. */
  failStep(ask: Ask, failure: Failure): void {
    if (ask.kind !== 'step') return
    const attempt = { number: ask.attempts + 1, startedAt: this.deps.ports.clock.monotonic() }
    this.stepEnded(ask, attempt, { kind: 'failed', failure })
  }

  private startChild(ask: ChildAsk): void {
    const uid = this.deps.newUid()
    ask.uid = uid
    ask.retryAt = null
    this.append({ ...askEntry(ask), attempt: ask.attempts + 1, at: this.clock() })
    const run = this.deps.childRun(this, uid, ask.order)
    this.out.starting({ kind: 'start', run, claim: false })
  }

  /** Nothing runs, nothing is about to run, and something is waited for. */
  private parkable(): boolean {
    if (!this.live || this.body || this.stop || this.ready.length > 0) return false
    for (const ask of this.open.values()) {
      if (ask.kind === 'record') return false
      if (ask.kind === 'step' && (ask.running || this.isNext(ask))) return false
      if (ask.kind === 'child' && this.isNext(ask)) return false
    }
    return this.open.size > 0
  }

  stepsRunning(): boolean {
    for (const ask of this.open.values()) if (ask.kind === 'step' && ask.running) return true
    return false
  }

  private nextDue(): Instant | null {
    let due = this.run.deadlineAt
    for (const ask of this.open.values()) {
      const at = dueOf(ask)
      if (at !== null && (due === null || at < due)) due = at
    }
    return due
  }

  /** While the run is ours its due times are armed here; parked, the row has the earliest. */
  private arm(): void {
    this.offTimer?.()
    this.offTimer = null
    if (this.open.size === 0) return this.awaitForeign()
    const now = this.deps.now()
    const due = this.nextDue()
    const [oldest] = this.unwritten
    const show = oldest ? oldest.askedAt + this.deps.askShownAfterMs : null
    const at = due === null ? show : show === null ? due : Math.min(due, show)
    if (at === null) return
    this.offTimer = this.deps.ports.clock.after(Math.max(1, at - now), () => {
      this.lookAgain = true
      if (show !== null && this.deps.now() >= show) this.writeAsks()
      this.pump()
    })
  }

  /** Quiet, nothing open, not settled: the body awaits something that is not ours. */
  private awaitForeign(): void {
    const { clock, log } = this.deps.ports
    const { id, definition } = this.run
    this.offForeign?.()
    this.offForeign = clock.after(FOREIGN_AWAIT_WARN_MS, () => {
      const hint = 'wrap it in wf.do, or it runs again at every replay'
      log.warn(`Run ${id} (${definition}) awaits something that is not a step.`, { hint })
      this.offForeign = clock.after(FOREIGN_AWAIT_MAX_MS - FOREIGN_AWAIT_WARN_MS, () =>
        this.bodySettled({ failure: asFailure(foreignAwait(id, definition)) }),
      )
    })
  }

  private diverge(difference: Difference): void {
    this.deps.counters['run.diverged'] += 1
    this.difference = difference
    const error = diverged(this.run.id, this.run.definition, difference)
    this.deps.ports.log.error(error.message, { hint: error.hint })
    this.deps.submit(this)
  }

  // ── the end ───────────────────────────────────────────────────────────────────────────────────────────────

  private reasonToStop(): StopCause | null {
    const { cancel } = this.mail
    const { deadlineAt } = this.run
    if (cancel) {
      const reason = cancel.meta?.reason ?? ''
      this.stop = { kind: 'cancel', reason, inside: false, message: cancel }
    } else if (deadlineAt !== null && this.deps.now() >= deadlineAt) {
      this.stop = { kind: 'deadline', deadlineAt }
    }
    return this.stop
  }

  /** What runs is asked to stop, and may still be recorded; then the run ends without its body. */
  private pumpStop(cause: StopCause): void {
    const { error } = endFact({ kind: 'stopped', cause }, this.run, this.clock())
    for (const outcome of this.ready.splice(0)) {
      if (outcome.transaction) rollBack(outcome.transaction)
      else this.record(outcome)
    }
    if (!this.stopping.aborted) {
      this.aborter?.abort(error)
      for (const ask of this.open.values()) if (ask.kind === 'step') ask.running?.abort(error)
      this.offTimer?.()
      this.offTimer = this.deps.ports.clock.after(this.deps.abortGraceMs, () => {
        this.giveUpSteps(error)
        this.pump()
      })
    }
    if (!this.stepsRunning()) this.finish({ kind: 'stopped', cause })
  }

  private finish(end: End): void {
    this.quieten()
    this.dropReady()
    this.end = end
    this.giveUpSteps(runFinished(this.run.id, 'over'))
    const { entry, status, notBefore, taken } = endFact(end, this.run, this.clock())
    if (notBefore !== null) this.out.holds(notBefore)
    if (taken !== null) this.out.takes(taken)
    this.append(entry)
    for (const message of endMessages(this, entry, status)) this.out.sends(message)
    this.deps.submit(this)
  }

  private giveUpSteps(reason: Error): void {
    for (const ask of this.open.values()) {
      if (ask.kind !== 'step' || !ask.running) continue
      const { running } = ask
      ask.running = null
      running.giveUp(reason)
    }
  }

  /** What has finished and will not be recorded keeps no transaction open. */
  private dropReady(): void {
    for (const { transaction } of this.ready.splice(0)) if (transaction) rollBack(transaction)
  }

  private quieten(): void {
    this.offTimer?.()
    this.offForeign?.()
  }

  /** The owner is closing: nothing new starts, and the run is given back when nothing runs. */
  handOver(): void {
    this.handingOver = true
    this.deps.submit(this)
  }

  /** Out of memory: the body never settles, and its `finally` blocks do not run. */
  forget(): void {
    this.state = 'gone'
    this.quieten()
    this.dropReady()
  }

  /** Another has the run, or will have: nothing of this frame counts any more. */
  lose(): void {
    this.forget()
    const reason = leaseLost(this.run.id)
    this.giveUpSteps(reason)
    this.aborter?.abort(reason)
  }

  /** Raises the AbortSignals because the lease is over by our own clock; results still count. */
  doubt(): void {
    const reason = leaseLost(this.run.id)
    for (const ask of this.open.values()) if (ask.kind === 'step') ask.running?.abort(reason)
  }

  // ── towards the database ──────────────────────────────────────────────────────────────────────────────────

  /** What there is to say now; null if nothing, or if the body has not finished reacting. */
  takeDelta(): TurnDelta | null {
    if (this.state !== 'active' || this.settling || this.inFlight || this.closing) return null
    const next = this.decideNext()
    if (next.kind === 'go' && !this.out.waiting) return null
    const parts = this.out.take()
    const { uid } = this.run
    const fence = { uid, owner: this.deps.owner(), epoch: this.epoch, seq: this.out.ackedSeq }
    const delta: TurnDelta = { kind: 'turn', fence, ...parts, next }
    this.inFlight = { delta, parts }
    return delta
  }

  private decideNext(): Next {
    const { seen } = this.mail
    if (this.difference) {
      const divergedBuild = this.deps.build
      return { kind: 'park', reason: 'diverged', dueAt: null, seen, divergedBuild }
    }
    if (this.end) {
      const { status, stopSeen } = endFact(this.end, this.run, this.clock())
      const ignoresStop = this.deps.defects.has('end-ignores-stop')
      return { kind: 'end', status, stopSeen: ignoresStop ? 'cancel' : stopSeen }
    }
    if (this.parkable()) {
      const [first] = this.open.values()
      const reason = first ? REASON[first.kind] : 'signal'
      const all = this.deps.defects.has('seen-is-the-counter') ? 1_000_000 : seen
      return { kind: 'park', reason, dueAt: this.nextDue(), seen: all, divergedBuild: null }
    }
    return this.handingOver && !this.stepsRunning() ? { kind: 'release' } : { kind: 'go' }
  }

  /** The answer to the delta in flight. */
  answered(answer: Answer): void {
    const sent = this.inFlight
    if (!sent || this.state === 'gone') return
    this.inFlight = null
    if (answer.kind === 'done') return this.stored(sent.delta, answer.inbox)
    if (answer.kind === 'stopping' && this.end) {
      // The step did run: its outcome is kept, the end is not. The cancel itself is in the mailbox.
      this.out.restore(sent.parts, 1)
      this.end = null
      this.stop = null
      return this.deps.load(this)
    }
    this.lose()
    this.deps.lost(this, answer.kind === 'early')
  }

  /** The database refuses what is in flight for its content: the run fails with that, and with nothing of it. */
  refused(failure: Failure): void {
    if (!this.inFlight || this.state !== 'active') return
    this.inFlight = null
    this.out.discard()
    this.end = null
    this.finish({ kind: 'failed', failure })
  }

  private stored(delta: TurnDelta, inbox: number): void {
    const entries = this.out.stored(delta.entries)
    const { next } = delta
    if (next.kind !== 'go') {
      this.state = next.kind === 'park' && next.reason !== 'diverged' ? 'parked' : 'gone'
      this.quieten()
    }
    this.deps.committed(this, entries, next)
    if (next.kind !== 'go') return
    if (inbox > this.mail.seen) this.deps.load(this)
    if (this.end) this.deps.submit(this)
    this.pump()
  }
}

function endOf(body: Settled): End {
  return 'failure' in body
    ? { kind: 'failed', failure: body.failure }
    : { kind: 'completed', output: body.output }
}

function asFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure(encodeError(error, 'the function'))
}
