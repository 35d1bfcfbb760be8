// Whether a call carries the key of its step, wherever a service wants it: as an argument, a field, a header, in a URL
// or in a body.

const DEPTH_MAX = 5

/** The texts that have it, as one; null if there is none. */
export function keyIn(args: readonly unknown[], key: string): string | null {
  const found: string[] = []
  const seen = new Set<object>()
  const escaped = encodeURIComponent(key)
  const look = (value: unknown, depth: number): void => {
    if (typeof value === 'string') {
      if (value.includes(key) || value.includes(escaped)) found.push(value)
      return
    }
    if (typeof value !== 'object' || value === null || depth > DEPTH_MAX || seen.has(value)) return
    seen.add(value)
    for (const part of partsOf(value)) look(part, depth + 1)
  }
  look(args, 0)
  return found.length > 0 ? found.sort().join(' ') : null
}

function partsOf(value: object): readonly unknown[] {
  if (value instanceof URL || value instanceof URLSearchParams) return [String(value)]
  if (value instanceof Headers || value instanceof Map) return [...value.entries()].flat()
  if (value instanceof Set) return [...value]
  if (value instanceof Request) return [value.url, value.headers]
  return Object.values(value)
}
