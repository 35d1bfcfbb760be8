// How a wait for an event finds it: by its name, and by one key for each field that must have a certain value.

import { encode } from './codec.js'
import { generatorOf } from './random.js'

/** Keys are indexed: a long value is known by its beginning, its length and a number made of all of it. */
const LONG = 200

/** One for each field of an object, in the order of their names; of anything else, none. Values are compared as they are stored. */
export function matchKeys(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value)
    .map(([field, of]) => `${field}=${short(encode(of, `field "${field}"`))}`)
    .sort()
}

const short = (text: string): string =>
  text.length <= LONG
    ? text
    : `${text.slice(0, LONG / 2)}…${text.length} ${generatorOf(text).uuid()}`
