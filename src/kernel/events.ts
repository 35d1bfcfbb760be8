// Events: what listeners hear, after the commit. At least once somewhere: what a process has committed and not
// delivered when it dies is inherited by whoever reaps it.

import type { NewEntry } from '../model/run.js'
import type { KernelEvent } from './api.js'
import type { Ports } from './ports.js'
import type { FeedEntry, Store } from './store.js'

export type RunName = KernelEvent['run']

export class Events {
  private readonly listeners = new Set<(event: KernelEvent) => unknown>()
  private readonly ports: Ports
  private readonly store: Store
  private delivered: number[] = []

  constructor(store: Store, ports: Ports) {
    this.store = store
    this.ports = ports
  }

  get heard(): boolean {
    return this.listeners.size > 0
  }

  on(listener: (event: KernelEvent) => unknown): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  /** Entries that were stored behind number `after`. */
  entries(run: RunName, entries: readonly NewEntry[], after: number): void {
    if (!this.heard) return
    for (const [i, entry] of entries.entries()) {
      const seq = after + i + 1
      this.emit({ id: `${run.uid}:${seq}`, run, kind: 'entry', entry: { ...entry, seq } })
    }
  }

  inherited(entries: readonly FeedEntry[], feedIds: readonly number[]): void {
    for (const { entry, ...run } of entries) this.entries(run, [entry], entry.seq - 1)
    this.done(feedIds)
  }

  emit(event: KernelEvent): void {
    const failed = (error: unknown): void =>
      this.ports.log.error('A listener failed. The run is not affected.', {
        error,
        event: event.id,
      })
    for (const listener of this.listeners) {
      try {
        const result: unknown = listener(event)
        if (result instanceof Promise) result.catch(failed)
      } catch (error) {
        failed(error)
      }
    }
  }

  /** These feed rows have reached the listeners; the database hears of it in one call now and then. */
  done(feedIds: readonly number[]): void {
    this.delivered.push(...feedIds)
  }

  async flush(): Promise<void> {
    const ids = this.delivered
    if (ids.length === 0) return
    this.delivered = []
    try {
      this.ports.fault('delivered.before')
      await this.store.delivered(ids)
      this.ports.fault('delivered.after')
    } catch {
      this.delivered.push(...ids)
    }
  }
}
