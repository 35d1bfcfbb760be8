// What many runs do together. A server without these routes gives null: the pages then show less.

import { useQuery } from '@tanstack/react-query'
import { PerdureError } from '#errors'
import { api } from './api.js'
import { useRefresh } from './live.js'

export interface ActivityBucket {
  readonly at: Date
  readonly started: number
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  readonly timedOut: number
}

export interface Activity {
  readonly from: Date
  readonly to: Date
  readonly bucketMs: number
  readonly items: readonly ActivityBucket[]
}

/** null where the server does not know the route. */
export async function askIfKnown<T>(
  path: string,
  query: Record<string, unknown>,
): Promise<T | null> {
  try {
    return await api().ask<T>({ path, query })
  } catch (error) {
    if (PerdureError.is(error, 'ROUTE_UNKNOWN')) return null
    throw error
  }
}

export function useActivity(spanMs: number, buckets: number) {
  return useQuery({
    queryKey: ['activity', spanMs, buckets],
    queryFn: () =>
      askIfKnown<Activity>('/activity', { from: new Date(Date.now() - spanMs), buckets }),
    refetchInterval: useRefresh(5_000),
    placeholderData: (before) => before,
  })
}
