// Which route a path belongs to. A part that is written out goes before one in braces, which takes any text that is there.

interface Leaf<T> {
  readonly value: T
  readonly names: readonly string[]
}

class Branch<T> {
  readonly written = new Map<string, Branch<T>>()
  any: Branch<T> | null = null
  readonly leaves = new Map<string, Leaf<T>>()
}

export interface Found<T> {
  readonly value: T
  readonly params: Readonly<Record<string, string>>
}

export class Router<T> {
  private readonly root = new Branch<T>()

  /** `path` as in '/runs/{id}'. */
  add(method: string, path: string, value: T): void {
    const names: string[] = []
    let at = this.root
    for (const part of partsOf(path).slice(1)) {
      const name = /^\{(\w+)\}$/.exec(part)?.[1]
      if (name !== undefined) names.push(name)
      const next = (name === undefined ? at.written.get(part) : at.any) ?? new Branch<T>()
      if (name === undefined) at.written.set(part, next)
      else at.any = next
      at = next
    }
    at.leaves.set(method, { value, names })
  }

  find(method: string, path: string): Found<T> | null {
    const taken: string[] = []
    const leaf = look(this.root, method, partsOf(path), 1, taken)
    if (leaf === null) return null
    const params: Record<string, string> = {}
    for (const [i, name] of leaf.names.entries()) params[name] = decoded(taken[i] ?? '')
    return { value: leaf.value, params }
  }
}

/** The first is empty: a path begins with a slash. */
const partsOf = (path: string): string[] => path.split('/')

function look<T>(
  at: Branch<T>,
  method: string,
  parts: readonly string[],
  depth: number,
  taken: string[],
): Leaf<T> | null {
  const part = parts[depth]
  if (part === undefined) return at.leaves.get(method) ?? null
  const written = at.written.get(part)
  const found = written && look(written, method, parts, depth + 1, taken)
  if (found || at.any === null || part === '') return found ?? null
  taken.push(part)
  const any = look(at.any, method, parts, depth + 1, taken)
  if (any === null) taken.pop()
  return any
}

/** What is not escaped as it should be is taken as it is: no id looks like that. */
function decoded(part: string): string {
  if (!part.includes('%')) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
