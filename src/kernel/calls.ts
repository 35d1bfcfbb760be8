// Calls: callers that wait to hear whether a run takes their trigger. What this process commits is told at once; for all
// others one shared question asks the database, soon at first, then once a second.

import type { Uid } from '../model/ids.js'
import type { Ports } from './ports.js'
import type { Call, CallFate, Store, TurnDelta } from './store.js'

const SOON_MS = 5

interface Waiter extends Call {
  readonly resolve: (fate: CallFate | 'unknown') => void
  readonly reject: (reason: Error) => void
  readonly offTimer: () => void
}

export class Calls {
  private readonly store: Store
  private readonly ports: Ports
  private readonly pollMs: number
  private readonly waiters = new Set<Waiter>()
  private offTimer: (() => void) | null = null
  private waitMs = SOON_MS
  private asking = false
  private closed: Error | null = null

  constructor(store: Store, ports: Ports, pollMs: number) {
    this.store = store
    this.ports = ports
    this.pollMs = pollMs
  }

  /** `unknown`: nobody has decided it within that time. */
  wait({ uid, no }: Call, ms: number): Promise<CallFate | 'unknown'> {
    if (this.closed) return Promise.reject(this.closed)
    return new Promise((resolve, reject) => {
      const offTimer = this.ports.clock.after(ms, () => this.settle(waiter, 'unknown'))
      const waiter: Waiter = { uid, no, resolve, reject, offTimer }
      this.waiters.add(waiter)
      this.waitMs = SOON_MS
      // It may have been decided while its number was on the way here.
      this.arm(0)
    })
  }

  /** This process has committed it. */
  committed({ fence, taken, refused, next }: TurnDelta): void {
    if (this.waiters.size === 0) return
    for (const waiter of this.waitersOf(fence.uid)) {
      if (taken.includes(waiter.no)) this.settle(waiter, 'taken')
      else if (refused.includes(waiter.no)) this.settle(waiter, 'refused')
      else if (next.kind === 'end') this.settle(waiter, 'finished')
    }
  }

  close(reason: Error): void {
    this.closed = reason
    this.offTimer?.()
    for (const waiter of this.waiters) {
      waiter.offTimer()
      waiter.reject(reason)
    }
    this.waiters.clear()
  }

  private waitersOf(uid: Uid): readonly Waiter[] {
    return [...this.waiters].filter((waiter) => waiter.uid === uid)
  }

  private settle(waiter: Waiter, fate: CallFate | 'unknown'): void {
    waiter.offTimer()
    this.waiters.delete(waiter)
    waiter.resolve(fate)
  }

  private arm(ms: number): void {
    if (this.closed || this.asking) return
    this.offTimer?.()
    this.offTimer = this.ports.clock.after(ms, () => void this.ask())
  }

  private async ask(): Promise<void> {
    this.offTimer = null
    if (this.waiters.size === 0) return
    this.asking = true
    try {
      const calls = [...this.waiters].map(({ uid, no }) => ({ uid, no }))
      for (const { uid, no, fate } of await this.store.called(calls)) {
        const decided = this.waitersOf(uid).filter((waiter) => waiter.no === no)
        for (const waiter of decided) this.settle(waiter, fate)
      }
    } catch {
      // The database is away; the next question comes.
    }
    this.asking = false
    this.waitMs = Math.min(this.waitMs * 2, this.pollMs)
    if (this.waiters.size > 0) this.arm(this.waitMs)
  }
}
