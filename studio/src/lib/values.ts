// What is in a value of a user, for showing it: exact ones of the codec too (dates, maps, bigints, bytes, errors). Pure.

import { cut } from './format.js'

export interface LeafText {
  readonly kind: 'text' | 'number' | 'constant' | 'other'
  readonly text: string
}

export function leafOf(value: unknown): LeafText {
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value === 'number') {
    return { kind: 'number', text: Object.is(value, -0) ? '-0' : String(value) }
  }
  if (typeof value === 'bigint') return { kind: 'number', text: `${value}n` }
  if (value === null || typeof value === 'boolean' || value === undefined) {
    return { kind: 'constant', text: String(value) }
  }
  if (value instanceof Date) {
    const isReal = !Number.isNaN(value.getTime())
    return { kind: 'other', text: isReal ? value.toISOString() : 'Invalid Date' }
  }
  if (value instanceof RegExp || value instanceof URL) return { kind: 'other', text: String(value) }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return { kind: 'other', text: `${value.byteLength} bytes ${hexOf(value)}` }
  }
  return { kind: 'constant', text: Array.isArray(value) ? '[]' : '{}' }
}

function hexOf(value: ArrayBuffer | ArrayBufferView): string {
  const view = ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value)
  const hex = Array.from(view.subarray(0, 32), (byte) => byte.toString(16).padStart(2, '0'))
  return hex.join(' ') + (view.length > 32 ? ' …' : '')
}

/** null: it has none, it is a leaf. */
export function membersOf(value: unknown): readonly (readonly [string, unknown])[] | null {
  if (typeof value !== 'object' || value === null) return null
  if (leafOf(value).kind === 'other') return null
  if (Array.isArray(value)) return value.map((one, index) => [String(index), one])
  if (value instanceof Map) return [...value].map(([key, one], index) => [keyOf(key, index), one])
  if (value instanceof Set) return [...value].map((one, index) => [String(index), one])
  if (value instanceof Error) {
    const { name, message } = value
    return [['name', name], ['message', message], ...Object.entries(value)]
  }
  return Object.entries(value)
}

const keyOf = (key: unknown, index: number): string =>
  typeof key === 'object' && key !== null ? `key ${index}` : leafOf(key).text

/** In one line: how many there are, and the first ones where they are not shown below. */
export function summaryOf(value: unknown, isOpen: boolean): string {
  const members = membersOf(value) ?? []
  const size = members.length
  if (Array.isArray(value)) return isOpen ? `[${size}]` : `[${size}] ${inline(value, 80)}`
  if (value instanceof Map) return `Map(${size})`
  if (value instanceof Set) return `Set(${size})`
  if (value instanceof Error) return `${value.name}: ${cut(value.message, 80)}`
  return isOpen ? `{${size}}` : inline(value, 100)
}

/** A value in one line of a list. */
export function inline(value: unknown, max: number): string {
  return cut(written(value, 0, max), max)
}

function written(value: unknown, depth: number, max: number): string {
  const members = membersOf(value)
  if (members === null) {
    const { kind, text } = leafOf(value)
    return kind === 'text' && depth > 0 ? JSON.stringify(cut(text, max)) : cut(text, max)
  }
  if (depth > 2) return '…'
  const isList = Array.isArray(value) || value instanceof Set
  let text = ''
  for (const [name, member] of members) {
    if (text.length > max) break
    const shown = written(member, depth + 1, max)
    text += `${text === '' ? '' : ', '}${isList ? shown : `${name}: ${shown}`}`
  }
  return isList ? `[${text}]` : `{ ${text} }`
}

/** As text that can be edited and sent again; null if JSON would not keep it. */
export function jsonOf(value: unknown): string | null {
  if (value === undefined) return ''
  try {
    const text = JSON.stringify(value, null, 2)
    return isPlain(value, 0) ? text : null
  } catch {
    return null
  }
}

function isPlain(value: unknown, depth: number): boolean {
  if (depth > 100) return false
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (Array.isArray(value)) return value.every((one) => isPlain(one, depth + 1))
  if (typeof value !== 'object') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((one) => one === undefined || isPlain(one, depth + 1))
}
