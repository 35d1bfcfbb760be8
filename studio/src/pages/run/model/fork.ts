// The points that a run can be forked at, by name. Pure.

import type { JournalEntry } from 'perdure'

const POINTS = ['step.completed', 'step.failed', 'timer.set', 'wait.opened', 'child.started']
const NAMES_MAX = 500

export function namesOf(entries: readonly JournalEntry[]): readonly string[] {
  const names = new Set<string>()
  for (const { kind, name } of entries) {
    if (name !== '' && POINTS.includes(kind)) names.add(name)
    if (names.size >= NAMES_MAX) break
  }
  return [...names]
}
