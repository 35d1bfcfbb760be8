// Awaited it is a page; iterated it is everything.

import { checkOptions, optionInvalid } from '../model/errors.js'
import type { Page, Paged } from './types.js'

export const PAGE_OPTIONS = ['limit', 'after', 'order'] as const
const LIMIT_MAX = 1_000

export interface PageSettings {
  readonly limit: number
  readonly after: string | null
  readonly newestFirst: boolean
}

export function paged<E>(
  after: string | null,
  load: (after: string | null) => Promise<Page<E>>,
): Paged<E> {
  const first = load(after)
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

/** From one row more than asked for: whether there is a next page. */
export function pageOf<R, E>(
  rows: readonly R[],
  limit: number,
  item: (row: R) => E,
  cursor: (row: R) => string,
): Page<E> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    items: shown.map(item),
    next: rows.length > limit && last !== undefined ? cursor(last) : null,
  }
}

export function readPage(
  options: Readonly<Record<string, unknown>>,
  where: string,
  usual: { readonly limit: number; readonly order: 'newest' | 'oldest'; readonly cursor: RegExp },
): PageSettings {
  const { limit = usual.limit, after, order = usual.order } = options
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > LIMIT_MAX) {
    throw optionInvalid('limit', where, limit, `a whole number from 1 to ${LIMIT_MAX}`)
  }
  if (order !== 'newest' && order !== 'oldest') {
    throw optionInvalid('order', where, order, "'newest' or 'oldest'")
  }
  const isCursor = after === undefined || after === null
  if (!isCursor && !(typeof after === 'string' && usual.cursor.test(after))) {
    throw optionInvalid('after', where, after, 'the `next` of a page')
  }
  return {
    limit: Number(limit),
    after: isCursor ? null : String(after),
    newestFirst: order === 'newest',
  }
}

export function optionsObject(
  options: unknown,
  where: string,
  known: readonly string[],
): Readonly<Record<string, unknown>> {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, known)
  return options as Readonly<Record<string, unknown>>
}
