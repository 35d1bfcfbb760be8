// The parts of a graph as they were read.

import type { RetryPolicy } from '../../model/run.js'
import type { NodeType } from './plan.js'

/** A node as it was read, before its place in the graph is known. */
export interface ReadNode {
  readonly id: string
  readonly path: string
  readonly type: NodeType
  readonly config: unknown
  readonly names: ReadonlySet<string>
  readonly parent: string | null
  readonly retry: RetryPolicy | null
  readonly timeoutMs: number | null
}

export interface ReadEdge {
  readonly path: string
  readonly from: string
  readonly to: string
  readonly when: string | null
}
