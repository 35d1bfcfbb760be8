// Stopping: how a run comes to an end that its body did not bring about, or that leaves something to be undone.
//
// What runs is asked to stop, and may still be recorded; open children are cancelled and waited for, since their effects
// are newer; then what was done is undone, newest first, each as a step. Nothing stops that again but force.

import { encodeError } from '../model/error-record.js'
import { Failure } from '../model/program.js'
import type { Entry, NewEntry, Stop } from '../model/run.js'
import type { Ask, StepAsk, Undoable } from './asks.js'
import type { End, EndFact, StopCause } from './ending.js'
import { endFact, reasonToStop, stoppingEntry, toldByParent } from './ending.js'
import type { HeldRun } from './held-run.js'
import { look, type Outcome } from './look.js'
import { isFinalFailure, keyOf, type Stopped } from './replay.js'
import type { Scribe } from './scribe.js'
import { rollBack } from './transaction.js'
import { undoFailure } from './undos.js'

/** The frame, as its stopping sees it. */
export interface Stoppable extends HeldRun {
  readonly ready: Outcome[]
  readonly end: EndFact | null
  readonly scribe: Scribe
  /** Rings when the grace of running steps is over. */
  ringAfterGrace(then: () => void): void
  /** Starts what can start; says what is to be said; arms the next due time. */
  goOn(): void
  finish(end: End): void
}

export class Stopping {
  cause: StopCause
  private readonly frame: Stoppable
  /** The entry that says so. */
  private writtenSeq: number | null = null
  /** Nothing of it was stored, and nothing will be: it has stopped nothing. */
  private isUnsaid = false

  constructor(frame: Stoppable, cause: StopCause) {
    this.frame = frame
    this.cause = cause
  }

  /** After a restart: what the journal says of the stopping so far. The body has been driven up to it. */
  static again(frame: Stoppable, { entry, after }: Stopped): Stopping {
    const stopping = new Stopping(frame, Stopping.causeOf(frame, entry))
    stopping.writtenSeq = entry.seq
    const { questions, body } = frame
    for (const one of after) {
      const ask = questions.find(one.name, one.occurrence)
      if (one.kind === 'undo.completed') stopping.done(one.name)
      if (!ask || one.kind === 'step.asked') continue
      body.undos.note(ask, one)
      if (ask.kind === 'step' && ask.undoes && one.meta?.retryAt !== undefined) {
        ask.attempts = Math.max(ask.attempts, one.attempt)
        ask.retryAt = one.meta.retryAt
      } else questions.remove(ask)
    }
    stopping.leaveChildren()
    // Whoever wrote it down may not have known of all of them.
    stopping.tellChildren()
    stopping.recallUndo(after)
    return stopping
  }

  private get isWritten(): boolean {
    return this.writtenSeq !== null
  }

  get isStored(): boolean {
    return this.writtenSeq !== null && this.writtenSeq <= this.frame.out.ackedSeq
  }

  /** Once the journal says that it is stopping, nothing stops it again but force: a later cancel has been seen too. */
  get stopSeen(): Stop | null {
    if (this.isUnsaid) return null
    return this.isWritten || this.cause.kind === 'cancel' ? 'cancel' : null
  }

  /** What was decided since the last commit is never stored, and so is perhaps the entry: a later cancel has not been seen. */
  unsay(): void {
    if (this.isStored) return
    this.writtenSeq = null
    this.isUnsaid = true
  }

  /** What stopped it, as the journal has it. */
  static causeOf({ run }: HeldRun, { meta, payload }: Entry): StopCause {
    switch (meta?.cause) {
      case 'deadline':
        // Re-opened, the row has none.
        return { kind: 'deadline', deadlineAt: meta.dueAt ?? run.deadlineAt ?? run.createdAt }
      case 'failed': {
        const { name, occurrence } = meta
        const question =
          name !== undefined && occurrence !== undefined ? { name, occurrence } : null
        const { retryAfterMs } = meta
        const more = {
          ...(question && { question }),
          ...(retryAfterMs !== undefined && { retryAfterMs }),
        }
        return { kind: 'failed', failure: new Failure(payload ?? encodeError(null, 'a run'), more) }
      }
      default: {
        const reason = meta?.reason ?? ''
        return { kind: 'cancel', reason, inside: false, message: null, force: false }
      }
    }
  }

  pump(): void {
    const { frame } = this
    for (const outcome of frame.ready.splice(0)) this.hear(outcome)
    if (frame.end !== null) return
    const forced = frame.mail.cancel?.meta?.force ? forcedBy(frame) : null
    if (forced) return frame.finish({ kind: 'stopped', cause: forced })
    if (this.waitsForSteps()) return
    const isUndone = this.cause.kind === 'cancel' && this.cause.force
    if (isUndone || (!this.isWritten && frame.body.undos.next === null)) {
      return frame.finish({ kind: 'stopped', cause: this.cause })
    }
    this.write()
    this.leaveChildren()
    this.hearChildren()
    const isEarly = frame.deps.defects.has('undo-before-children')
    if (isEarly || frame.questions.children().length === 0) this.undoNext()
    if (frame.end === null) frame.goOn()
  }

  private hear(outcome: Outcome): void {
    const { frame } = this
    const { ask } = outcome
    if (outcome.transaction) return rollBack(outcome.transaction)
    // Its steps would count as over, and are to be undone.
    if (outcome.kind === 'round.ended') return
    // The body does not hear of it: in a replay too it stands where the body is not driven any more.
    if (this.leavesSomething()) this.write()
    const entry = frame.record(outcome)
    frame.body.undos.note(ask, entry)
    if (outcome.final) frame.questions.remove(ask)
    else if (ask.kind === 'step') {
      ask.attempts = outcome.attempt
      ask.retryAt = outcome.meta?.retryAt ?? null
      ask.afterSeq = frame.out.lastSeq
    }
    if (ask.kind !== 'step' || !ask.undoes || !outcome.final) return
    if (entry.kind === 'undo.failed') this.failed(ask, ask.undoes, entry)
  }

  /** There is something to undo, or may be when what runs has ended. */
  private leavesSomething(): boolean {
    const { body, questions } = this.frame
    if (body.undos.next !== null) return true
    return questions.all().some((ask) => ask.kind === 'step' && ask.order.undo !== undefined)
  }

  private failed(ask: StepAsk, undoable: Undoable, entry: NewEntry): void {
    const question = { name: ask.name, occurrence: ask.occurrence }
    const why = new Failure(entry.payload ?? '', { question })
    const cause = this.cause.kind === 'failed' ? this.cause.failure : null
    const failure = undoFailure(this.frame.run.id, undoable.name, why, cause)
    this.frame.finish({ kind: 'failed', failure })
  }

  /** Running steps have a grace to end in; then they lose the right to write. */
  private waitsForSteps(): boolean {
    const { frame } = this
    const { error } = endFact({ kind: 'stopped', cause: this.cause }, frame.run, frame.clock())
    if (frame.body.abort(error)) {
      frame.questions.abort(error, 'steps')
      frame.ringAfterGrace(() => frame.questions.giveUp(error, 'steps'))
    }
    return frame.questions.running('steps')
  }

  private write(): void {
    if (this.isWritten) return
    const { frame, cause } = this
    frame.scribe.asksBefore(null)
    const end = { kind: 'stopped', cause } as const
    const { entry, taken, notBefore } = endFact(end, frame.run, frame.clock())
    if (taken !== null) frame.out.takes(taken)
    // Taken once: not again with the end.
    if (cause.kind === 'cancel') this.cause = { ...cause, message: null }
    if (notBefore !== null) frame.out.holds(notBefore)
    frame.scribe.append(stoppingEntry(entry, cause.kind))
    this.writtenSeq = frame.out.lastSeq
    this.tellChildren()
  }

  private tellChildren(): void {
    const { frame } = this
    for (const to of frame.questions.children()) {
      const id = toldByParent(frame.run)
      const meta = { reason: `its parent ${frame.run.id} is stopping` }
      const message = { id, kind: 'cancel', name: '', meta, payload: null } as const
      frame.out.sends({ to, message, claim: false })
    }
  }

  /** Nothing is waited for any more but children that have been started, and the undo under way. */
  private leaveChildren(): void {
    const { questions } = this.frame
    for (const ask of [...questions.all()]) {
      if (ask.kind === 'child' && ask.uid) ask.manual = true
      else if (!isUndo(ask)) questions.remove(ask)
    }
  }

  private hearChildren(): void {
    const { questions, mail, deps } = this.frame
    for (;;) {
      const children = questions.all().filter((ask) => ask.kind === 'child')
      const outcome = look(children, mail, deps.now())
      if (!outcome) return
      this.hear(outcome)
    }
  }

  private undoNext(): void {
    const { frame } = this
    if (frame.questions.all().some(isUndo)) return
    const next = frame.body.undos.next
    if (!next) return frame.finish({ kind: 'stopped', cause: this.cause })
    frame.questions.add(this.undoAsk(next))
  }

  private undoAsk(undoable: Undoable): StepAsk {
    const { frame } = this
    const { name, order } = undoable
    const nobody = (): void => {}
    return {
      kind: 'step',
      scope: frame.body.root,
      name,
      occurrence: frame.body.nextOccurrence(name),
      target: order.label,
      askedAt: frame.clock(),
      afterSeq: frame.out.lastSeq,
      journaled: false,
      answer: nobody,
      fail: nobody,
      order,
      attempts: 0,
      kept: null,
      retryAt: null,
      manual: false,
      leaving: null,
      running: null,
      startedAt: 0,
      undoes: undoable,
    }
  }

  private done(name: string): void {
    const undoable = this.frame.body.undos.find(name)
    if (undoable) undoable.isDone = true
  }

  /** An undo that has failed and waits for its next attempt, or was re-opened by hand. */
  private recallUndo(after: readonly Entry[]): void {
    const { questions, body } = this.frame
    const next = body.undos.next
    if (!next || questions.all().some(isUndo)) return
    const last = after.findLast(({ name, kind }) => name === next.name && kind !== 'undo.completed')
    if (!last) return
    const ask = this.undoAsk(next)
    // A pause came between this and the end that it means.
    if (isFinalFailure(last)) return this.failed(ask, next, last)
    const history = body.history.script.asks.get(keyOf(ask.name, ask.occurrence))
    ask.journaled = true
    ask.attempts = Math.max(last.attempt, history?.attempts ?? 0)
    ask.retryAt = last.meta?.retryAt ?? null
    ask.manual = history?.manual ?? false
    questions.add(ask)
  }
}

/** A reason to stop: from outside, or a body that has failed and leaves something to be undone. */
export function stoppingOf(frame: Stoppable): Stopping | null {
  const cause = reasonToStop(frame) ?? failedCause(frame)
  return cause && new Stopping(frame, cause)
}

/** How a run ends whose last words were refused: what its frame has thought since is not what has happened. */
export function refusedEnd(frame: HeldRun, stopping: Stopping | null, failure: Failure): End {
  const { undos } = frame.body
  const { next } = undos
  stopping?.unsay()
  // What stops it from outside is stored, and comes first: it is not that which was refused.
  const { cause: said } = stopping ?? {}
  const isOutside = said?.kind === 'deadline' || (said?.kind === 'cancel' && !said.inside)
  const cause = isOutside ? said : frame.mail.cancel && reasonToStop(frame)
  if (undos.unsay() === 0) return cause ? { kind: 'stopped', cause } : { kind: 'failed', failure }
  if (!stopping?.isStored) return { kind: 'anew', failure }
  // It would be refused again.
  const first = stopping.cause.kind === 'failed' ? stopping.cause.failure : null
  const why = undoFailure(frame.run.id, next?.name ?? '', failure, first)
  return { kind: 'failed', failure: why }
}

function failedCause({ body: { end, undos } }: HeldRun): StopCause | null {
  if (!end || !('failure' in end) || end.failure.isFinal || undos.next === null) return null
  return { kind: 'failed', failure: end.failure }
}

function isUndo(ask: Ask): boolean {
  return ask.kind === 'step' && ask.undoes !== null
}

function forcedBy({ mail: { cancel } }: HeldRun): StopCause {
  const reason = cancel?.meta?.reason ?? ''
  return { kind: 'cancel', reason, inside: false, message: cancel, force: true }
}
