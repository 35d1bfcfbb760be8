// A text for every value that two values share only if nobody could tell them apart: kinds, key order, -0,
// undefined, holes, cycles. Written without the codec, so that the codec can be judged by it.

export function likeness(value: unknown, above: readonly unknown[] = []): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'symbol' || typeof value === 'function') return `?${typeof value}`
  if (typeof value !== 'object' || value === null) {
    return Object.is(value, -0) ? '-0' : String(value)
  }
  if (above.includes(value)) return `^${above.length - above.indexOf(value)}`
  const inside = [...above, value]
  const each = (item: unknown): string => likeness(item, inside)
  if (value instanceof Date) return `Date(${value.getTime()})`
  if (value instanceof RegExp) return `RegExp(${value.source}|${value.flags})`
  if (value instanceof URL) return `URL(${value.href})`
  if (value instanceof Map) {
    return `Map(${[...value].map(([key, item]) => `${each(key)}=>${each(item)}`).join()})`
  }
  if (value instanceof Set) return `Set(${[...value].map(each).join()})`
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${[...new Uint8Array(value)]})`
  if (ArrayBuffer.isView(value)) {
    const items = value as unknown as Iterable<unknown>
    return `${value.constructor.name}(${[...items].map(each).join()})`
  }
  const fields = Object.keys(value)
    .map((key) => `${JSON.stringify(key)}:${each((value as Record<string, unknown>)[key])}`)
    .join()
  if (Array.isArray(value)) return `[${value.length}|${fields}]`
  if (value instanceof Error) {
    const cause = Object.hasOwn(value, 'cause') ? each(value.cause) : 'none'
    return `Error(${value.name}|${value.message}|${value.stack}|${cause}|${fields})`
  }
  // The null prototype is not part of a value: it comes back as a plain object.
  const prototype = Object.getPrototypeOf(value)
  const plain = prototype === null || prototype === Object.prototype
  return `${plain ? '' : '?'}{${fields}}`
}
