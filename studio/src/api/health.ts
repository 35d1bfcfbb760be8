// Whether the server answers. A request that does not reach it begins a loss, the next answer ends it.

import { useSyncExternalStore } from 'react'

export interface Health {
  /** Since when nothing answers; null: all is well. */
  readonly lostAt: number | null
  readonly reachedAt: number
  /** It wants to know who asks. */
  readonly isRefused: boolean
}

let health: Health = { lostAt: null, reachedAt: Date.now(), isRefused: false }
const listeners = new Set<() => void>()

function become(next: Health): void {
  health = next
  for (const listener of listeners) listener()
}

export async function watchedFetch(
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  try {
    const response = await fetch(input, init)
    const isGateway = response.status === 502 || response.status === 504
    if (isGateway) lost()
    else reached(response.status === 401)
    return response
  } catch (error) {
    if (!init?.signal?.aborted) lost()
    throw error
  }
}

function reached(isRefused: boolean): void {
  const isNews = health.lostAt !== null || health.isRefused !== isRefused
  if (isNews) become({ lostAt: null, reachedAt: Date.now(), isRefused })
  else health = { ...health, reachedAt: Date.now() }
}

function lost(): void {
  if (health.lostAt === null) become({ ...health, lostAt: health.reachedAt })
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useHealth = (): Health => useSyncExternalStore(subscribe, () => health)
