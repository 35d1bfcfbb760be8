// Conversation: the body of a run, spoken with one answer at a time.
//
// Owns:      the body's promise, what it has asked since the last answer, and its recorded history.
// Talks to:  the body (through turn.ts); its frame, which makes the answers.
//
// Invariants
//   O1. Answers are given one at a time; after each the body is let be until it is quiet, live and on replay alike.
//   O4. While the history is not at its end only recorded answers are given, and nothing is asked of the frame.

import { encodeError } from '../model/error-record.js'
import { foreignAwait, scopeEnded } from '../model/errors.js'
import { shownName, type Uid } from '../model/ids.js'
import { FOREIGN_AWAIT_MAX_MS, FOREIGN_AWAIT_WARN_MS } from '../model/limits.js'
import { Failure, type Program } from '../model/program.js'
import type { Entry, Instant, NewEntry, RunFacts, Shown, Stored } from '../model/run.js'
import type { Alarm } from './alarm.js'
import { answerAsk } from './answers.js'
import type { Ask } from './asks.js'
import type { Defects } from './defects.js'
import type { Difference } from './divergence.js'
import type { Ports } from './ports.js'
import { noteChildren, type Stopped } from './replay.js'
import { Replayer } from './replayer.js'
import { Scope } from './scope.js'
import { makeTurn } from './turn.js'
import { Undos } from './undos.js'

/** A scope that has ended; `isExpected`: nobody needs to be warned of what it left open. */
export interface Withdrawn {
  readonly scope: Scope
  readonly isExpected: boolean
}

export type BodyEnd = { readonly output: Stored } | { readonly failure: Failure }

/** The frame, as the conversation sees it. */
export interface Answerer {
  readonly active: boolean
  /** It is ending or stopping: what the body still asks has no effect. */
  readonly deaf: boolean
  clock(): Instant
  spokeWhileParked(name: string): void
  stopFromInside(reason: string): void
  newMark(id: string): void
  /** What people see from the next commit on. */
  shows(shown: Shown): void
  /** Asked before, according to the history. */
  recalled(asks: readonly Ask[]): void
  /** What these scopes have left open is not wanted any more. `live`: whoever else it concerns is told. */
  withdrawn(scopes: readonly Withdrawn[], live: boolean): void
  /** The question that a recorded answer belongs to. */
  answeredBefore(entry: Entry): Ask | null
  /** Every recorded answer has been given: open records are made now, and what was leaving has ended. */
  historyIsOver(): void
  /** The body is quiet and its history is behind it: these are its new questions. */
  quiet(asked: readonly Ask[], over: readonly Withdrawn[]): void
  diverged(difference: Difference): void
  /** The history says that the run was stopping, and what came of that so far. */
  wasStopping(stopping: Stopped): void
}

export class Conversation {
  readonly run: RunFacts
  readonly history: Replayer
  readonly root = Scope.ofRun()
  readonly undos: Undos
  /** Answers are made, no longer repeated. */
  live = false
  /** The body has not finished reacting to the last answer. */
  settling = false
  end: BodyEnd | null = null
  /** Database time of the last answer. */
  nowAt: Instant
  /** What the body says of it (Turn.expires), beside the deadline of the run. */
  expiresAt: Instant | null = null
  /** The number of the last answer given. */
  lastSeq = 0
  /** Those that steps have started, and that no wait has heard of. */
  readonly children = new Set<Uid>()
  /** How many entries belong to rounds that have ended. */
  behind = 0
  /** Its body has been called: the open questions are known, not only the journal. */
  begun = false
  private readonly program: Program | null
  private readonly frame: Answerer
  private readonly ports: Ports
  private readonly alarm: Alarm
  private readonly counts = new Map<string, number>()
  private aborter: AbortController | null = null
  private asked: Ask[] = []
  private over: Withdrawn[] = []
  /** Said since the last answer. In a history that is repeated it has been stored, but for its last window. */
  private shown: Shown | null = null

  constructor(
    frame: Answerer,
    what: {
      readonly run: RunFacts
      readonly program: Program | null
      readonly journal: readonly Entry[]
      readonly alarm: Alarm
      readonly deps: { readonly ports: Ports; readonly defects: Defects }
    },
  ) {
    this.frame = frame
    this.undos = new Undos(what.deps.defects)
    this.run = what.run
    this.program = what.program
    this.history = new Replayer(what.journal)
    this.behind = this.history.script.behind
    this.ports = what.deps.ports
    this.alarm = what.alarm
    this.nowAt = what.run.startedAt
  }

  /** Calls the body; its history is repeated to it first. */
  begin(): void {
    this.begun = true
    this.settle()
    this.program?.body(makeTurn(this)).then(
      (output) => this.endedWell(output),
      (error: unknown) => this.ended({ failure: asFailure(error) }),
    )
  }

  /** What is still being undone in it, and was not waited for, is undone first. */
  private endedWell(output: Stored): void {
    if (!this.undos.isUndoing(this.root)) return this.ended({ output })
    void this.undos.undone(this.root).then(() => this.ended({ output }))
  }

  /** The body hears the answer that has just got the number `seq`. */
  answer(ask: Ask, entry: NewEntry, seq: number): void {
    this.lastSeq = seq
    this.nowAt = entry.at
    this.settle()
    this.hears(ask, entry)
  }

  private hears(ask: Ask, entry: NewEntry): void {
    this.undos.note(ask, entry)
    noteChildren(entry, this.children)
    answerAsk(ask, entry)
  }

  abort(reason: Error): boolean {
    if (this.stopping.aborted) return false
    this.aborter?.abort(reason)
    return true
  }

  ended(end: BodyEnd): void {
    this.end ??= end
    this.settle()
  }

  /** Quiet, nothing open, not ended: the body awaits something that is not ours. */
  awaitsForeign(): void {
    const { id, definition } = this.run
    this.alarm.patience(FOREIGN_AWAIT_WARN_MS, () => {
      const hint = 'wrap it in wf.do, or it runs again at every replay'
      this.ports.log.warn(`Run ${id} (${definition}) awaits something that is not a step.`, {
        hint,
      })
      this.alarm.patience(FOREIGN_AWAIT_MAX_MS - FOREIGN_AWAIT_WARN_MS, () =>
        this.ended({ failure: asFailure(foreignAwait(id, definition)) }),
      )
    })
  }

  // ── the body speaks (turn.ts) ─────────────────────────────────────────────────────────────────────────────

  get isListening(): boolean {
    return this.live && !this.settling
  }

  get replaying(): boolean {
    return !this.live && !this.history.isEmpty
  }

  get stopping(): AbortSignal {
    this.aborter ??= new AbortController()
    return this.aborter.signal
  }

  clock(): Instant {
    return this.frame.clock()
  }

  nextOccurrence(name: string): number {
    const occurrence = (this.counts.get(name) ?? 0) + 1
    this.counts.set(name, occurrence)
    return occurrence
  }

  asks(ask: Ask): void {
    if (!this.frame.active) return this.frame.spokeWhileParked(ask.name)
    if (this.frame.deaf) return
    ask.afterSeq = this.lastSeq
    this.undos.begins(ask)
    this.asked.push(ask)
    this.settle()
  }

  withdraw(scope: Scope, isExpected: boolean, kept: Scope | null): Promise<unknown> {
    if (this.frame.deaf) return new Promise<never>(() => {})
    const left = this.undos.leave(scope, kept)
    scope.end(() => scopeEnded(shownName(scope.name, scope.occurrence), this.run.id))
    this.over.push({ scope, isExpected })
    this.settle()
    return left
  }

  lastRound(key: string): number {
    return this.history.script.rounds.get(key) ?? 0
  }

  roundIsOver(scope: Scope, sinceSeq: number): void {
    this.behind += Math.max(0, this.lastSeq - 1 - sinceSeq)
    this.undos.forget(scope)
    // A loop for years counts its names anew in every round.
    for (const name of this.counts.keys()) if (name.startsWith(scope.path)) this.counts.delete(name)
  }

  fail(failure: Failure): void {
    this.ended({ failure })
  }

  show(shown: Shown): void {
    if (!this.frame.active || this.frame.deaf) return
    if (this.live) this.frame.shows(shown)
    else this.shown = { ...this.shown, ...shown }
  }

  mark(id: string): boolean {
    const known = this.history.mark(id, this.asked)
    if (known === 'new') this.frame.newMark(id)
    return known !== 'absent'
  }

  stopFromInside(reason: string): void {
    if (!this.frame.active || this.frame.deaf) return
    this.frame.stopFromInside(reason)
    this.settle()
  }

  // ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Lets the body react to what happens now, and goes on when it is quiet. */
  private settle(): void {
    if (this.settling) return
    this.settling = true
    this.ports.quiet.next(this.isQuiet)
  }

  private readonly isQuiet = (): void => {
    this.settling = false
    if (!this.frame.active) return
    this.alarm.bodySpoke()
    if (this.undos.goOn()) this.settle()
    else if (this.live) this.goLive(this.asked)
    else this.replay()
  }

  private replay(): void {
    const step = this.history.next(this.asked, this.end !== null)
    switch (step.kind) {
      case 'diverged':
        return this.frame.diverged(step.difference)
      case 'missing':
        // The body may be awaiting something of its own: give it a moment.
        return this.alarm.patience(FOREIGN_AWAIT_WARN_MS, () =>
          this.frame.diverged(step.difference),
        )
      case 'live':
        this.frame.recalled(step.recalled)
        // What the journal says, not the body: it may have ended a round since.
        this.undos.stored(this.history.script.undoable.length)
        if (this.history.script.stopping) return this.stopAgain(this.history.script.stopping)
        this.frame.historyIsOver()
        return this.goLive(step.fresh)
      case 'answer': {
        this.frame.recalled(step.recalled)
        this.asked = []
        this.frame.withdrawn(this.over, false)
        this.over = []
        this.shown = null
        const { entry } = step
        const ask = this.frame.answeredBefore(entry)
        this.nowAt = Math.max(this.nowAt, entry.at)
        this.lastSeq = entry.seq
        this.settle()
        if (ask) this.hears(ask, entry)
      }
    }
  }

  /** What the body asks beyond its history is not wanted: it was told to stop there. */
  private stopAgain(stopping: Stopped): void {
    this.live = true
    this.asked = []
    this.frame.withdrawn(this.over, false)
    this.over = []
    this.frame.wasStopping(stopping)
  }

  private goLive(fresh: readonly Ask[]): void {
    this.live = true
    if (this.shown !== null) this.frame.shows(this.shown)
    this.shown = null
    if (this.asked.length > 0) this.asked = []
    const { over } = this
    if (over.length > 0) this.over = []
    this.frame.quiet(fresh, over)
  }
}

export function asFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure(encodeError(error, 'the function'))
}
