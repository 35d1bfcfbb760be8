// The variables at one point of a graph: what every node before it has given, and what was set on the way.
//
// Branches see what was set before them and their own. Where they come together all of it is there; of two values of one name
// the one counts that was set by the later node in the order of the graph, which is never one that came before.

interface Binding {
  readonly value: unknown
  /** Of the node that set it. */
  readonly order: number
}

export type StoredBindings = readonly (readonly [name: string, order: number, value: unknown])[]

export class Env {
  static readonly empty = new Env(new Map())
  private readonly bindings: ReadonlyMap<string, Binding>

  private constructor(bindings: ReadonlyMap<string, Binding>) {
    this.bindings = bindings
  }

  with(values: Readonly<Record<string, unknown>>, order: number): Env {
    const bindings = new Map(this.bindings)
    for (const [name, value] of Object.entries(values)) bindings.set(name, { value, order })
    return new Env(bindings)
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
    return new Env(bindings)
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
    const bindings = new Map(this.bindings)
    for (const [name, order, value] of stored) bindings.set(name, { order, value })
    return new Env(bindings)
  }
}
