// The journal of a run: one stream gives all that is stored and then each entry as it is stored. Entries come in bursts; the page
// hears of them a few times a second.

import { useQueryClient } from '@tanstack/react-query'
import type { JournalEntry, RunInfo } from 'perdure'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../api/api.js'
import { isOver } from './model/standing.js'

export interface Journal {
  readonly entries: readonly JournalEntry[]
  /** The first entries are here. */
  readonly isRead: boolean
  readonly error: unknown
}

const TELL_MS = 120
/** To tell of a long journal takes longer: it is told of more rarely, so that reading it stays as long as it is and not as long squared. */
const TELL_MS_PER_ENTRY = 0.02
/** An entry is made a little before it is stored, and clocks differ. */
const SLACK_MS = 1_000
/** So many entries keep their values; of longer journals the values are read when they are looked at. */
const WITH_VALUES_MAX = 5_000
const EMPTY: Journal = { entries: [], isRead: false, error: null }

export function useJournal(run: RunInfo): Journal {
  const { id } = run
  const [journal, setJournal] = useState<Journal>(EMPTY)
  const queries = useQueryClient()
  const kept = useRef<{ id: string; entries: JournalEntry[] }>({ id, entries: [] })
  const knownAt = useRef(0)
  knownAt.current = run.updatedAt.getTime()
  // A run that had ended and was re-opened is followed again from where it was.
  const isDone = isOver(run.status)
  useEffect(() => {
    if (kept.current.id !== id) kept.current = { id, entries: [] }
    const { entries } = kept.current
    const stop = new AbortController()
    let told = entries.length
    let timer: ReturnType<typeof setTimeout> | null = null
    const tell = (error: unknown = null): void => {
      if (timer !== null) clearTimeout(timer)
      timer = null
      if (stop.signal.aborted) return
      setJournal({ entries: entries.slice(), isRead: true, error })
      // It knows more of the run than the page does; not while what is long past is read.
      const toldAt = entries.at(-1)?.at.getTime() ?? 0
      if (!isDone && told > 0 && entries.length > told && toldAt > knownAt.current - SLACK_MS) {
        void queries.invalidateQueries({ queryKey: ['run', id], exact: true })
        void queries.invalidateQueries({ queryKey: ['run', id, 'explain'] })
      }
      told = entries.length
    }
    const read = async (): Promise<void> => {
      const after = entries.at(-1)?.seq ?? 0
      const options = { after, signal: stop.signal }
      for await (const entry of api().client.handle(run.workflow, id).events(options)) {
        if (stop.signal.aborted) return
        entries.push(entries.length < WITH_VALUES_MAX ? entry : light(entry))
        timer ??= setTimeout(tell, TELL_MS + entries.length * TELL_MS_PER_ENTRY)
      }
      tell()
    }
    read().catch((error: unknown) => tell(error))
    return () => {
      stop.abort()
      if (timer !== null) clearTimeout(timer)
    }
  }, [id, run.workflow, isDone, queries])
  return journal
}

/** An entry of a long journal: its values are left on the server. */
function light({ input: _, output: __, ...entry }: JournalEntry): JournalEntry {
  return entry
}

/** One entry with its values. */
export async function readEntry(id: string, seq: number): Promise<JournalEntry | null> {
  const page = await api().client.history(id, {
    limit: 1,
    ...(seq > 1 && { after: String(seq - 1) }),
  })
  return page.items[0] ?? null
}
