// A run as it was behind an entry of its journal, as far as the journal alone tells. Pure.

import type { JournalEntry, RunInfo, StoredDocument } from 'perdure'
import type { Status } from '../../../ui/statuses.js'

/** What the panels of a run show, of now or of then. */
export interface Then {
  readonly status: Status
  readonly place: string | null
  readonly state?: unknown
  /** What a function said of its state leaves no trace but the last one. */
  readonly isStateKnown: boolean
  readonly input?: unknown
  readonly output?: unknown
  readonly error: RunInfo['error']
  /** Of a graph; null: of none, or not known. */
  readonly variables?: unknown
  /** null: they are read on their own. */
  readonly documents: readonly StoredDocument[] | null
}

const STATUS_OF: Readonly<Record<string, Status>> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.timed_out': 'timed_out',
}
const WAITS = ['timer.set', 'wait.opened', 'child.started']

export function thenOf(entries: readonly JournalEntry[]): Then {
  const last = entries.at(-1)
  const moved = entries.findLast(({ transitions }) => transitions !== undefined)
  const at = moved?.output as { readonly place?: string; readonly state?: unknown } | undefined
  const end = last && STATUS_OF[last.kind]
  const isWaiting = last !== undefined && (WAITS.includes(last.kind) || last.until !== undefined)
  return {
    status: end ?? (isWaiting ? 'waiting' : 'running'),
    place: at?.place ?? null,
    state: at?.state,
    isStateKnown: true,
    input: entries[0]?.input,
    output: end === 'completed' ? last?.output : undefined,
    error: last?.error ?? null,
    variables: null,
    documents: null,
  }
}
