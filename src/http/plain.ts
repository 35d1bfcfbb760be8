// A value as plain JSON, for people.

/**
 * As JSON shows it. Dates are texts, bigints decimal texts, maps lists of pairs, sets lists, bytes base64, errors their name and
 * message; undefined is left out (null in lists); NaN and the infinities are texts. -0 is 0.
 */
export function plain(value: unknown, above: readonly object[] = []): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return String(value)
    case 'object':
      return value === null ? null : plainObject(value, above)
    default:
      return undefined
  }
}

function plainObject(value: object, above: readonly object[]): unknown {
  if (above.includes(value)) return '(cycle)'
  const within = [...above, value]
  const each = (items: Iterable<unknown>): unknown[] =>
    Array.from(items, (item) => plain(item, within) ?? null)
  if (Array.isArray(value)) return each(value)
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Map) return [...value].map((pair) => each(pair))
  if (value instanceof Set) return each(value)
  if (value instanceof RegExp || value instanceof URL) return String(value)
  if (value instanceof Error) return plainError(value, within)
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64')
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  }
  return plainDict(value, within)
}

function plainDict(value: object, within: readonly object[]): object {
  const copy = {}
  for (const [key, item] of Object.entries(value)) {
    const shown = plain(item, within)
    if (shown === undefined) continue
    // Not an assignment: a key may be __proto__, and is data.
    Object.defineProperty(copy, key, { value: shown, enumerable: true })
  }
  return copy
}

function plainError(error: Error, within: readonly object[]): object {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return plainDict({ name: error.name, message: error.message, code, cause }, within)
}
