// Values as text. Everything that user code gives or gets passes through here, once each way.
//
//   plain JSON          what JSON keeps exactly stays JSON, byte for byte what JSON.stringify writes
//   '~' + devalue       all else that can be stored; '~' begins no JSON text
//
// Invariants
//   C1. decode(encode(v)) equals v, or encode throws; nothing is changed or dropped in silence. Two things are
//       not part of a value: the null prototype (it comes back as a plain object) and, in plain JSON, that
//       one object was there twice (it comes back as two).
//   C2. encode(decode(text)) === text for every text that encode gave: a replay sees what the first run saw.
//   C3. The text holds no character below U+0020 and no lone surrogate: it fits PostgreSQL and the wire.
//   C4. No input overflows the stack or takes unbounded time: depth, bytes and visits are limited.
//   C5. Every property is read once for what is written, so a getter cannot slip in what was not checked.

import { unwrap, wrap } from './codec-rich.js'
import { type SnapshotOrder, snapshot } from './codec-snapshot.js'
import { PerdureError, textForeign, valueTooLarge } from './errors.js'
import { inOnePiece, quoted, quotedKey } from './json-text.js'
import { VALUE_BYTES_MAX, VALUE_DEPTH_MAX } from './limits.js'
import type { Stored } from './run.js'

const RICH = '~'
/** Stands in a text where another text belongs (C3). */
export const HOLE = '\u001a'

/** The text of a value. `where` names it in errors: 'the result of step "charge"'. */
export function encode(
  value: unknown,
  where: string,
  bytesMax: number = VALUE_BYTES_MAX,
  depthMax: number = VALUE_DEPTH_MAX,
): Stored {
  const order = { where, bytesMax, bytesStop: stopAt(bytesMax), depthMax }
  const text = plainText(value, order) ?? richText(value, order)
  // A UTF-16 unit is at most three bytes: short texts need no count.
  if (text.length * 3 > bytesMax) {
    const bytes = storedBytes(text)
    if (bytes > bytesMax) throw valueTooLarge({ where, bytes, bytesMax, exact: true })
  }
  return text
}

/** A value that is a part of others, and is written once for all of them (encodeWith). */
export class Part {
  readonly text: Stored

  private constructor(text: Stored) {
    this.text = text
  }

  /** A value whose text is there, too; null: it is no plain JSON, or as deep as it may be without what is around it. */
  static stored(text: Stored, value: unknown): Part | null {
    // So much cannot be as deep: each level is two characters.
    if (text.length < 2 * VALUE_DEPTH_MAX) return text.startsWith(RICH) ? null : new Part(text)
    return Part.of(value)
  }

  /** Where a text is put in afterwards (filled). */
  static hole(): Part {
    return new Part(HOLE)
  }

  /** null: it is to be written where it is. */
  static of(value: unknown, bytesMax: number = VALUE_BYTES_MAX): Part | null {
    const order = { where: '', bytesMax, bytesStop: bytesMax, depthMax: VALUE_DEPTH_MAX - 1 }
    try {
      const text = plainText(value, order)
      return text === null ? null : new Part(inOnePiece(text))
    } catch {
      return null
    }
  }
}

/** As encode(whole). `parts`: the same, with a part of it (Part.of) in its place; null: it has none. */
export function encodeWith(
  parts: object | null,
  whole: unknown,
  where: string,
  bytesMax: number = VALUE_BYTES_MAX,
): Stored {
  const order = { where, bytesMax, bytesStop: bytesMax, depthMax: VALUE_DEPTH_MAX }
  try {
    const text = parts && plainText(parts, order)
    if (text !== null && text.length * 3 <= bytesMax) return text
  } catch {
    // The whole says what is wrong.
  }
  return encode(whole, where, bytesMax)
}

/** As encode, with holes for other texts that have so many characters; null: it is no plain JSON, or might be too large. */
export function encodeAround(
  parts: object,
  chars: number,
  bytesMax: number = VALUE_BYTES_MAX,
): string | null {
  const order = { where: '', bytesMax, bytesStop: bytesMax, depthMax: VALUE_DEPTH_MAX }
  try {
    const text = plainText(parts, order)
    return text !== null && (text.length + chars) * 3 <= bytesMax ? inOnePiece(text) : null
  } catch {
    return null
  }
}

/** The value of a text, fresh at each call. Makes nothing but the kinds that encode takes. */
export function decode(stored: Stored): unknown {
  if (typeof stored !== 'string') throw textForeign(undefined)
  try {
    return stored.startsWith(RICH) ? unwrap(stored.slice(RICH.length)) : JSON.parse(stored)
  } catch (error) {
    throw textForeign(error)
  }
}

/** UTF-8 bytes of a stored text. */
export function storedBytes(text: Stored): number {
  // Browsers, where perdure/client uses this, have no Buffer.
  return typeof Buffer === 'undefined'
    ? new TextEncoder().encode(text).length
    : Buffer.byteLength(text)
}

/** Past this writing stops. Below it the true size is told, above it how far it was counted. */
function stopAt(bytesMax: number): number {
  return bytesMax * 2
}

/** JSON, or null if JSON would not keep the value (or something in it throws when it is read). */
function plainText(value: unknown, order: SnapshotOrder): string | null {
  const { where, bytesMax, bytesStop: stop, depthMax } = order
  const count: Count = { written: 0, stop, where, bytesMax }
  try {
    return write(value, depthMax, count)
  } catch (error) {
    // Whatever else was thrown here is thrown again by the slow path, which knows the way to it.
    if (PerdureError.is(error, 'VALUE_TOO_LARGE')) throw error
    return null
  }
}

function richText(value: unknown, order: SnapshotOrder): string {
  const copy = snapshot(value, order)
  // Objects of another realm and the like turn out to be plain once copied (C2).
  const plain = plainText(copy, order)
  if (plain !== null) return plain
  try {
    return RICH + wrap(copy)
  } catch {
    // The copy holds only what devalue takes; what is left is a text longer than JavaScript allows.
    const { where, bytesMax, bytesStop: bytes } = order
    throw valueTooLarge({ where, bytes, bytesMax, exact: false })
  }
}

// ── plain JSON ──────────────────────────────────────────────────────────────────────────────────────────────
// Written by hand instead of a check and then JSON.stringify: as fast for what steps return, and it reads
// everything once (C5), calls no toJSON and stops in time when one object is there 2^64 times (C4).

interface Count {
  /** Characters so far: never more than the text will have. */
  written: number
  readonly stop: number
  readonly where: string
  readonly bytesMax: number
}

function write(value: unknown, depth: number, count: Count): string | null {
  switch (typeof value) {
    case 'string':
      add(count, value.length + 2)
      return quoted(value)
    case 'number':
      add(count, 1)
      return Number.isFinite(value) && !Object.is(value, -0) ? String(value) : null
    case 'boolean':
      add(count, 4)
      return value ? 'true' : 'false'
    case 'object':
      add(count, 2)
      if (value === null) return 'null'
      if (depth === 0) return null
      return Array.isArray(value)
        ? writeArray(value, depth, count)
        : writeObject(value as Record<string, unknown>, depth, count)
    default:
      return null
  }
}

function writeArray(array: readonly unknown[], depth: number, count: Count): string | null {
  if (Object.getPrototypeOf(array) !== Array.prototype) return null
  let text = '['
  for (let i = 0; i < array.length; i += 1) {
    const item = write(array[i], depth - 1, count)
    if (item === null) return null
    text += i === 0 ? item : `,${item}`
  }
  return hasOnlyItems(array) ? `${text}]` : null
}

/** Named properties of an array and symbols as keys are not JSON's; the slow path refuses them by name. */
function hasOnlyItems(array: readonly unknown[]): boolean {
  return (
    Object.keys(array).length === array.length && Object.getOwnPropertySymbols(array).length === 0
  )
}

function writeObject(object: Record<string, unknown>, depth: number, count: Count): string | null {
  const prototype = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) return partText(object, count)
  if (Object.getOwnPropertySymbols(object).length > 0) return null
  let text = ''
  for (const key of Object.keys(object)) {
    add(count, key.length + 3)
    const item = write(object[key], depth - 1, count)
    if (item === null) return null
    text += text === '' ? quotedKey(key) + item : `,${quotedKey(key)}${item}`
  }
  return `{${text}}`
}

function partText(object: object, count: Count): string | null {
  if (!(object instanceof Part)) return null
  add(count, object.text.length)
  return object.text
}

function add(count: Count, characters: number): void {
  count.written += characters
  if (count.written > count.stop) {
    const { where, written, bytesMax } = count
    throw valueTooLarge({ where, bytes: written, bytesMax, exact: false })
  }
}
