// Results: callers that wait for the end of a run. An end that this process commits is told at once; for the runs that it
// does not execute one shared question asks the database, soon at first, then once a second, and whenever hinted at.

import type { Address } from './api.js'
import { Asking } from './asking.js'
import type { Ports } from './ports.js'
import type { Settled, Store } from './store.js'

interface Waiter {
  readonly resolve: (settled: Settled) => void
  readonly reject: (reason: unknown) => void
}

export class Results {
  private readonly waiters = new Map<string, { readonly at: Address; readonly set: Set<Waiter> }>()
  private readonly store: Store
  private readonly ports: Ports
  private readonly pollMs: number
  private readonly isNear: (at: Address) => boolean
  private readonly asking: Asking
  private closed: Error | null = null

  /** `isNear`: executed in this process. */
  constructor(store: Store, ports: Ports, pollMs: number, isNear: (at: Address) => boolean) {
    this.store = store
    this.ports = ports
    this.pollMs = pollMs
    this.isNear = isNear
    this.asking = new Asking({
      ports,
      pollMs,
      isWanted: () => this.waiting,
      ask: () => this.ask(),
    })
  }

  /** Resolves with the end; rejects with the signal's reason if that comes first. */
  wait(at: Address, signal: AbortSignal | null): Promise<Settled> {
    if (this.closed) return Promise.reject(this.closed)
    const near = this.isNear(at)
    return new Promise((resolve, reject) => {
      const key = keyOf(at)
      const waiter: Waiter = { resolve, reject }
      const entry = this.waiters.get(key) ?? { at, set: new Set<Waiter>() }
      this.waiters.set(key, entry)
      entry.set.add(waiter)
      signal?.addEventListener('abort', () => {
        entry.set.delete(waiter)
        if (entry.set.size === 0) this.waiters.delete(key)
        reject(signal.reason)
      })
      if (!near) this.asking.soon()
      // What ends here is told; the question is for the case that it is taken from us, and one is armed already.
      if (!near || !this.asking.isArmed) this.asking.arm(near ? this.pollMs : 0)
    })
  }

  get waiting(): boolean {
    return this.waiters.size > 0
  }

  /** A run has ended. */
  ended(settled: Settled): void {
    const key = keyOf(settled)
    const entry = this.waiters.get(key)
    if (!entry) return
    this.waiters.delete(key)
    for (const waiter of entry.set) waiter.resolve(settled)
  }

  /** Somebody says that something has ended. */
  hinted(): void {
    if (this.waiting) this.asking.arm(0)
  }

  /** Nobody will be told any more. */
  close(reason: Error): void {
    this.closed = reason
    this.asking.close()
    const all = [...this.waiters.values()]
    this.waiters.clear()
    for (const { set } of all) for (const waiter of set) waiter.reject(reason)
  }

  private async ask(): Promise<void> {
    const tickets: Address[] = []
    for (const { at } of this.waiters.values()) if (!this.isNear(at)) tickets.push(at)
    if (tickets.length === 0) return
    this.ports.fault('settled.before')
    const all = await this.store.settled(tickets)
    this.ports.fault('settled.after')
    for (const settled of all) this.ended(settled)
  }
}

const keyOf = (at: Address): string => `${at.workspace}\u001f${at.id}`
