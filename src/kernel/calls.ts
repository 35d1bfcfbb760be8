// Calls: callers that wait to hear whether a run takes their trigger. What this process commits is told at once; for all
// others one shared question asks the database, soon at first, then once a second.

import type { Uid } from '../model/ids.js'
import { Asking } from './asking.js'
import type { Ports } from './ports.js'
import type { Call, CallFate, Store, TurnDelta } from './store.js'

interface Waiter extends Call {
  readonly resolve: (fate: CallFate | 'unknown') => void
  readonly reject: (reason: Error) => void
  readonly offTimer: () => void
}

export class Calls {
  private readonly store: Store
  private readonly ports: Ports
  private readonly asking: Asking
  private readonly waiters = new Set<Waiter>()
  private closed: Error | null = null

  constructor(store: Store, ports: Ports, pollMs: number) {
    this.store = store
    this.ports = ports
    const isWanted = (): boolean => this.waiters.size > 0
    this.asking = new Asking({ ports, pollMs, isWanted, ask: () => this.ask() })
  }

  /** `unknown`: nobody has decided it within that time. */
  wait({ uid, no }: Call, ms: number): Promise<CallFate | 'unknown'> {
    if (this.closed) return Promise.reject(this.closed)
    return new Promise((resolve, reject) => {
      const offTimer = this.ports.clock.after(ms, () => this.settle(waiter, 'unknown'))
      const waiter: Waiter = { uid, no, resolve, reject, offTimer }
      this.waiters.add(waiter)
      this.asking.soon()
      // It may have been decided while its number was on the way here.
      this.asking.arm(0)
    })
  }

  /** This process has committed it. */
  committed({ fence, taken, refused, next }: TurnDelta): void {
    if (this.waiters.size === 0) return
    for (const waiter of this.waitersOf(fence.uid)) {
      if (taken.includes(waiter.no)) this.settle(waiter, 'taken')
      else if (refused.includes(waiter.no)) this.settle(waiter, 'refused')
      // It may have been taken before this caller waited, or by another process.
      else if (next.kind === 'end') this.asking.arm(0)
    }
  }

  close(reason: Error): void {
    this.closed = reason
    this.asking.close()
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

  private async ask(): Promise<void> {
    const calls = [...this.waiters].map(({ uid, no }) => ({ uid, no }))
    for (const { uid, no, fate } of await this.store.called(calls)) {
      const decided = this.waitersOf(uid).filter((waiter) => waiter.no === no)
      for (const waiter of decided) this.settle(waiter, fate)
    }
  }
}
