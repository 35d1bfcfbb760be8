// What many runs do together. A server without these routes gives null: the pages then show less.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Activity, InboxItem, LimitInfo, LimitRuns, StepStats } from 'perdure'
import { PerdureError } from '#errors'
import { api, path } from './api.js'
import { useRefresh } from './live.js'

/** null where the server does not know the route. */
async function askIfKnown<T>(
  address: string,
  query: Record<string, unknown> = {},
): Promise<T | null> {
  try {
    return await api().ask<T>({ path: address, query })
  } catch (error) {
    if (PerdureError.is(error, 'ROUTE_UNKNOWN')) return null
    throw error
  }
}

export function useActivity(spanMs: number, buckets: number) {
  return useQuery({
    queryKey: ['activity', spanMs, buckets],
    queryFn: (): Promise<Activity> =>
      api().client.activity({ from: new Date(Date.now() - spanMs), buckets }),
    refetchInterval: useRefresh(5_000),
    placeholderData: keepPreviousData,
  })
}

export const INBOX_PAGE = 50

export interface Inbox {
  readonly items: readonly InboxItem[]
  readonly next: string | null
}

/** Runs that wait for a person, the oldest first. */
export function useInbox(limit = INBOX_PAGE) {
  return useQuery({
    queryKey: ['inbox', limit],
    queryFn: () => askIfKnown<Inbox>('/inbox', { limit }),
    refetchInterval: useRefresh(3_000),
    placeholderData: keepPreviousData,
  })
}

export function useStepStats(name: string) {
  return useQuery({
    queryKey: ['workflows', name, 'stats'],
    queryFn: () => askIfKnown<StepStats>(path`/workflows/${name}/steps`),
    refetchInterval: useRefresh(15_000),
    retry: false,
  })
}

/** Who has a slot there, and who waits for one. */
export function useLimitRuns({ kind, workflow, name }: LimitInfo, isAsked: boolean) {
  return useQuery({
    queryKey: ['limits', kind, workflow, name],
    queryFn: () => askIfKnown<LimitRuns>('/limits/runs', { kind, workflow, name }),
    enabled: isAsked,
    refetchInterval: 5_000,
  })
}

export interface Me {
  readonly name: string
  readonly role: 'viewer' | 'operator' | 'author' | 'admin'
  readonly workspaces: '*' | readonly string[]
  readonly workspace: string
  readonly version: string
  readonly features: {
    readonly database: 'postgresql' | 'redis' | 'embedded' | 'memory'
    readonly isEmbedded: boolean
    readonly isWorker: boolean
    readonly retentionDays: number | null
  }
}

export function useMe() {
  return useQuery({ queryKey: ['me'], queryFn: () => askIfKnown<Me>('/me'), staleTime: 60_000 })
}

/** May change runs. Until it is known who asks, the server decides. */
export const useMayOperate = (): boolean => useMe().data?.role !== 'viewer'
