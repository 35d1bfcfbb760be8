// The moment that is shown: the last one, or the one that the address names (`?at=12`: behind entry 12).

import { useQuery } from '@tanstack/react-query'
import type { JournalEntry, RunInfo } from 'perdure'
import { useMemo } from 'react'
import { api } from '../../api/api.js'
import { useSearch } from '../../app/router.js'
import { type Then, thenOf } from './model/then.js'

export interface Moment {
  /** null: now. */
  readonly seq: number | null
  readonly last: number
  /** Those that were there at that moment. */
  readonly entries: readonly JournalEntry[]
  readonly go: (seq: number | null) => void
}

export function useMoment(entries: readonly JournalEntry[]): Moment {
  const [search, setSearch] = useSearch()
  const last = entries.at(-1)?.seq ?? 0
  const asked = Number(search.get('at') ?? Number.NaN)
  const seq = Number.isInteger(asked) && asked >= 1 && asked < last ? asked : null
  return useMemo(() => {
    // Entries are numbered from 1 without gaps.
    const shown = seq === null ? entries : entries.slice(0, seq)
    const go = (to: number | null): void =>
      setSearch({ at: to === null || to >= last ? null : String(Math.max(1, to)) })
    return { seq, last, entries: shown, go }
  }, [entries, seq, last, setSearch])
}

/** The run as it was then; until the server has told, what the journal says. */
export function useThen(run: RunInfo, { seq, entries }: Moment): Then {
  const asked = useQuery({
    queryKey: ['run', run.id, 'at', seq],
    queryFn: () => api().client.at(run.id, seq ?? 1),
    enabled: seq !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return useMemo(() => {
    if (seq === null) return { ...run, isStateKnown: true, variables: null, documents: null }
    return asked.data ?? thenOf(entries)
  }, [run, seq, entries, asked.data])
}
