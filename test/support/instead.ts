import type { Store } from '../../src/kernel/store.js'

/** The same store with some methods replaced. */
export function instead(store: Store, methods: Partial<Store>): Store {
  return Object.assign(Object.create(store) as Store, methods)
}
