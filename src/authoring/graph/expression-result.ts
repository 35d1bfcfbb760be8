// The value of an expression, as plain JSON: a copy that shares nothing with what it was given.
//
//   int          a number; one outside ±2^53 is an error
//   timestamp    its text, 2026-01-31T08:00:00.000Z
//   duration     its text, 90s
//   object       a plain object; keys like __proto__ are data

import { VALUE_DEPTH_MAX } from '../../model/limits.js'
import { Wrong } from './expression-errors.js'
import { durationText } from './expression-times.js'
import {
  type Duration,
  type Fields,
  finite,
  itemsOf,
  keysOf,
  kindOf,
  type List,
  type Meter,
  member,
} from './expression-values.js'

export function toJson(value: unknown, meter: Meter, depth = VALUE_DEPTH_MAX): unknown {
  meter.charge(1)
  if (depth < 0) throw new Wrong(`its result is nested deeper than ${VALUE_DEPTH_MAX} levels`)
  switch (kindOf(value)) {
    case 'a number':
      return asNumber(finite(value))
    case 'a timestamp':
      return (value as Date).toISOString()
    case 'a duration':
      return durationText(value as Duration)
    case 'a list':
      return itemsOf(value as List, meter).map((item) => toJson(item, meter, depth - 1))
    case 'an object':
      return toObject(value as Fields, meter, depth)
    default:
      return value
  }
}

function toObject(fields: Fields, meter: Meter, depth: number): unknown {
  // fromEntries defines each key: __proto__ becomes a key like any other.
  return Object.fromEntries(
    keysOf(fields, meter).map((key) => [key, toJson(member(fields, key), meter, depth - 1)]),
  )
}

function asNumber(value: number | bigint): number {
  if (typeof value === 'number') return value
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new Wrong(
    `its result has ${value}, which a JSON number does not keep`,
    'make it a text: string(…)',
  )
}
