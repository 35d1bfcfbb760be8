// What can start, starts: steps whose time has come, and children.

import { EARLY_ENTRIES_MAX } from '../model/limits.js'
import type { StepAsk } from './asks.js'
import { type AttemptOwner, RunningAttempt } from './attempt.js'
import type { HeldRun } from './held-run.js'
import { isNext } from './questions.js'
import type { Scribe } from './scribe.js'

interface Startable extends HeldRun, Omit<AttemptOwner, 'handingOver'> {
  readonly scribe: Scribe
}

export function startWhatCan(frame: Startable): void {
  const { deps, questions, scribe } = frame
  if (frame.handingOver || !deps.mayStart()) return
  const now = deps.now()
  for (const ask of questions.all()) {
    if (!isNext(ask, now)) continue
    if (ask.kind === 'child') scribe.child(ask)
    else if (mayStart(frame, ask)) startStep(frame, ask)
  }
}

/** What began early and waits for its past to be stored: perhaps it is, and the run is still ours. */
export function letGoOn({ deps, questions }: HeldRun): void {
  if (deps.mayStart()) questions.stored()
}

/** What runs early will soon have said more: that is written down with what is there. */
export function isToSay({ out, questions }: HeldRun): boolean {
  return out.waiting && !questions.runsEarly()
}

/**
 * O3: nothing reaches outside before what was answered before it was asked for is durable. Until what it was brought is stored
 * the run is not ours.
 */
function mayStart(frame: Startable, ask: StepAsk): boolean {
  const { out, deps, inFlight } = frame
  if (deps.defects.has('start-before-durable')) return true
  const isPastStored = out.ackedSeq >= ask.afterSeq
  if (isPastStored) return !out.isUntold && !inFlight?.delta.brings
  return ask.order.isEarly === true && out.lastSeq - out.ackedSeq < EARLY_ENTRIES_MAX
}

function startStep(frame: Startable, ask: StepAsk): void {
  const { deps } = frame
  deps.ports.fault('step.start')
  if (deps.defects.has('kept-forgotten')) ask.kept = null
  const attempt = new RunningAttempt(frame.run, ask, deps.attempts, frame)
  ask.running = attempt
  ask.startedAt = frame.clock()
  deps.stepStarted(attempt)
  attempt.start()
}
