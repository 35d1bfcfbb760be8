// The operators. Two ints give an int, as CEL wants it; as soon as a number of the data or one with a dot takes part,
// the result is a double. So 7 / 2 is 3, and input.n / 2 is 3.5 for 7: what comes out does not depend on whether the
// data happen to be whole.

import { Wrong } from './expression-errors.js'
import { EXPRESSION_TEXT_MAX } from './expression-limits.js'
import { durationOfMs, later } from './expression-times.js'
import {
  Duration,
  finite,
  isEqual,
  itemsOf,
  type Kind,
  kindOf,
  type List,
  type Meter,
} from './expression-values.js'

const INT_MIN = -(2n ** 63n)
const INT_MAX = 2n ** 63n - 1n

export type Arithmetic = '+' | '-' | '*' | '/' | '%'
export type Comparison = '<' | '<=' | '>' | '>='

export function asInt(value: bigint): bigint {
  if (value >= INT_MIN && value <= INT_MAX) return value
  throw new Wrong('a whole number is too large for 64 bits')
}

export function compute(op: Arithmetic, a: unknown, b: unknown, meter: Meter): unknown {
  const [left, right] = [kindOf(a), kindOf(b)]
  if (left === 'a number' && right === 'a number') return computeNumbers(op, finite(a), finite(b))
  if (op === '+' && left === 'a text' && right === 'a text') {
    return limited((a as string) + (b as string), meter)
  }
  if (op === '+' && left === 'a list' && right === 'a list') {
    const [first, second] = [itemsOf(a as List, meter), itemsOf(b as List, meter)]
    meter.charge(first.length + second.length)
    return [...first, ...second]
  }
  const time = computeTimes(op, a, b)
  if (time) return time
  throw unfit(op, left, right)
}

/** A text that an expression has made. */
export function limited(text: string, meter: Meter): string {
  meter.charge(text.length / 64)
  checkLength(text)
  return text
}

export function checkLength(text: string): void {
  if (text.length <= EXPRESSION_TEXT_MAX) return
  throw new Wrong(`a text gets longer than ${EXPRESSION_TEXT_MAX} characters`)
}

function computeNumbers(op: Arithmetic, a: number | bigint, b: number | bigint): number | bigint {
  // biome-ignore lint/suspicious/noDoubleEquals: 0 and 0n
  if ((op === '/' || op === '%') && b == 0) {
    throw new Wrong(
      op === '/' ? 'division by zero' : 'remainder of a division by zero',
      'test for zero first: n == 0 ? 0 : total / n',
    )
  }
  if (typeof a === 'bigint' && typeof b === 'bigint') return asInt(computeInts(op, a, b))
  return computeDoubles(op, asDouble(a), asDouble(b))
}

function computeInts(op: Arithmetic, a: bigint, b: bigint): bigint {
  switch (op) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
  }
}

function computeDoubles(op: Arithmetic, a: number, b: number): number {
  switch (op) {
    case '+':
      return exact(a + b, a, b)
    case '-':
      return exact(a - b, a, b)
    case '*':
      return exact(a * b, a, b)
    case '/':
      return finite(a / b) as number
    case '%':
      if (Number.isInteger(a) && Number.isInteger(b)) return a % b
      throw new Wrong('% is for whole numbers', 'round first: int(input.n) % 2')
  }
}

export function asDouble(value: number | bigint): number {
  const number = Number(value)
  if (typeof value === 'number' || Number.isSafeInteger(number)) return number
  throw new Wrong(`${value} is too large to be computed with a number that has a fraction`)
}

/** Whole numbers that JSON keeps must not turn into one that it does not. */
function exact(result: number, a: number, b: number): number {
  const isWhole = Number.isSafeInteger(a) && Number.isSafeInteger(b)
  if (!isWhole || Number.isSafeInteger(result)) return finite(result) as number
  throw new Wrong('a whole number gets larger than 2^53, where JSON numbers lose digits')
}

function computeTimes(op: Arithmetic, a: unknown, b: unknown): Date | Duration | null {
  if (b instanceof Duration && (op === '+' || op === '-')) {
    const by = op === '+' ? b : new Duration(-b.ms)
    if (a instanceof Date) return later(a, by)
    if (a instanceof Duration) return durationOfMs(a.ms + by.ms)
  }
  if (op === '+' && a instanceof Duration && b instanceof Date) return later(b, a)
  if (op === '-' && a instanceof Date && b instanceof Date) {
    return durationOfMs(a.getTime() - b.getTime())
  }
  return null
}

export function negate(value: unknown): number | bigint {
  const kind = kindOf(value)
  if (kind !== 'a number') throw new Wrong(`- is for numbers, not for ${kind}`)
  const number = finite(value)
  return typeof number === 'bigint' ? asInt(-number) : -number
}

/**
 * The outermost == of two values. A number is never equal to a text: asking for it is a slip, and false would hide
 * it. Inside of lists and objects, and for `in`, values of different kinds just differ.
 */
export function areEqual(a: unknown, b: unknown, meter: Meter): boolean {
  const [left, right] = [kindOf(a), kindOf(b)]
  if (left !== right && left !== 'null' && right !== 'null') throw unfit('==', left, right)
  return isEqual(a, b, meter)
}

export function compare(op: Comparison, a: unknown, b: unknown, meter: Meter): boolean {
  const [left, right] = [kindOf(a), kindOf(b)]
  if (left !== right) throw unfit(op, left, right)
  switch (left) {
    case 'a number':
      return ordered(op, finite(a), finite(b))
    case 'a text':
      meter.charge(Math.min((a as string).length, (b as string).length) / 64)
      return ordered(op, a as string, b as string)
    case 'a bool':
      return ordered(op, Number(a), Number(b))
    case 'a timestamp':
      return ordered(op, (a as Date).getTime(), (b as Date).getTime())
    case 'a duration':
      return ordered(op, (a as Duration).ms, (b as Duration).ms)
    default:
      throw unfit(op, left, right)
  }
}

function ordered<T extends number | bigint | string>(op: Comparison, a: T, b: T): boolean {
  switch (op) {
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
  }
}

function unfit(op: string, left: Kind, right: Kind): Wrong {
  const kinds: readonly Kind[] = [left, right]
  const isMixed = kinds.includes('a number') && kinds.includes('a text')
  return new Wrong(
    `${op} does not take ${left} and ${right}`,
    isMixed ? 'convert one of them: string(n), int(text) or double(text)' : undefined,
  )
}
