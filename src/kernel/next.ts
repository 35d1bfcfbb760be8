// What becomes of the run's row with the delta that goes out now.

import type { EndFact } from './ending.js'
import type { HeldRun } from './held-run.js'
import type { Next } from './store.js'

const GO: Next = { kind: 'go' }

export function nextOf(frame: HeldRun, end: EndFact | null): Next {
  const { deps, questions } = frame
  const { seen } = frame.mail
  if (frame.difference) {
    return {
      kind: 'park',
      reason: 'diverged',
      dueAt: null,
      seen,
      divergedBuild: deps.build,
      stopSeen: null,
    }
  }
  if (end) {
    const { status, stopSeen } = end
    if (status === null) return { kind: 'release' }
    const ignoresStop = deps.defects.has('end-ignores-stop')
    const seenStop = ignoresStop ? 'cancel' : (stopSeen ?? frame.stopSeen)
    return { kind: 'end', status, stopSeen: seenStop }
  }
  if (frame.handingOver !== 'anew' && frame.parkable()) {
    const reason = questions.reason()
    // A run that is to rest has not looked at its messages; it may have been resumed since.
    const looked = frame.handingOver === 'pause' ? 0 : seen
    const counted = deps.defects.has('seen-is-the-counter') ? 1_000_000 : looked
    const stopSeen = frame.stopSeen
    return {
      kind: 'park',
      reason,
      dueAt: frame.nextDue(),
      seen: counted,
      divergedBuild: null,
      stopSeen,
      keepsSlot: questions.ownWork(deps.hasLimits),
    }
  }
  return frame.handingOver && !questions.running() ? { kind: 'release' } : GO
}
