// What was done, to be undone. What is typed into one field in one go is one thing. Pure.

import type { Graph } from '../../../diagram/graph.js'

export interface History {
  readonly past: readonly Graph[]
  readonly now: Graph
  readonly future: readonly Graph[]
  /** What the last change was about; null: the next one stands on its own. */
  readonly about: string | null
  readonly at: number
}

export type Action =
  | {
      readonly kind: 'change'
      readonly to: (graph: Graph) => Graph
      readonly about?: string
      readonly at: number
    }
  | { readonly kind: 'undo' | 'redo' }
  | { readonly kind: 'replace'; readonly by: Graph }

const DEPTH = 200
const ONE_GO_MS = 2_000

export const begun = (now: Graph): History => ({ past: [], now, future: [], about: null, at: 0 })

export function after(history: History, action: Action): History {
  const { past, now, future } = history
  switch (action.kind) {
    case 'replace':
      return begun(action.by)
    case 'undo': {
      const before = past.at(-1)
      if (!before) return history
      return { past: past.slice(0, -1), now: before, future: [now, ...future], about: null, at: 0 }
    }
    case 'redo': {
      const [next, ...rest] = future
      if (!next) return history
      return { past: [...past, now], now: next, future: rest, about: null, at: 0 }
    }
    default: {
      const next = action.to(now)
      if (next === now) return history
      const { about = null, at } = action
      const isOneGo = about !== null && about === history.about && at - history.at < ONE_GO_MS
      const before = isOneGo ? past : [...past.slice(-DEPTH), now]
      return { past: before, now: next, future: [], about, at }
    }
  }
}
