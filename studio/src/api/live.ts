// News of the workspace. Where the server has no stream of it the pages ask every few seconds instead, and the foot of the
// menu says so.

import { useSyncExternalStore } from 'react'

export type Liveness = 'streaming' | 'polling'

let liveness: Liveness = 'polling'
const listeners = new Set<() => void>()

export function setLiveness(next: Liveness): void {
  if (liveness === next) return
  liveness = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLiveness = (): Liveness => useSyncExternalStore(subscribe, () => liveness)

/** How often to ask: rarely while the stream tells by itself. */
export function useRefresh(everyMs: number): number {
  return useLiveness() === 'streaming' ? 30_000 : everyMs
}
