// A copy of a value that devalue can write down; or the refusal, with the path, of what cannot be stored.
//
// devalue alone is not enough: it drops named properties of arrays, gives Buffers back as Uint8Arrays, stores
// all of the memory behind a view, refuses Errors and `__proto__` keys, and follows any depth.

import { type ErrorShape, isError, readError } from './error-shape.js'
import { shown, valueTooLarge, valueUnstorable } from './errors.js'

type Kind = 'object' | 'array' | 'map' | 'set' | 'error' | 'date' | 'regexp' | 'url' | 'bytes'

const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
]
type Bytes = ArrayBuffer | Uint8Array

const KINDS = new Map<object, Kind>([
  [Object.prototype, 'object'],
  [Array.prototype, 'array'],
  [Map.prototype, 'map'],
  [Set.prototype, 'set'],
  [Date.prototype, 'date'],
  [RegExp.prototype, 'regexp'],
  [URL.prototype, 'url'],
  [ArrayBuffer.prototype, 'bytes'],
  // Browsers have none.
  ...(typeof Buffer === 'undefined' ? [] : [[Buffer.prototype, 'bytes'] as [object, Kind]]),
  ...TYPED_ARRAYS.map((type): [object, Kind] => [type.prototype, 'bytes']),
])

const isBuffer = (value: unknown): value is Buffer =>
  typeof Buffer !== 'undefined' && Buffer.isBuffer(value)

/** Only the exact kinds: an instance of a subclass would come back as something else. */
function kindOf(value: object): Kind | null {
  const prototype = Object.getPrototypeOf(value)
  if (prototype === null) return Array.isArray(value) ? null : 'object'
  const kind = KINDS.get(prototype)
  // Prototypes can be swapped; what makes an array an array cannot.
  if (kind !== undefined) return (kind === 'array') === Array.isArray(value) ? kind : null
  return isError(value) ? 'error' : kindInOtherRealm(value, prototype)
}

/** Test runners use node:vm, and there Object, Array, Map … are not the ones that `fetch` and others use. */
function kindInOtherRealm(value: object, prototype: object): Kind | null {
  const name = Object.prototype.toString.call(value).slice(8, -1)
  if ((prototype as { constructor?: { name?: unknown } }).constructor?.name !== name) return null
  let levels = 0
  for (let p: object | null = prototype; p !== null && levels < 4; p = Object.getPrototypeOf(p)) {
    levels += 1
  }
  for (const [known, kind] of KINDS) {
    if (known.constructor.name !== name) continue
    return levels === (ArrayBuffer.isView(value) ? 3 : known === Object.prototype ? 1 : 2)
      ? kind
      : null
  }
  return null
}

export interface SnapshotOrder {
  readonly where: string
  readonly bytesMax: number
  /** Binary data beyond this is not even copied. */
  readonly bytesStop: number
  readonly depthMax: number
}

/** Stand-ins in the copy for what devalue does not know; `wrap` names them, `unwrap` fills them. */
export class HeldError {
  shape: ErrorShape | null = null
}
export class HeldPairs {
  readonly pairs: unknown[] = []
}

export function snapshot(value: unknown, order: SnapshotOrder): unknown {
  return new Snapshot(order).copy(value, 1)
}

class Snapshot {
  readonly #order: SnapshotOrder
  /** Made into text only for a refusal. */
  readonly #path: (() => string)[] = []
  readonly #seen = new Map<object, unknown>()
  #bytes = 0

  constructor(order: SnapshotOrder) {
    this.#order = order
  }

  copy(value: unknown, depth: number): unknown {
    if (typeof value === 'function' || typeof value === 'symbol') throw this.#refusal(value)
    if (typeof value !== 'object' || value === null) return value
    if (this.#seen.has(value)) return this.#seen.get(value)
    const kind = this.#reading(() => kindOf(value))
    switch (kind) {
      case 'object':
      case 'array':
      case 'map':
      case 'set':
      case 'error':
        if (depth > this.#order.depthMax) throw this.#tooDeep()
        return this.#container(kind, value, depth + 1)
      case 'date':
      case 'regexp':
      case 'url':
      case 'bytes':
        return this.#keep(value, this.#leaf(kind, value))
      case null:
        throw this.#refusal(value)
    }
  }

  #container(kind: Kind, value: object, depth: number): unknown {
    switch (kind) {
      case 'array':
        return this.#array(value as unknown[], depth)
      case 'map':
        return this.#map(value as Map<unknown, unknown>, depth)
      case 'set':
        return this.#set(value as Set<unknown>, depth)
      case 'error':
        return this.#error(value, depth)
      default:
        return this.#object(value, depth)
    }
  }

  #object(value: object, depth: number): unknown {
    const keys = this.#reading(() => Object.keys(value))
    this.#refuseSymbols(value)
    // Assigning `__proto__` would set the prototype of the copy, and devalue refuses the key.
    if (keys.includes('__proto__')) {
      const held = this.#keep(value, new HeldPairs())
      for (const key of keys) held.pairs.push(key, this.#property(value, key, depth))
      return held
    }
    const copy: Record<string, unknown> = this.#keep(value, {})
    for (const key of keys) copy[key] = this.#property(value, key, depth)
    return copy
  }

  #array(value: unknown[], depth: number): unknown {
    const keys = this.#reading(() => Object.keys(value))
    const length = this.#reading(() => value.length)
    this.#refuseSymbols(value)
    const copy: unknown[] = this.#keep(value, keys.length === length ? [] : sparse(length))
    for (const key of keys) {
      // Indices come first and are canonical, so the first key that is none is a named property.
      const index = Number(key)
      if (!/^\d+$/.test(key) || index >= length) throw this.#extra(key, 'array')
      copy[index] = this.#at(
        () => `[${index}]`,
        () => value[index],
        depth,
      )
    }
    return copy
  }

  #map(value: Map<unknown, unknown>, depth: number): unknown {
    const entries = this.#reading(() => [...Map.prototype.entries.call(value)])
    this.#refuseExtras(value, 'Map')
    const copy = this.#keep(value, new Map<unknown, unknown>())
    entries.forEach(([key, item], i) => {
      const keyCopy = this.#at(
        () => `.keys()[${i}]`,
        () => key,
        depth,
      )
      copy.set(
        keyCopy,
        this.#at(
          () => `.get(${shown(key)})`,
          () => item,
          depth,
        ),
      )
    })
    return copy
  }

  #set(value: Set<unknown>, depth: number): unknown {
    const items = this.#reading(() => [...Set.prototype.values.call(value)])
    this.#refuseExtras(value, 'Set')
    const copy = this.#keep(value, new Set<unknown>())
    items.forEach((item, i) => {
      copy.add(
        this.#at(
          () => `.values()[${i}]`,
          () => item,
          depth,
        ),
      )
    })
    return copy
  }

  #error(value: object, depth: number): unknown {
    const held = this.#keep(value, new HeldError())
    const found = this.#reading(() => readError(value))
    this.#refuseSymbols(value)
    const { cause, code, fields, ...texts } = found
    held.shape = {
      ...texts,
      ...(code && {
        code: this.#at(
          () => '.code',
          () => code.value,
          depth,
        ),
      }),
      ...(cause && {
        cause: this.#at(
          () => '.cause',
          () => cause.value,
          depth,
        ),
      }),
      ...(fields && { fields: this.#object(fields, depth) as object }),
    }
    return held
  }

  #leaf(kind: Kind, value: object): unknown {
    if (kind === 'bytes') return this.#binary(value as Bytes)
    this.#refuseExtras(value, value.constructor.name)
    return this.#reading(() => {
      if (kind === 'date') return new Date(Date.prototype.getTime.call(value))
      if (kind === 'url') return new URL((value as URL).href)
      return new RegExp((value as RegExp).source, (value as RegExp).flags)
    })
  }

  /** Only the bytes that the view shows: around them may lie other people's. */
  #binary(value: Bytes): unknown {
    this.#bytes += this.#reading(() => value.byteLength)
    const { where, bytesMax, bytesStop } = this.#order
    if (this.#bytes > bytesStop) {
      throw valueTooLarge({ where, bytes: this.#bytes, bytesMax, exact: false })
    }
    return this.#reading(() => {
      if (isBuffer(value)) return Buffer.from(value)
      if (ArrayBuffer.isView(value)) return value.slice()
      return ArrayBuffer.prototype.slice.call(value, 0)
    })
  }

  #keep<T>(value: object, copy: T): T {
    this.#seen.set(value, copy)
    return copy
  }

  #property(value: object, key: string, depth: number): unknown {
    return this.#at(
      () => propertyPath(key),
      () => (value as Record<string, unknown>)[key],
      depth,
    )
  }

  #at(segment: () => string, read: () => unknown, depth: number): unknown {
    this.#path.push(segment)
    const copy = this.copy(this.#reading(read), depth)
    this.#path.pop()
    return copy
  }

  /** Getters, proxies and impostors may throw: that is a refusal of what is there. */
  #reading<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw this.#unstorable(`something that throws when it is read (${reasonOf(error)})`)
    }
  }

  #refuseSymbols(value: object): void {
    const symbol = this.#reading(() =>
      Object.getOwnPropertySymbols(value).find((key) =>
        Object.prototype.propertyIsEnumerable.call(value, key),
      ),
    )
    if (symbol === undefined) return
    this.#path.push(() => `[${String(symbol)}]`)
    throw this.#unstorable('a property whose key is a symbol')
  }

  #refuseExtras(value: object, what: string): void {
    this.#refuseSymbols(value)
    const key = this.#reading(() => Object.keys(value))[0]
    if (key !== undefined) throw this.#extra(key, what)
  }

  #extra(key: string, what: string): Error {
    this.#path.push(() => propertyPath(key))
    const article = /^[aeiou]/i.test(what) ? 'an' : 'a'
    return this.#unstorable(`a named property of ${article} ${what}, which would be lost`)
  }

  #tooDeep(): Error {
    return this.#unstorable(
      `nested more than ${this.#order.depthMax} deep`,
      'make it flatter, or keep it elsewhere and store a reference to it',
    )
  }

  #refusal(value: unknown): Error {
    if (typeof value === 'object' && value !== null && value instanceof Promise) {
      return this.#unstorable('a promise', 'await it first')
    }
    return this.#unstorable(described(value))
  }

  #unstorable(found: string, hint?: string): Error {
    const path = this.#path.map((segment) => segment()).join('')
    return valueUnstorable({ where: this.#order.where, path, found, hint })
  }
}

function reasonOf(error: unknown): string {
  try {
    return shown(error instanceof Error ? error.message : error)
  } catch {
    return 'without a reason'
  }
}

function described(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol') return 'a symbol'
  try {
    const name: unknown = (value as object).constructor?.name
    if (typeof name === 'string' && name !== '' && name !== 'Object') {
      return `an instance of ${name.slice(0, 80)}`
    }
  } catch {
    // Its constructor cannot be read; then it has none to show.
  }
  return 'an object with a prototype of its own'
}

function propertyPath(key: string): string {
  return /^[A-Za-z_$][\w$]{0,79}$/.test(key) ? `.${key}` : `[${shown(key)}]`
}

/** An array of this length whose memory is not: V8 would make room for all of it at once. */
function sparse(length: number): unknown[] {
  const array: unknown[] = []
  array[2 ** 32 - 2] = undefined
  delete array[2 ** 32 - 2]
  array.length = length
  return array
}
