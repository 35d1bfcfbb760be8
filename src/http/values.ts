// Values on the wire, in two forms. Plain JSON is for people, curl and other languages: what JSON has no word for is shown as
// near as it gets. The rich form is the engine's own text of a value, exact in both directions: perdure/client speaks it.

import { decode, encode } from '../model/codec.js'
import { PerdureError } from '../model/errors.js'
import { requestInvalid, requestTooLarge } from './errors.js'
import { type JsonLimits, parseJson } from './json.js'

/** The body is what the codec writes: JSON, or '~' and then devalue's JSON. */
export const RICH_TYPE = 'application/vnd.perdure.value'
const RICH_MARK = '~'
/** What stands in several places may come to so many times the text, and to this much in any case. */
const REPEATED_MAX = 16
const REPEATED_FREE = 1024 * 1024
const SPREAD_LEAST = 4
/** An answer may hold a page of values, each within the engine's own limit. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024
/** What was stored is nested up to 64; an answer adds a few levels around it. */
const ANSWER_DEPTH_MAX = 80

export function parseRich(text: string, limits: JsonLimits): unknown {
  const isMarked = text.startsWith(RICH_MARK)
  const plain = parseJson(isMarked ? text.slice(RICH_MARK.length) : text, limits)
  if (!isMarked) return plain
  const value = decoded(text)
  const most = text.length * REPEATED_MAX + REPEATED_FREE
  if (spreadOf(value, new Map()) > most) {
    throw requestTooLarge(
      'one value of it stands in too many places',
      'what is repeated is counted',
    )
  }
  return value
}

function decoded(text: string): unknown {
  try {
    return decode(text)
  } catch (error) {
    if (!PerdureError.is(error)) throw error
    throw requestInvalid([{ path: 'body', message: 'is not a value that the client writes' }])
  }
}

/** Characters of it, written out: what stands in several places is on the wire once, and is checked and stored in each of them. */
function spreadOf(value: unknown, known: Map<object, number>): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return SPREAD_LEAST
  const before = known.get(value)
  if (before !== undefined) return before
  // A cycle is written once.
  known.set(value, SPREAD_LEAST)
  let spread = SPREAD_LEAST
  for (const one of partsOf(value)) spread += spreadOf(one, known)
  known.set(value, spread)
  return spread
}

function partsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...value].flat()
  if (value instanceof Set || Array.isArray(value)) return value
  // Numbers of bytes and texts of dates are not what makes a body large.
  return Object.getPrototypeOf(value) === Object.prototype ? Object.values(value) : []
}

export function richText(value: unknown): string {
  return encode(value, 'an answer', ANSWER_BYTES_MAX, ANSWER_DEPTH_MAX)
}
