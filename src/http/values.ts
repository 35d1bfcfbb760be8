// Values on the wire, in two forms. Plain JSON is for people, curl and other languages: what JSON has no word for is shown as
// near as it gets. The rich form is the engine's own text of a value, exact in both directions: perdure/client speaks it.

import { decode, encode } from '../model/codec.js'
import { PerdureError } from '../model/errors.js'
import { requestInvalid } from './errors.js'
import { type JsonLimits, parseJson } from './json.js'

/** The body is what the codec writes: JSON, or '~' and then devalue's JSON. */
export const RICH_TYPE = 'application/vnd.perdure.value'
const RICH_MARK = '~'
/** An answer may hold a page of values, each within the engine's own limit. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024
/** What was stored is nested up to 64; an answer adds a few levels around it. */
const ANSWER_DEPTH_MAX = 80

export function parseRich(text: string, limits: JsonLimits): unknown {
  const isMarked = text.startsWith(RICH_MARK)
  const plain = parseJson(isMarked ? text.slice(RICH_MARK.length) : text, limits)
  if (!isMarked) return plain
  try {
    return decode(text)
  } catch (error) {
    if (!PerdureError.is(error)) throw error
    throw requestInvalid([{ path: 'body', message: 'is not a value that the client writes' }])
  }
}

export function richText(value: unknown): string {
  return encode(value, 'an answer', ANSWER_BYTES_MAX, ANSWER_DEPTH_MAX)
}

export function plainText(value: unknown): string {
  return JSON.stringify(plain(value)) ?? 'null'
}

/**
 * As JSON shows it. Dates are texts, bigints decimal texts, maps lists of pairs, sets lists, bytes base64, errors their name and
 * message; undefined is left out (null in lists); NaN and the infinities are texts. -0 is 0.
 */
export function plain(value: unknown, above: readonly object[] = []): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return String(value)
    case 'object':
      return value === null ? null : plainObject(value, above)
    default:
      return undefined
  }
}

function plainObject(value: object, above: readonly object[]): unknown {
  if (above.includes(value)) return '(cycle)'
  const within = [...above, value]
  const each = (items: Iterable<unknown>): unknown[] =>
    Array.from(items, (item) => plain(item, within) ?? null)
  if (Array.isArray(value)) return each(value)
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Map) return [...value].map((pair) => each(pair))
  if (value instanceof Set) return each(value)
  if (value instanceof RegExp || value instanceof URL) return String(value)
  if (value instanceof Error) return plainError(value, within)
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64')
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  }
  return plainDict(value, within)
}

function plainDict(value: object, within: readonly object[]): object {
  const copy = {}
  for (const [key, item] of Object.entries(value)) {
    const shown = plain(item, within)
    if (shown === undefined) continue
    // Not an assignment: a key may be __proto__, and is data.
    Object.defineProperty(copy, key, { value: shown, enumerable: true })
  }
  return copy
}

function plainError(error: Error, within: readonly object[]): object {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return plainDict({ name: error.name, message: error.message, code, cause }, within)
}
