// News of the workspace: the stream of its changes makes the pages read again what has changed. Where there is no stream they ask
// every few seconds instead, and the foot of the menu says so.

import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import type { Change } from 'perdure'
import { useEffect, useSyncExternalStore } from 'react'
import { api } from './api.js'

export type Liveness = 'streaming' | 'polling'

let liveness: Liveness = 'polling'
const listeners = new Set<() => void>()

function become(next: Liveness): void {
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

/** News are gathered for so long. */
const GATHER_MS = 400
/** What no change of a run changes: who asks, of which server, and the types of nodes that it knows. */
const STANDING = ['me', 'node-types']
/** Counting all runs is not for every second. */
const COUNT_MS = 4_000
const AGAIN_MS = 5_000

/** Follows the changes as long as the frame is there. */
export function useLive(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const stop = new AbortController()
    const reader = new NewsReader(queries)
    const follow = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await followed(reader, stop.signal)
        become('polling')
        await paused(stop.signal)
      }
    }
    void follow()
    return () => {
      stop.abort()
      reader.close()
    }
  }, [queries])
}

/** Ends when the stream does. */
async function followed(reader: NewsReader, signal: AbortSignal): Promise<void> {
  try {
    for await (const change of api().client.changes({ signal })) {
      become('streaming')
      reader.hear(change)
    }
  } catch {
    // It is asked again; what is read meanwhile is asked for.
  }
}

function paused(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, AGAIN_MS)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

class NewsReader {
  private readonly queries: QueryClient
  private readonly runs = new Set<string>()
  private isAll = false
  private timer: ReturnType<typeof setTimeout> | null = null
  private countTimer: ReturnType<typeof setTimeout> | null = null
  private countedAt = 0

  constructor(queries: QueryClient) {
    this.queries = queries
  }

  hear(change: Change): void {
    if (change.isReload) this.isAll = true
    else this.runs.add(change.runId)
    this.timer ??= setTimeout(() => this.tell(), GATHER_MS)
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    if (this.countTimer !== null) clearTimeout(this.countTimer)
  }

  private tell(): void {
    this.timer = null
    if (this.isAll) {
      this.read([])
      this.countedAt = performance.now()
    } else {
      for (const runId of this.runs) this.read(['run', runId])
      this.read(['runs'])
      this.count()
    }
    this.runs.clear()
    this.isAll = false
  }

  /** At most so often, and always once more behind the last change. */
  private count(): void {
    const waitMs = Math.max(0, this.countedAt + COUNT_MS - performance.now())
    this.countTimer ??= setTimeout(() => {
      this.countTimer = null
      this.countedAt = performance.now()
      for (const name of ['stats', 'overview', 'activity', 'inbox']) this.read([name])
    }, waitMs)
  }

  private read(queryKey: readonly string[]): void {
    void this.queries.invalidateQueries({
      queryKey,
      // The rows of a list stay where they are: its head tells what is new.
      predicate: ({ queryKey: [name, , part] }) =>
        name === 'runs' ? part === 'head' : !STANDING.includes(String(name)),
    })
  }
}
