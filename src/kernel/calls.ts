// Calls: callers that wait to hear whether a run takes their trigger. What this process commits is told at once; for all
// others one shared question asks the database, soon at first, then once a second.

import type { Uid } from '../model/ids.js'
import { Asking } from './asking.js'
import type { Ports } from './ports.js'
import type { Call, Called, Store, TurnDelta } from './store.js'

interface Waiter extends Call {
  readonly resolve: (called: Called | null) => void
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

  /** null: nobody has decided it within that time. */
  wait({ uid, no }: Call, ms: number): Promise<Called | null> {
    if (this.closed) return Promise.reject(this.closed)
    return new Promise((resolve, reject) => {
      const offTimer = this.ports.clock.after(ms, () => this.settle(waiter, null))
      const waiter: Waiter = { uid, no, resolve, reject, offTimer }
      this.waiters.add(waiter)
      this.asking.soon()
      // It may have been decided while its number was on the way here.
      this.asking.arm(0)
    })
  }

  /** This process has committed it. */
  committed({ fence, entries, taken, refused, answers, next }: TurnDelta): void {
    if (this.waiters.size === 0) return
    for (const waiter of this.waitersOf(fence.uid)) {
      const { no } = waiter
      const answer = answers.findLast((one) => one.no === no)
      const reply = (answer?.entry && entries[answer.entry - 1]) || null
      if (reply) this.settle(waiter, { fate: 'taken', reply })
      else if (taken.includes(no) && !answer) this.settle(waiter, { fate: 'taken', reply })
      else if (refused.includes(no)) this.settle(waiter, { fate: 'refused', reply })
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

  private settle(waiter: Waiter, called: Called | null): void {
    waiter.offTimer()
    this.waiters.delete(waiter)
    waiter.resolve(called)
  }

  private async ask(): Promise<void> {
    const calls = [...this.waiters].map(({ uid, no }) => ({ uid, no }))
    for (const { uid, no, fate, reply } of await this.store.called(calls)) {
      const decided = this.waitersOf(uid).filter((waiter) => waiter.no === no)
      for (const waiter of decided) this.settle(waiter, { fate, reply })
    }
  }
}
