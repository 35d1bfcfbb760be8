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
