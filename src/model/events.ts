// How a wait for an event finds it: by its name, and by one key for each field that must have a certain value.

import { createHash } from 'node:crypto'
import { encode } from './codec.js'

/** One for each field of an object, in the order of their names; of anything else, none. Values are compared as they are stored. */
export function matchKeys(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value)
    .map(([field, of]) => `${field}=${digest(encode(of, `field "${field}"`))}`)
    .sort()
}

const digest = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22)
