// The rows of the list. They never jump: what is new is counted and waits to be asked for, what has changed changes in place.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { RunInfo } from 'perdure'
import { useMemo } from 'react'
import { api } from '../../api/api.js'
import { useRefresh } from '../../api/live.js'
import { type Filters, queryOf } from './filters.js'

const PAGE = 100
/** Who scrolls on wants to get somewhere. */
const NEXT_PAGE = 500

export interface Row {
  readonly run: RunInfo
  /** It has changed since, and the filter would not find it any more. */
  readonly isGone: boolean
}

export function useRuns(filters: Filters) {
  const list = useInfiniteQuery({
    queryKey: ['runs', filters],
    queryFn: ({ pageParam }) =>
      api().client.list({
        ...queryOf(filters, Date.now()),
        ...(pageParam === null ? { limit: PAGE } : { limit: NEXT_PAGE, after: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const head = useQuery({
    queryKey: ['runs', filters, 'head'],
    queryFn: async () =>
      (await api().client.list({ ...queryOf(filters, Date.now()), limit: PAGE })).items,
    refetchInterval: useRefresh(2_000),
    enabled: list.isSuccess,
  })
  const { data } = list
  return useMemo(() => {
    const shown = data?.pages.flatMap((page) => page.items) ?? []
    return { list, ...merged(shown, head.data ?? []) }
  }, [list, data, head.data])
}

/** Rows in their places, as new as the head of the list knows them; and how many stand before them. */
function merged(
  shown: readonly RunInfo[],
  head: readonly RunInfo[],
): { readonly rows: readonly Row[]; readonly newCount: number } {
  if (head.length === 0) return { rows: shown.map((run) => ({ run, isGone: false })), newCount: 0 }
  const known = new Map(head.map((run) => [run.id, run]))
  const oldest = head.at(-1)?.createdAt.getTime() ?? 0
  const ids = new Set(shown.map(({ id }) => id))
  const newest = shown[0]?.createdAt.getTime() ?? 0
  const rows = shown.map((run) => {
    const fresh = known.get(run.id)
    return { run: fresh ?? run, isGone: !fresh && run.createdAt.getTime() > oldest }
  })
  const isNew = (run: RunInfo): boolean => !ids.has(run.id) && run.createdAt.getTime() >= newest
  return { rows, newCount: head.filter(isNew).length }
}
