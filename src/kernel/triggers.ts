// Triggers that no wait has taken are refused when the run is quiet: it does nothing of its own, and their time is over.

import type { Instant } from '../model/run.js'
import type { HeldRun } from './held-run.js'
import { patienceEnd } from './mailbox.js'

export function refuseTriggers({ mail, questions, out, deps }: HeldRun): void {
  if (mail.triggers.length === 0 || questions.busy()) return
  const now = deps.now()
  for (const message of [...mail.triggers]) {
    if (patienceEnd(message) > now) continue
    mail.take(message)
    out.refuses(message.no)
  }
}

/** When the run needs a look whatever it waits for. */
export function limitOf({ mail, questions, run }: HeldRun): Instant | null {
  const { patientUntil } = mail
  if (patientUntil === null || questions.busy()) return run.deadlineAt
  return run.deadlineAt === null ? patientUntil : Math.min(patientUntil, run.deadlineAt)
}
