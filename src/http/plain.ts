// A value as plain JSON, for people. Written at once: a copy that JSON.stringify goes through again was a quarter of what a list costs.

import { quoted, quotedKey } from '../model/json-text.js'

/**
 * As JSON shows it. Dates are texts, bigints decimal texts, maps lists of pairs, sets lists, bytes base64, errors their name and
 * message; undefined is left out (null in lists); NaN and the infinities are texts. -0 is 0.
 */
export function plainText(value: unknown): string {
  return written(value, []) ?? 'null'
}

/** `above`: the objects that it is in. */
function written(value: unknown, above: object[]): string | undefined {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      return Number.isFinite(value) ? String(value) : `"${value}"`
    case 'bigint':
      return `"${value}"`
    case 'object':
      return value === null ? 'null' : writtenObject(value, above)
    default:
      return undefined
  }
}

function writtenObject(value: object, above: object[]): string {
  if (above.includes(value)) return '"(cycle)"'
  above.push(value)
  const text = writtenInside(value, above)
  above.pop()
  return text
}

function writtenInside(value: object, above: object[]): string {
  if (Array.isArray(value)) return each(value, above)
  // Nearly all are: they need not be asked whether they are something else.
  if (Object.getPrototypeOf(value) === Object.prototype) return dict(value as Dict, above)
  if (value instanceof Date) {
    return quoted(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString())
  }
  if (value instanceof Map) return `[${Array.from(value, (pair) => each(pair, above)).join(',')}]`
  if (value instanceof Set) return each(value, above)
  if (value instanceof RegExp || value instanceof URL) return quoted(String(value))
  if (value instanceof Error) {
    const { name, message, code, cause } = value as Error & { readonly code?: unknown }
    return dict({ name, message, code, cause }, above)
  }
  if (value instanceof ArrayBuffer) return base64(Buffer.from(value))
  if (ArrayBuffer.isView(value)) {
    return base64(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  }
  return dict(value as Dict, above)
}

function each(items: Iterable<unknown>, above: object[]): string {
  let text = ''
  for (const item of items) text += `${text === '' ? '' : ','}${written(item, above) ?? 'null'}`
  return `[${text}]`
}

type Dict = Readonly<Record<string, unknown>>

function dict(value: Dict, above: object[]): string {
  let text = ''
  for (const key of Object.keys(value)) {
    const shown = written(value[key], above)
    if (shown !== undefined) text += `${text === '' ? '' : ','}${quotedKey(key)}${shown}`
  }
  return `{${text}}`
}

const base64 = (bytes: Buffer): string => `"${bytes.toString('base64')}"`
