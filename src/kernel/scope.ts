// A scope: questions that belong together, and end together. The run is one; wf.scope, each branch of a race and each
// round of a loop are others, inside it.
//
// Invariants
//   W1. When a scope ends, nothing of it is left: its open questions are withdrawn, and what it still asks has no
//       effect.
//   W2. A scope that fails has been undone before anybody hears of it.

/** Where something was asked. */
export interface Scoped {
  readonly parent: Scoped | null
}

export class Scope implements Scoped {
  readonly parent: Scope | null
  /** Of the question that opened it; '' for the run itself. */
  readonly name: string
  readonly occurrence: number
  /** Of a round in its loop, from 1 on. */
  readonly number: number
  /** What the names of its questions begin with. */
  readonly path: string
  private over = false
  private controller: AbortController | null = null
  private joined: AbortSignal | null = null

  constructor(
    parent: Scope | null,
    as: { readonly name: string; readonly occurrence: number; readonly path: string },
    number = 0,
  ) {
    this.parent = parent
    this.number = number
    this.name = as.name
    this.occurrence = as.occurrence
    this.path = as.path
  }

  static ofRun(): Scope {
    return new Scope(null, { name: '', occurrence: 0, path: '' })
  }

  static ofRound(loop: Scope, number: number): Scope {
    const name = `${loop.path.slice(0, -1)}@${number}`
    return new Scope(loop, { name, occurrence: 1, path: `${name}/` }, number)
  }

  get isOver(): boolean {
    return this.over || (this.parent?.isOver ?? false)
  }

  /** Is `scope` this one, or inside it? */
  contains(scope: Scoped): boolean {
    for (let at: Scoped | null = scope; at; at = at.parent) if (at === this) return true
    return false
  }

  /** `reason`: made only if somebody listens. Every round of a loop is a scope that ends. */
  end(reason: () => Error): void {
    this.over = true
    this.controller?.abort(reason())
  }

  /** Aborts when this scope ends, one around it, or the run (`ofRun`). */
  signal(ofRun: AbortSignal): AbortSignal {
    if (!this.parent) return ofRun
    this.controller ??= new AbortController()
    this.joined ??= AbortSignal.any([this.controller.signal, this.parent.signal(ofRun)])
    return this.joined
  }
}
