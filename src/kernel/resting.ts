// Resting: a run that is to be paused. What runs may finish and is recorded; nothing is begun, and nothing ends: all of
// that is for the turn after the pause.

import { runFinished } from '../model/errors.js'
import type { HeldRun } from './held-run.js'
import type { Outcome } from './look.js'
import { rollBack } from './transaction.js'

/** The frame, as its resting sees it. */
export interface Resting extends HeldRun {
  readonly ready: Outcome[]
  deliver(outcome: Outcome): void
}

/** A cancel comes before a pause. */
export function isToRest({ handingOver, mail }: HeldRun): boolean {
  return handingOver !== null && handingOver !== 'close' && !mail.cancel
}

export function rest(frame: Resting): void {
  const { ready, questions, run } = frame
  if (frame.body.end) {
    // It would end now: what is open has lost, and after the end of the body no answer may stand.
    for (const { transaction } of ready.splice(0)) if (transaction) rollBack(transaction)
    if (questions.running()) questions.giveUp(runFinished(run.id, 'over'))
  }
  const finished = ready.shift()
  if (finished) frame.deliver(finished)
  else frame.deps.submit(run.uid)
}
