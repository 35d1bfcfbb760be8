// What a run of a graph does, as it does it: each entry of its journal asks for its nodes again.

import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { LoggedNode, RunInfo } from 'perdure'
import { useEffect } from 'react'
import { api } from '../../api/api.js'

const AT_MOST_EVERY_MS = 120
/** Where the stream is cut. */
const ANYWAY_MS = 3_000

export interface Watched {
  /** null: there is no such run. */
  readonly run: RunInfo | null
  readonly log: readonly LoggedNode[]
}

export function useWatch(id: string | null) {
  const queries = useQueryClient()
  const watched = useQuery<Watched>({
    queryKey: ['watch', id],
    queryFn: async () => {
      const { client } = api()
      // The log first: what the run says is never older than it.
      const log = await client.nodes(id ?? '')
      return { run: await client.get(id ?? ''), log }
    },
    enabled: id !== null,
    refetchInterval: ({ state }) => (state.data?.run?.finishedAt ? false : ANYWAY_MS),
  })
  const isOver = watched.data?.run?.finishedAt != null
  useEffect(() => {
    if (id === null || isOver) return
    const stop = new AbortController()
    let later: ReturnType<typeof setTimeout> | null = null
    const ask = (): void => {
      later ??= setTimeout(() => {
        later = null
        void queries.invalidateQueries({ queryKey: ['watch', id] })
      }, AT_MOST_EVERY_MS)
    }
    const follow = async (): Promise<void> => {
      const handle = await api().client.get(id)
      if (handle === null) return
      const events = api().client.handle(handle.workflow, id).events({ signal: stop.signal })
      for await (const _ of events) ask()
      ask()
    }
    // A stream that cannot be had is made up for by asking.
    follow().catch(() => {})
    return () => {
      stop.abort()
      if (later !== null) clearTimeout(later)
    }
  }, [id, isOver, queries])
  return watched
}
