// What pages read, one hook each. What changes is asked again every few seconds while somebody looks, and at once when the
// stream of the workspace says that something happened (live.ts).

import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query'
import type { Description, Explanation, LimitInfo, RunCount, RunInfo, WorkerInfo } from 'perdure'
import { PerdureError } from '#errors'
import { api } from './api.js'
import { useRefresh } from './live.js'

/** What a refused request says is not going to change by asking again. */
const isPassing = (error: unknown): boolean =>
  PerdureError.is(error) && (error.retryable || error.code === 'SERVER_UNREACHABLE')

export const makeQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        retry: (failures, error) => isPassing(error) && failures < 2,
        // A server that comes back is noticed by asking, not by the state of the network card.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })

interface Listed<T> {
  readonly items: readonly T[]
}

/** A list that the server gives whole. */
function useItems<T>(name: string, everyMs: number | false) {
  return useQuery({
    queryKey: [name],
    queryFn: async () => (await api().ask<Listed<T>>({ path: `/${name}` })).items,
    refetchInterval: everyMs,
    placeholderData: keepPreviousData,
  })
}

export const useStats = () => useItems<RunCount>('stats', useRefresh(5_000))
export const useWorkers = () => useItems<WorkerInfo>('workers', 5_000)
export const useLimits = () => useItems<LimitInfo>('limits', 5_000)

interface Workflows extends Listed<Description> {
  /** Those that only other processes have. */
  readonly elsewhere: readonly { readonly name: string; readonly version: string }[]
}

function useWorkflows<T>(select: (all: Workflows) => T) {
  return useQuery({
    queryKey: ['workflows'],
    queryFn: () => api().ask<Workflows>({ path: '/workflows' }),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
    select,
  })
}

export const useDefinitions = () => useWorkflows(({ items }) => items)
export const useElsewhere = () => useWorkflows(({ elsewhere }) => elsewhere)

export function useDefinition(name: string | undefined) {
  return useQuery({
    queryKey: ['workflows', name],
    queryFn: () => api().client.describe(name ?? ''),
    enabled: name !== undefined,
    staleTime: 60_000,
  })
}

/** null: there is no such run. */
export function useRun(id: string) {
  return useQuery<RunInfo | null>({
    queryKey: ['run', id],
    queryFn: () => api().client.get(id),
    refetchInterval: useRefresh(3_000),
  })
}

export function useExplanation(id: string, isAsked: boolean) {
  return useQuery<Explanation>({
    queryKey: ['run', id, 'explain'],
    queryFn: () => api().client.explain(id),
    enabled: isAsked,
    refetchInterval: useRefresh(3_000),
  })
}
