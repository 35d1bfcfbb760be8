// Which transaction the running code is inside of. Followed through every await, timer and callback that begins
// there, so whoever queues work for others (a batch, a beat) must leave it with `outside`.

import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<object>()

export function runInside<T>(transaction: object, work: () => T): T {
  return storage.run(transaction, work)
}

/** The transaction given to `runInside`, also after it has ended: ask it. */
export function currentTransaction(): object | undefined {
  return storage.getStore()
}

export function runOutside<T>(work: () => T): T {
  return storage.exit(work)
}
