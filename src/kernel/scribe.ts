// Scribe: writes down what a run has been asked, what it was answered, and that it goes on too long.

import { diverged, historyTooLong } from '../model/errors.js'
import { ENTRIES_MAX, ENTRIES_WARN } from '../model/limits.js'
import type { Entry, Instant, NewEntry } from '../model/run.js'
import { askEntry, outcomeEntry } from './answers.js'
import type { Ask, ChildAsk } from './asks.js'
import { asFailure } from './conversation.js'
import type { Difference } from './divergence.js'
import type { HeldRun } from './held-run.js'
import { warnOfLarge } from './large-values.js'
import type { Outcome } from './look.js'
import { noteChildren } from './replay.js'
import { Behind } from './rounds.js'

export class Scribe {
  private readonly frame: HeldRun
  readonly behind: Behind

  constructor(frame: HeldRun, journal: readonly Entry[]) {
    this.frame = frame
    this.behind = new Behind(journal, frame.body.history.script.rounds)
  }

  append(entry: NewEntry): void {
    const { run, out, body, deps } = this.frame
    const noted = this.behind.noted(entry, out.lastSeq + 1)
    // What belongs to rounds that have ended is behind the run: a loop may go on for years.
    const seq = out.append(noted) - body.behind
    warnOfLarge(deps, run, entry)
    if (seq === ENTRIES_WARN)
      deps.ports.log.warn(`Run ${run.id} has ${seq} entries in its journal.`)
    if (seq === ENTRIES_MAX) body.ended({ failure: asFailure(historyTooLong(run.id, seq)) })
  }

  /** The code asks something else than the history has: told at once, and kept for people. */
  diverged(difference: Difference): void {
    const { run, deps } = this.frame
    const error = diverged(run.id, run.definition, difference)
    deps.counters['run.diverged'] += 1
    deps.ports.log.error(error.message, { hint: error.hint })
    const base = { name: '', occurrence: 0, attempt: 0, payload: null }
    this.append({ ...base, kind: 'run.diverged', at: this.frame.clock(), meta: { difference } })
  }

  /** A child is created by the commit that writes down that it was asked for. */
  child(ask: ChildAsk): void {
    const { run, out, deps } = this.frame
    const { adopts, startedAs } = ask.order
    const isThere = adopts !== undefined && ask.attempts === 0
    const uid = isThere ? adopts : deps.newUid()
    ask.uid = uid
    ask.retryAt = null
    startedAs?.(uid)
    this.append({ ...askEntry(ask), attempt: ask.attempts + 1, at: this.frame.clock() })
    if (!isThere)
      out.starting({ kind: 'start', run: deps.childRun(run, uid, ask.order), claim: false })
  }

  /** Questions that have no entry yet, in the order in which they were asked. */
  asksBefore(outcome: Ask | null): void {
    for (const ask of this.frame.questions.takeUnwritten(outcome)) this.append(askEntry(ask))
  }

  outcome(outcome: Outcome, at: Instant = this.frame.clock()): NewEntry {
    const { out, mail, deps, run } = this.frame
    const { ask, message, notBefore } = outcome
    this.asksBefore(ask)
    if (message) {
      mail.take(message)
      deps.took(run.uid, message)
    }
    if (message && !deps.defects.has('taken-not-marked')) out.takes(message.no)
    const early = deps.defects.has('due-one-early') ? 1 : 0
    if (notBefore !== undefined && !deps.defects.has('early-timer')) out.holds(notBefore - early)
    const entry = outcomeEntry(outcome, at)
    this.append(entry)
    // Also of a run that is told to stop, whose body hears nothing any more.
    noteChildren(entry, this.frame.body.children)
    if (outcome.events) out.emits(outcome.events, this.frame.run.uid)
    if (outcome.shown && !deps.defects.has('shown-not-stored')) out.shows(outcome.shown)
    if (outcome.documents) out.writes(outcome.documents)
    this.answersMessages(outcome)
    return entry
  }

  /** Who has sent a message hears the first outcome of what it has brought about. */
  private answersMessages({ ask, message, attempt }: Outcome): void {
    const { out } = this.frame
    if (ask.kind === 'wait' && ask.isAnsweredLater && message) out.answersMessage(message.no, true)
    if (ask.kind !== 'step' || attempt > 1) return
    for (const no of ask.order.answers ?? []) out.answersMessage(no, false)
  }

  mark(id: string): void {
    const facts = { occurrence: 0, attempt: 0, meta: null, payload: null }
    this.append({ kind: 'mark', name: id, at: this.frame.clock(), ...facts })
  }
}
