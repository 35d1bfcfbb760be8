// Awaited it is a page; iterated it is everything.

import type { Page, Paged } from '../index.js'

export function paged<E>(
  after: string | null | undefined,
  load: (after: string | null | undefined) => Promise<Page<E>>,
): Paged<E> {
  const first = load(after)
  // Who only iterates hears of a failure there.
  first.catch(() => {})
  return Object.assign(first, {
    async *[Symbol.asyncIterator](): AsyncGenerator<E> {
      let page = await first
      yield* page.items
      while (page.next !== null) {
        page = await load(page.next)
        yield* page.items
      }
    },
  })
}
