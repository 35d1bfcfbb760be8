// Calls: callers that wait to hear whether a run takes their trigger, and what came of it. What this process commits is told at
// once; for the runs that it does not execute one shared question asks the database, soon at first, then once a second.

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
  private readonly pollMs: number
  private readonly isNear: (uid: Uid) => boolean
  private readonly asking: Asking
  private readonly waiters = new Map<Uid, Set<Waiter>>()
  private closed: Error | null = null

  /** `isNear`: executed in this process. */
  constructor(store: Store, ports: Ports, pollMs: number, isNear: (uid: Uid) => boolean) {
    this.store = store
    this.ports = ports
    this.pollMs = pollMs
    this.isNear = isNear
    const isWanted = (): boolean => this.waiters.size > 0
    this.asking = new Asking({ ports, pollMs, isWanted, ask: () => this.ask() })
  }

  /** null: nobody has decided it within that time. */
  wait({ uid, no }: Call, ms: number): Promise<Called | null> {
    if (this.closed) return Promise.reject(this.closed)
    return new Promise((resolve, reject) => {
      const offTimer = this.ports.clock.after(ms, () => this.settle(waiter, null))
      const waiter: Waiter = { uid, no, resolve, reject, offTimer }
      const own = this.waiters.get(uid) ?? new Set()
      this.waiters.set(uid, own.add(waiter))
      const near = this.isNear(uid)
      if (!near) this.asking.soon()
      // What is decided here is told; the question is for the case that it is taken from us, and one is armed already.
      if (!near || !this.asking.isArmed) this.asking.arm(near ? this.pollMs : 0)
    })
  }

  /** This process has committed it. */
  committed(delta: TurnDelta): void {
    const own = this.waiters.get(delta.fence.uid)
    if (!own) return
    const decided = decisions(delta)
    for (const waiter of own) {
      const called = decided(waiter.no)
      if (called) this.settle(waiter, called)
      // It may have been taken before this caller waited, or by another process.
      else if (delta.next.kind === 'end') this.asking.arm(0)
    }
  }

  close(reason: Error): void {
    this.closed = reason
    this.asking.close()
    for (const own of this.waiters.values()) {
      for (const waiter of own) {
        waiter.offTimer()
        waiter.reject(reason)
      }
    }
    this.waiters.clear()
  }

  private settle(waiter: Waiter, called: Called | null): void {
    waiter.offTimer()
    const own = this.waiters.get(waiter.uid)
    own?.delete(waiter)
    if (own?.size === 0) this.waiters.delete(waiter.uid)
    waiter.resolve(called)
  }

  private async ask(): Promise<void> {
    const calls = [...this.waiters.values()].flatMap((own) => [...own])
    for (const { uid, no, fate, reply } of await this.store.called(calls)) {
      for (const waiter of this.waiters.get(uid) ?? []) {
        if (waiter.no === no) this.settle(waiter, { fate, reply })
      }
    }
  }
}

/** What this commit has decided of the message with a number; null: nothing. One run may take hundreds in one commit. */
export function decisions({ entries, taken, refused, answers }: TurnDelta) {
  const answered = new Map(answers.map(({ no, entry }) => [no, entry]))
  const taking = new Set(taken)
  return (no: number): Called | null => {
    const entry = answered.get(no)
    const reply = (entry && entries[entry - 1]) || null
    if (reply || (taking.has(no) && !answered.has(no))) return { fate: 'taken', reply }
    return refused.includes(no) ? { fate: 'refused', reply } : null
  }
}
