// Values inside an expression: what came out of the codec, and what the expression makes of it.
//
//   null, true, false, text     as they are
//   number                      of the data: a double. A whole one is taken where an int is needed
//   bigint                      a CEL int: a literal without a dot, size(), int()
//   list                        an array or a Set
//   object                      a plain object, or a Map with texts as keys
//   Date, Duration              timestamp and duration
//
// Invariant: of an object only its own data is ever read (`member`), so that nothing of JavaScript's prototypes
// can be reached by a key. Everything else that has a prototype of its own is refused.

import { shown } from '../../model/errors.js'
import { Wrong } from './expression-errors.js'
import { EXPRESSION_COST_MAX } from './expression-limits.js'

export class Duration {
  readonly ms: number
  constructor(ms: number) {
    this.ms = ms
  }
}

/** Work that is left. Throws when there is none, wherever that is. */
export class Meter {
  #left: number
  readonly #message: string

  constructor(left = EXPRESSION_COST_MAX, message = 'it is too much work') {
    this.#left = left
    this.#message = message
  }

  charge(cost: number): void {
    this.#left -= cost
    if (this.#left >= 0) return
    throw new Wrong(
      this.#message,
      'let it look at less data, or do this in a step of your own code',
    )
  }
}

export type Fields = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>
export type List = readonly unknown[] | ReadonlySet<unknown>

export type Kind =
  | 'null'
  | 'a bool'
  | 'a number'
  | 'a text'
  | 'a list'
  | 'an object'
  | 'a timestamp'
  | 'a duration'

export function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case 'boolean':
      return 'a bool'
    case 'number':
    case 'bigint':
      return 'a number'
    case 'string':
      return 'a text'
    case 'object':
      return value === null ? 'null' : kindOfObject(value)
    default:
      throw new Wrong(`${typeof value} cannot be read by an expression`)
  }
}

function kindOfObject(value: object): Kind {
  if (Array.isArray(value) || value instanceof Set) return 'a list'
  if (value instanceof Map) return 'an object'
  if (value instanceof Duration) return 'a duration'
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new Wrong('an invalid Date cannot be read')
    return 'a timestamp'
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return 'an object'
  const name = Object.prototype.toString.call(value).slice(8, -1)
  throw new Wrong(`a value of type ${name} cannot be read by an expression`)
}

/** Own data under that key, or undefined. The only way into an object. */
export function member(fields: Fields, key: string): unknown {
  if (fields instanceof Map) return fields.get(key)
  return Object.hasOwn(fields, key) ? (fields as Record<string, unknown>)[key] : undefined
}

/** Keys with something under them. */
export function keysOf(fields: Fields, meter: Meter): string[] {
  if (!(fields instanceof Map)) {
    const keys = Object.keys(fields)
    meter.charge(keys.length)
    return keys.filter((key) => member(fields, key) !== undefined)
  }
  meter.charge(fields.size)
  return [...fields.keys()].map((key) => {
    if (typeof key === 'string') return key
    throw new Wrong(`a Map with ${shown(key)} as a key cannot be read: only texts are keys`)
  })
}

export function itemsOf(list: List, meter: Meter): readonly unknown[] {
  if (Array.isArray(list)) return list
  meter.charge((list as ReadonlySet<unknown>).size)
  return [...(list as ReadonlySet<unknown>)]
}

/** Deep. Values of different kinds are not equal; 1 and 1.0 are. */
export function isEqual(a: unknown, b: unknown, meter: Meter): boolean {
  meter.charge(1)
  const kind = kindOf(a)
  if (kind !== kindOf(b)) return false
  switch (kind) {
    case 'a number':
      // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number, exactly
      return finite(a) == finite(b)
    case 'a text':
      meter.charge((a as string).length / 64)
      return a === b
    case 'a timestamp':
      return (a as Date).getTime() === (b as Date).getTime()
    case 'a duration':
      return (a as Duration).ms === (b as Duration).ms
    case 'a list':
      return areListsEqual(itemsOf(a as List, meter), itemsOf(b as List, meter), meter)
    case 'an object':
      return areFieldsEqual(a as Fields, b as Fields, meter)
    default:
      return a === b
  }
}

function areListsEqual(a: readonly unknown[], b: readonly unknown[], meter: Meter): boolean {
  return a.length === b.length && a.every((item, i) => isEqual(item, b[i], meter))
}

function areFieldsEqual(a: Fields, b: Fields, meter: Meter): boolean {
  const keys = keysOf(a, meter)
  return (
    keys.length === keysOf(b, meter).length &&
    keys.every((key) => {
      const other = member(b, key)
      return other !== undefined && isEqual(member(a, key), other, meter)
    })
  )
}

/** NaN and the infinities are no numbers of JSON: what would be computed with them is wrong, not false. */
export function finite(value: unknown): number | bigint {
  if (typeof value === 'bigint' || Number.isFinite(value)) return value as number | bigint
  throw new Wrong(`${String(value)} is not a number that can be computed with`)
}

/** A whole number where one is needed: an index, a limit. */
export function whole(value: unknown, what: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  if (Number.isSafeInteger(number)) return number as number
  const found = typeof number === 'number' ? String(value) : kindOf(value)
  throw new Wrong(`${what} must be a whole number, not ${found}`)
}
