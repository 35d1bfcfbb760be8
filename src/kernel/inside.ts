// Knows whether the code that calls is inside a step's transaction. Switched on by the first transaction only:
// AsyncLocalStorage costs every promise of the process something from its first use on.

import { AsyncLocalStorage } from 'node:async_hooks'

const inside = new AsyncLocalStorage<true>()

export function runInside<T>(work: () => Promise<T>): Promise<T> {
  return inside.run(true, work)
}

export function insideTransaction(): boolean {
  return inside.getStore() === true
}
