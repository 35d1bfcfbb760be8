// One line about an entry of the journal. Pure.

import type { JournalEntry } from 'perdure'
import { duration } from '../../../lib/format.js'
import { inline } from '../../../lib/values.js'
import type { Status } from '../../../ui/statuses.js'

const TEXT_MAX = 160

const TONES: readonly (readonly [RegExp, Status])[] = [
  [/failed$|diverged$/, 'failed'],
  [/timed_out$/, 'timed_out'],
  [/cancelled$|withdrawn$|stopping$/, 'cancelled'],
  [/completed$|fired$|taken$/, 'completed'],
  [/^wait|^timer/, 'waiting'],
  [/created$|asked$|started$|reopened$/, 'running'],
]

export function toneOf({ kind, error }: JournalEntry): Status {
  if (error) return 'failed'
  return TONES.find(([pattern]) => pattern.test(kind))?.[1] ?? 'pending'
}

export function aboutEntry(entry: JournalEntry): string {
  const parts = [
    entry.attempt !== undefined && entry.attempt > 1 ? `attempt ${entry.attempt}` : '',
    entry.startedAt ? duration(entry.at.getTime() - entry.startedAt.getTime()) : '',
    entry.transitions?.map(({ from, to }) => `${from} → ${to}`).join(', ') ?? '',
    entry.error ? entry.error.message : '',
    entry.until ? `until ${entry.until.toISOString()}` : '',
    valueText(entry),
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

function valueText({ input, output, transitions }: JournalEntry): string {
  if (transitions) return ''
  if (output !== undefined) return inline(output, TEXT_MAX)
  return input === undefined ? '' : inline(input, TEXT_MAX)
}
