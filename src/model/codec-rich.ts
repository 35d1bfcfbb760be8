// The slow path of the codec: copies of values to text and back, through devalue.

import { parse, stringify } from 'devalue'
import { HeldError, HeldPairs } from './codec-snapshot.js'
import { fillError, isErrorShape } from './error-shape.js'

const REDUCERS = {
  Error: (value: unknown) => value instanceof HeldError && value.shape,
  Pairs: (value: unknown) => value instanceof HeldPairs && value.pairs,
  Buffer: (value: unknown) =>
    typeof Buffer !== 'undefined' && Buffer.isBuffer(value) && new Uint8Array(value),
}

export function wrap(copy: unknown): string {
  return stringify(copy, REDUCERS)
}

const refusal = (): Error => new TypeError('a kind that Perdure does not store')
const refuse = (): never => {
  throw refusal()
}
const TEMPORAL =
  'Duration Instant PlainDate PlainTime PlainDateTime PlainMonthDay PlainYearMonth ZonedDateTime'
/** What devalue would make, and we never wrote. */
const REFUSED = Object.fromEntries(
  [
    ...['Object', 'null', 'URLSearchParams', 'DataView', 'Float16Array'],
    ...TEMPORAL.split(' ').map((name) => `Temporal.${name}`),
  ].map((tag) => [tag, refuse]),
)

/**
 * In a cycle devalue revives a thing before its parts are there, and again afterwards. So each is made empty,
 * once, and filled when all of them exist: pairs first, for the fields of an error may be pairs.
 */
export function unwrap(text: string): unknown {
  const errors = new Map<unknown, Error>()
  const objects = new Map<unknown, object>()
  const value = parse(text, {
    ...REFUSED,
    Error: (shape: unknown) => madeOnce(errors, shape, () => new Error()),
    Pairs: (pairs: unknown) => madeOnce(objects, pairs, () => ({})),
    Buffer: (bytes: unknown) => {
      if (!(bytes instanceof Uint8Array)) throw refusal()
      // In a browser, which has no Buffer, the bytes are what is left of it.
      if (typeof Buffer === 'undefined') return bytes
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    },
  })
  for (const [pairs, object] of objects) fillPairs(object, pairs)
  for (const [shape, error] of errors) {
    if (!isErrorShape(shape)) throw refusal()
    fillError(error, shape)
  }
  return value
}

function madeOnce<T>(made: Map<unknown, T>, from: unknown, make: () => T): T {
  const known = made.get(from)
  if (known !== undefined) return known
  const fresh = make()
  made.set(from, fresh)
  return fresh
}

function fillPairs(object: object, pairs: unknown): void {
  if (!Array.isArray(pairs)) throw refusal()
  for (let i = 0; i < pairs.length; i += 2) {
    if (typeof pairs[i] !== 'string') throw refusal()
    const descriptor = { value: pairs[i + 1], enumerable: true, writable: true, configurable: true }
    Object.defineProperty(object, pairs[i], descriptor)
  }
}
