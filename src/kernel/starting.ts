// What can start, starts: steps whose time has come, and children.

import type { StepAsk } from './asks.js'
import { type AttemptOwner, RunningAttempt } from './attempt.js'
import type { HeldRun } from './held-run.js'
import { isNext } from './questions.js'
import type { Scribe } from './scribe.js'

interface Startable extends HeldRun, AttemptOwner {
  readonly scribe: Scribe
}

export function startWhatCan(frame: Startable): void {
  const { deps, questions, out, scribe } = frame
  if (frame.handingOver || !deps.mayStart()) return
  const now = deps.now()
  for (const ask of questions.all()) {
    if (!isNext(ask, now)) continue
    // O3: nothing starts before what was answered before it was asked for is durable.
    const durable = out.ackedSeq >= ask.afterSeq
    if (ask.kind === 'child') scribe.child(ask)
    else if (durable || deps.defects.has('start-before-durable')) startStep(frame, ask)
  }
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
