// Triggers that no wait has taken are refused when the run is quiet: it does nothing of its own, and their time is over.

import type { Instant } from '../model/run.js'
import { deadlineOf } from './ending.js'
import type { HeldRun } from './held-run.js'
import { patienceEnd } from './mailbox.js'

export function refuseTriggers({ mail, questions, out, deps }: HeldRun): void {
  if (mail.triggers.length === 0 || questions.busy()) return
  const now = deps.now()
  for (const message of mail.triggers) {
    if (patienceEnd(message) > now) continue
    mail.take(message)
    out.refuses(message.no)
  }
}

/** The run ends: one that is re-opened does not take what its callers have given up. */
export function refuseAll({ mail, out }: HeldRun): void {
  for (const message of mail.triggers) {
    mail.take(message)
    out.refuses(message.no)
  }
}

/** When the run needs a look whatever it waits for. */
export function limitOf(frame: HeldRun): Instant | null {
  const { mail, questions } = frame
  const deadlineAt = deadlineOf(frame)
  const { patientUntil } = mail
  if (patientUntil === null || questions.busy()) return deadlineAt
  return deadlineAt === null ? patientUntil : Math.min(patientUntil, deadlineAt)
}

/** One that is refused elsewhere leaves no entry by which a kept frame would know that it is outdated. */
export function isKeepable({ mail }: HeldRun, { reason }: { readonly reason: string }): boolean {
  return reason !== 'diverged' && mail.triggers.length === 0
}
