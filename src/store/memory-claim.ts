// Which runs a claim takes, as claim_v1 does.

import type { Worker } from '../kernel/store.js'
import { CRASHES_MAX, CRASHES_SUSPECT } from '../model/limits.js'
import { type Instant, isFinal } from '../model/run.js'
import { hasCode, type MemoryRun } from './memory-run.js'

/** Higher priority first, then the longer due; of suspects no more than `suspects`. */
export function dueRuns(
  runs: Iterable<MemoryRun>,
  by: Worker,
  limits: { readonly places: number; readonly suspects: number },
  now: Instant,
): MemoryRun[] {
  const due: { row: MemoryRun; since: Instant }[] = []
  for (const row of runs) {
    const since = dueSince(row, by, limits.suspects, now)
    if (since !== null) due.push({ row, since })
  }
  due.sort(
    (a, b) =>
      b.row.run.priority - a.row.run.priority ||
      a.since - b.since ||
      (a.row.uid < b.row.uid ? -1 : 1),
  )
  let suspectsLeft = limits.suspects
  return due
    .map(({ row }) => row)
    .filter((row) => {
      // Those over the crash limit are ended, never executed.
      if (row.crashes < CRASHES_SUSPECT || row.crashes >= CRASHES_MAX) return true
      suspectsLeft -= 1
      return suspectsLeft >= 0
    })
    .slice(0, limits.places)
}

function dueSince(row: MemoryRun, by: Worker, suspects: number, now: Instant): Instant | null {
  if (row.owner !== null || isFinal(row.status) || row.stop === 'pause') return null
  const isDue = row.dueAt !== null && row.dueAt <= now
  const isLate =
    row.stop === null && row.deadlineAt !== null && row.deadlineAt <= now && row.undoOpen === 0
  const isTaken = isDue && (endsWithoutCode(row) || row.crashes >= CRASHES_MAX)
  const since = isDue && (isTaken || fits(row, by, suspects)) ? row.dueAt : null
  if (!isLate) return since
  return Math.min(since ?? Number.POSITIVE_INFINITY, row.deadlineAt ?? Number.POSITIVE_INFINITY)
}

/** Undoing needs the code. */
function endsWithoutCode(row: MemoryRun): boolean {
  return row.stop === 'cancel' && row.undoOpen === 0
}

function fits(row: MemoryRun, by: Worker, suspects: number): boolean {
  if (!hasCode(by, row)) return false
  if (row.divergedBuilds.length > 0) return !row.divergedBuilds.includes(by.build)
  return row.crashes < CRASHES_SUSPECT || suspects > 0
}

/** Of the runs that anybody may execute; a deadline needs no code. */
export function nextDueAt(runs: Iterable<MemoryRun>, by: Worker): Instant | null {
  let next: Instant | null = null
  const at = (instant: Instant | null): void => {
    if (instant !== null && (next === null || instant < next)) next = instant
  }
  for (const row of runs) {
    if (row.owner !== null || isFinal(row.status) || row.stop !== null) continue
    if (row.undoOpen === 0) at(row.deadlineAt)
    const isPlain = row.divergedBuilds.length === 0 && row.crashes < CRASHES_SUSPECT
    if (isPlain && hasCode(by, row)) at(row.dueAt)
  }
  return next
}
