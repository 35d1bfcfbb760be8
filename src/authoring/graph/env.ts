// The variables at one point of a graph: what every node before it has given, and what was set on the way.
//
// Branches see what was set before them and their own. Where they come together all of it is there; of two values of one name
// the one counts that was set by the later node in the order of the graph, which is never one that came before.
//
// Each has what was added, and what it was added to: most nodes look at none of it, and then nothing is copied.

interface Binding {
  readonly value: unknown
  /** Of the node that set it. */
  readonly order: number
}

export type StoredBindings = readonly (readonly [name: string, order: number, value: unknown])[]

/** So many are walked at most: what has been set again must not be kept for ever. */
const DEPTH_MAX = 64

export class Env {
  static readonly empty = new Env(null, [])
  private before: Env | null
  private added: readonly (readonly [name: string, binding: Binding])[]
  private readonly depth: number
  /** All of them, when somebody has looked. */
  private all: ReadonlyMap<string, Binding> | null = null

  private constructor(before: Env | null, added: readonly (readonly [string, Binding])[]) {
    this.before = before
    this.added = added
    this.depth = before && before.all === null ? before.depth + 1 : 0
    if (this.depth >= DEPTH_MAX) this.gather()
  }

  with(values: Readonly<Record<string, unknown>>, order: number): Env {
    const added: [string, Binding][] = []
    for (const name of Object.keys(values)) added.push([name, { value: values[name], order }])
    return added.length === 0 ? this : new Env(this, added)
  }

  withOne(name: string, value: unknown, order: number): Env {
    return new Env(this, [[name, { value, order }]])
  }

  /** All of them together. */
  static joined(all: readonly Env[]): Env {
    const [only] = all
    if (all.length === 1 && only) return only
    const bindings = new Map<string, Binding>()
    for (const { bindings: each } of all) {
      for (const [name, binding] of each) {
        const known = bindings.get(name)
        if (!known || binding.order >= known.order) bindings.set(name, binding)
      }
    }
    return new Env(null, [...bindings])
  }

  get(name: string): unknown {
    return this.bindings.get(name)?.value
  }

  /** As an object that has nothing but them. */
  values(): Record<string, unknown> {
    const values: Record<string, unknown> = Object.create(null)
    for (const [name, { value }] of this.bindings) values[name] = value
    return values
  }

  entries(): [string, unknown][] {
    return [...this.bindings].map(([name, { value }]) => [name, value])
  }

  /** What is not as it was in `before`. */
  since(before: Env): StoredBindings {
    return [...this.bindings].flatMap(([name, binding]) => {
      if (before.bindings.get(name) === binding) return []
      return [[name, binding.order, binding.value] as const]
    })
  }

  again(stored: StoredBindings): Env {
    return new Env(
      this,
      stored.map(([name, order, value]) => [name, { order, value }]),
    )
  }

  private get bindings(): ReadonlyMap<string, Binding> {
    return this.all ?? this.gather()
  }

  private gather(): ReadonlyMap<string, Binding> {
    const later: Env[] = [this]
    let from = this.before
    for (; from && from.all === null; from = from.before) later.push(from)
    const all = new Map(from?.all)
    for (const one of later.reverse()) {
      for (const [name, binding] of one.added) all.set(name, binding)
    }
    this.all = all
    this.before = null
    this.added = []
    return all
  }
}
