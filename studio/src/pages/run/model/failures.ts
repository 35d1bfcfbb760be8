// Everything that has failed in a run, the last first. Pure.

import type { JournalEntry, StoredError } from 'perdure'

export interface Failure {
  readonly seq: number
  readonly at: Date
  /** '' if it is the run itself. */
  readonly name: string
  readonly attempt: number
  readonly error: StoredError
  /** When it was or is tried again; null: that was the last time. */
  readonly until: Date | null
}

export function failuresOf(entries: readonly JournalEntry[]): readonly Failure[] {
  const failures: Failure[] = []
  for (const { seq, at, name, attempt = 1, error, until } of entries) {
    // A run that fails because of a step says it once more.
    const isKnown = name === '' && failures.at(-1)?.error.message === error?.message
    if (error && !isKnown) failures.push({ seq, at, name, attempt, error, until: until ?? null })
  }
  return failures.reverse()
}
