// Frame: a run in memory, and the loop that takes it through one turn after another.
//
// Owns: the open questions of one run, its mailbox, what it has decided and not stored yet. Talks to the worker's parts.
// Invariants (O1 and O4 are the Conversation's)
//   O2. What the body asks while it quiets, and the end of the run, stand directly behind that outcome.
//   O3. What reaches outside starts only when every outcome delivered before it was asked for is durable.
//   O5. Messages and timers that are ready at one look are ordered by database time (look.ts).
//   F1. A frame that is not `active` sends nothing, and what its body still says has no effect.

import { leaseLost, runFinished } from '../model/errors.js'
import type { Failure, Program } from '../model/program.js'
import type { Entry, Instant, Message, NewEntry, RunFacts, Shown, Stop } from '../model/run.js'
import { Alarm } from './alarm.js'
import { askEntry, recordOutcome, stepOutcome, triedAgain } from './answers.js'
import type { Ask, StepAsk } from './asks.js'
import type { AttemptEnd, AttemptTimes, RunningAttempt } from './attempt.js'
import { type Answerer, Conversation, type Withdrawn } from './conversation.js'
import type { Difference } from './divergence.js'
import type { End, EndFact, StopCause } from './ending.js'
import { endFact, endMessages, endOf, tellAtEnd, withUndos } from './ending.js'
import type { HandingOver, HeldRun, HolderDeps, StoredRun } from './held-run.js'
import { look, type Outcome, takeEmitted } from './look.js'
import { Mailbox } from './mailbox.js'
import { nextOf } from './next.js'
import { Outgoing, type Parts } from './outgoing.js'
import { Questions } from './questions.js'
import type { Stopped } from './replay.js'
import { isToRest, rest } from './resting.js'
import { Scribe } from './scribe.js'
import { isToSay, letGoOn, startWhatCan } from './starting.js'
import { refusedEnd, type Stoppable, Stopping, stoppingOf } from './stopping.js'
import type { Answer, Next, TurnDelta } from './store.js'
import { closeTransaction, hasTransaction, rollBack } from './transaction.js'
import { isKeepable, limitOf, refuseAll, refuseTriggers } from './triggers.js'
import { leaveBehind, withdraw } from './withdraw.js'

export class Frame implements Answerer, HeldRun, Stoppable {
  readonly deps: HolderDeps
  readonly run: RunFacts
  readonly attempt: number
  readonly suspect: boolean
  readonly mail = new Mailbox()
  readonly out: Outgoing
  readonly body: Conversation
  readonly questions = new Questions()
  epoch: number
  state: 'active' | 'parked' | 'gone' = 'active'
  /** Stored bytes that were delivered into the body: what keeping this frame costs. */
  bytes = 0
  inFlight: { readonly delta: TurnDelta; readonly parts: Parts } | null = null
  /** A transaction of the run is being closed: it is the delta in flight. */
  closing = false
  isQueued = false
  private readonly alarm: Alarm
  readonly scribe: Scribe
  readonly ready: Outcome[] = []
  private lookAgain = true
  /** The owner is closing: nothing new starts. The run is to rest: it does not end either. */
  handingOver: HandingOver | null = null
  private stopping: Stopping | null = null
  end: EndFact | null = null
  difference: Difference | null = null

  constructor(deps: HolderDeps, run: RunFacts, program: Program | null, stored: StoredRun) {
    const journal = stored.journal ?? []
    this.deps = deps
    this.run = run
    this.attempt = stored.attempt
    this.suspect = stored.suspect
    this.epoch = stored.epoch
    this.out = new Outgoing(stored.seq)
    this.alarm = new Alarm(deps.ports.clock)
    this.body = new Conversation(this, { deps, run, program, journal, alarm: this.alarm })
    this.scribe = new Scribe(this, journal)
    for (const entry of journal) this.bytes += entry.payload?.length ?? 0
  }

  // ── a turn begins ─────────────────────────────────────────────────────────────────────────────────────────
  /** Ends a run that is not to execute any code. */
  endWithoutCode(cause: StopCause): void {
    this.body.live = true
    this.stopping = new Stopping(this, cause)
    this.pump()
  }

  /** A kept frame goes on under a new claim. */
  resume(epoch: number): void {
    this.state = 'active'
    this.epoch = epoch
    this.handingOver = null
    this.lookAgainNow()
  }

  private lookAgainNow(): void {
    this.lookAgain = true
    this.pump()
  }

  /** New messages, in order of their numbers. */
  hear(messages: readonly Message[]): void {
    this.mail.put(messages)
    this.pump()
  }

  // ── what the conversation needs ───────────────────────────────────────────────────────────────────────────
  get active(): boolean {
    return this.state === 'active'
  }
  get deaf(): boolean {
    return this.end !== null || this.stopping !== null
  }

  /** For what is written down: never before the last answer. What is due is decided by the clock itself. */
  clock(): Instant {
    return Math.max(this.deps.now(), this.body.nowAt)
  }

  spokeWhileParked(name: string): void {
    if (this.state === 'parked') this.deps.spokeWhileParked(this.run, name)
  }

  stopFromInside(reason: string): void {
    const cause = { kind: 'cancel', reason, inside: true, message: null, force: false } as const
    this.stopping ??= new Stopping(this, cause)
  }

  shows(shown: Shown): void {
    this.out.shows(shown)
  }

  newMark(id: string): void {
    if (this.active && !this.deaf) this.scribe.mark(id)
  }

  recalled(asks: readonly Ask[]): void {
    for (const ask of asks) this.questions.add(ask)
    if (this.deps.defects.has('start-while-replaying')) startWhatCan(this)
  }

  answeredBefore(entry: Entry): Ask | null {
    const ask = this.questions.find(entry.name, entry.occurrence)
    if (ask) this.questions.remove(ask)
    return ask
  }

  historyIsOver(): void {
    leaveBehind(this)
    for (const ask of this.questions.all())
      if (ask.kind === 'record') this.ready.push(recordOutcome(ask))
  }

  withdrawn(over: readonly Withdrawn[], live: boolean): void {
    if (over.length === 0 || this.deps.defects.has('scope-without-withdraw')) return
    withdraw(this, over, live)
    this.lookAgain = true
  }

  wasStopping(stopped: Stopped): void {
    this.stopping = Stopping.again(this, stopped)
    this.pump()
  }

  quiet(asked: readonly Ask[], over: readonly Withdrawn[]): void {
    // Its last delta may have been asked for while the body was speaking: then nobody has got it.
    if (this.end) return this.deps.submit(this.run.uid)
    for (const ask of asked) {
      this.questions.add(ask)
      this.lookAgain = true
      if (ask.kind === 'record') this.ready.push(recordOutcome(ask))
      if (ask.kind === 'step' || ask.kind === 'record') continue
      this.scribe.asksBefore(null)
      if (ask.kind === 'child') this.scribe.child(ask)
      else this.scribe.append(askEntry(ask))
    }
    this.withdrawn(over, true)
    this.pump()
  }

  diverged(difference: Difference): void {
    this.difference = difference
    this.scribe.diverged(difference)
    this.deps.submit(this.run.uid)
  }

  // ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────
  /** What has happened is delivered, one thing at a time; then whatever can go on goes on. */
  pump(): void {
    if (!this.active || this.closing || this.end || !this.body.isListening) return
    // Being parked or given back: what happens now is for the next turn, which may be another worker's.
    if (this.inFlight && this.inFlight.delta.next.kind !== 'go') return
    letGoOn(this)
    if (!this.stopping && isToRest(this)) return rest(this)
    const emitted = this.body.end && !this.stopping ? takeEmitted(this.ready) : null
    if (emitted) return this.deliver(emitted)
    this.stopping ??= stoppingOf(this)
    if (this.stopping) return this.stopping.pump()
    if (this.body.end) return this.finish(endOf(this.body.end))
    const outcome = this.ready.shift() ?? this.lookForOutcome()
    if (outcome) return this.deliver(outcome)
    this.goOn()
  }

  goOn(): void {
    startWhatCan(this)
    refuseTriggers(this)
    if (isToSay(this) || this.parkable() || this.handingOver) this.deps.submit(this.run.uid)
    this.arm()
  }

  private lookForOutcome(): Outcome | null {
    if (!this.lookAgain && !this.mail.fresh) return null
    const early = this.deps.defects.has('due-one-early') ? 1 : 0
    const outcome = look(this.questions.all(), this.mail, this.deps.now() + early)
    this.lookAgain = outcome !== null
    this.mail.fresh = false
    return outcome
  }

  deliver(outcome: Outcome): void {
    if (outcome.transaction && this.inFlight) return void this.ready.unshift(outcome)
    if (outcome.transaction) return closeTransaction(this, outcome, outcome.transaction)
    const entry = this.record(outcome)
    if (outcome.final) return this.answer(outcome.ask, entry)
    triedAgain(outcome, this.out.lastSeq)
    this.pump()
  }

  /** The body hears of an outcome that has its number. */
  answer(ask: Ask, entry: NewEntry): void {
    this.questions.remove(ask)
    this.bytes += entry.payload?.length ?? 0
    this.lookAgain = true
    this.body.answer(ask, entry, this.out.lastSeq)
  }

  record(outcome: Outcome): NewEntry {
    return this.scribe.outcome(outcome)
  }

  // ── going on ──────────────────────────────────────────────────────────────────────────────────────────────
  attemptEnded(ask: StepAsk, attempt: RunningAttempt, end: AttemptEnd): void {
    if (ask.running === attempt) this.stepEnded(ask, attempt, end)
  }

  stepEnded(ask: StepAsk, attempt: AttemptTimes, end: AttemptEnd): void {
    ask.running = null
    this.deps.ports.fault('step.finished')
    const outcome = stepOutcome(ask, attempt, end, this.clock(), this)
    if (outcome) this.ready.push(outcome)
    this.pump()
  }

  /** Nothing runs, nothing is about to, and something is waited for. */
  parkable(): boolean {
    if (!this.body.live || this.end || this.ready.length > 0) return false
    if (this.body.end && !this.stopping) return false
    return this.questions.onlyWaiting(this.deps.now())
  }

  nextDue(): Instant | null {
    // What is stopping is past all that.
    return this.questions.nextDue(this.stopping ? null : limitOf(this))
  }

  /** Of what is ours; parked, the row has the earliest. */
  private arm(): void {
    this.alarm.silence()
    if (this.questions.size === 0) return this.body.awaitsForeign()
    const due = this.nextDue()
    if (due !== null) this.alarm.ringIn(due - this.deps.now(), () => this.lookAgainNow())
  }

  // ── the end ───────────────────────────────────────────────────────────────────────────────────────────────
  get stopSeen(): Stop | null {
    return this.stopping?.stopSeen ?? null
  }

  ringAfterGrace(then: () => void): void {
    this.alarm.ringIn(this.deps.abortGraceMs, () => {
      then()
      this.pump()
    })
  }

  finish(end: End): void {
    this.alarm.off()
    this.dropReady()
    const fact = withUndos(endFact(end, this.run, this.clock()), this, end)
    this.end = fact
    if (this.questions.running()) this.questions.giveUp(runFinished(this.run.id, 'over'))
    const { entry, status, notBefore, taken } = fact
    if (notBefore !== null) this.out.holds(notBefore)
    if (taken !== null) this.out.takes(taken)
    this.scribe.append(entry)
    refuseAll(this)
    this.out.sendsAtEnd(endMessages(this, entry, status))
    this.deps.submit(this.run.uid)
  }

  /** What has finished and will not be recorded keeps no transaction open. */
  private dropReady(): void {
    for (const { transaction } of this.ready.splice(0)) if (transaction) rollBack(transaction)
  }

  /** Nothing new starts, and the run is given back when nothing runs. */
  handOver(why: HandingOver = 'close'): void {
    if (this.handingOver !== 'anew') this.handingOver = why
    this.deps.submit(this.run.uid)
  }

  /** Out of memory: the body never settles, and its `finally` blocks do not run. */
  forget(): void {
    this.state = 'gone'
    this.alarm.off()
    this.dropReady()
    this.deps.forgotten(this.run)
  }

  /** Another has the run, or will have: nothing of this frame counts any more. */
  lose(): void {
    this.forget()
    const reason = leaseLost(this.run.id)
    this.questions.giveUp(reason)
    this.body.abort(reason)
  }

  // ── towards the database ──────────────────────────────────────────────────────────────────────────────────
  /** What there is to say now; null if nothing, or if the body has not finished reacting. */
  takeDelta(): TurnDelta | null {
    if (!this.active || this.body.settling || this.inFlight || this.closing) return null
    // It would wait for a transaction whose closing waits for its answer.
    if (this.deps.isSingle && hasTransaction(this)) return null
    const next = nextOf(this, this.end)
    if (next.kind === 'go' && !this.out.waiting) return null
    return this.send(next)
  }

  /** Everything that is decided goes out as one delta. */
  send(next: Next, moreUndos = 0): TurnDelta {
    const { uid, createdAt } = this.run
    const fence = { uid, owner: this.deps.owner(), epoch: this.epoch, seq: this.out.ackedSeq }
    const parts = this.out.take()
    const { entries, taken, refused, starts, events, messages, notBefore } = parts
    const { shown, documents, answers, brings } = parts
    const isLive = this.body.begun && this.body.live
    const undoOpen = isLive ? this.body.undos.news(moreUndos) : null
    const { listening } = this.questions
    const waits = listening.news(this.questions.all(), this.end !== null, isLive, createdAt)
    // biome-ignore format: one literal, because one is made for every step
    const delta: TurnDelta = { kind: 'turn', fence, notBefore, entries, taken, refused, starts, events, messages, waits, undoOpen, shown, documents, answers, next, brings }
    this.inFlight = { delta, parts }
    return delta
  }

  /** The answer to the delta in flight. */
  answered(answer: Answer): void {
    const sent = this.inFlight
    if (!sent || this.state === 'gone') return
    this.inFlight = null
    if (answer.kind === 'done') return this.stored(sent.delta, answer)
    if (answer.kind === 'stopping' && this.end) {
      // The step did run: its outcome is kept, the end is not. The cancel itself is in the mailbox.
      this.out.restore(sent.parts, sent.parts.ofEnd)
      this.end = null
      this.stopping = null
      if (sent.delta.brings) this.deps.forgotten(this.run)
      if (answer.stop === 'pause') return this.handOver('anew')
      // After a refusal it knows what never happened: it begins from its journal.
      if (!this.body.undos.isUnsaid) return this.deps.load(this.run.uid)
    }
    this.lose()
    this.deps.lost(this.run.uid, answer.kind !== 'stale')
  }

  /** The database refuses what is in flight for its content: the run fails with that, and nothing of it has happened. */
  refused(failure: Failure): void {
    if (!this.inFlight || this.state !== 'active') return
    tellAtEnd(this, [...this.inFlight.parts.messages, ...this.out.discard()])
    this.inFlight = null
    this.end = null
    this.finish(refusedEnd(this, this.stopping, failure))
  }

  private stored(delta: TurnDelta, { inbox, stop }: Answer & { kind: 'done' }): void {
    const { next } = delta
    this.out.stored(delta.entries)
    this.body.undos.stored(delta.undoOpen)
    this.questions.listening.stored(delta.waits)
    if (next.kind !== 'go') {
      this.state = next.kind === 'park' && isKeepable(this, next) ? 'parked' : 'gone'
      this.alarm.off()
    }
    this.deps.committed(delta)
    if (next.kind !== 'go') return
    if (stop === 'pause') this.handOver('pause')
    if (inbox > this.mail.seen) this.deps.load(this.run.uid)
    if (this.end) this.deps.submit(this.run.uid)
    this.pump()
  }
}
