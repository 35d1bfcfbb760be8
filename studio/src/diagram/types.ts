// What a diagram is made of: any definition and any run become this, and one component draws it.

import type { Status } from '../ui/statuses.js'

/** What has become of a node in a run. */
export type NodeState = 'here' | 'done' | 'failed' | 'open' | 'waiting' | 'skipped' | 'unseen'
export type Mark = 'added' | 'removed' | 'changed'

export interface DiagramNode {
  readonly id: string
  readonly label: string
  /** A word below it: the type of the node. */
  readonly sub: string
  /** The type whose picture it has. */
  readonly type?: string | undefined
  /** One line of what it does. */
  readonly detail?: string | undefined
  /** What its executions in all runs were like. */
  readonly numbers?: string | undefined
  /** The ways out of it that edges can name; none: it has one. */
  readonly outs?: readonly string[] | undefined
  /** The box that it stands in. */
  readonly parent?: string | undefined
  /** It stands in the part of its box that is run when the other part has failed. */
  readonly isHandler?: boolean | undefined
  /** 'handling': a box with a part for failures. */
  readonly box?: 'plain' | 'handling' | undefined
  /** Where a person has put it; else it is arranged. */
  readonly position?: { readonly x: number; readonly y: number } | undefined
  /** Left out: no run is shown. */
  readonly state?: NodeState | undefined
  /** Of all its executions together; null: not known. */
  readonly ms?: number | null | undefined
  readonly times?: number | undefined
  /** Of a comparison. */
  readonly mark?: Mark | undefined
  readonly problems?: number | undefined
}

export interface DiagramEdge {
  readonly from: string
  readonly to: string
  /** The way out of `from`, '' if it names none. */
  readonly label: string
  readonly isTaken?: boolean | undefined
  /** It goes when somebody sends it, or when time has passed. */
  readonly isWaiting?: boolean | undefined
  readonly mark?: Mark | undefined
  readonly problems?: number | undefined
}

export interface DiagramModel {
  readonly nodes: readonly DiagramNode[]
  readonly edges: readonly DiagramEdge[]
}

/** The node that stands for whatever starts a run. */
export const TRIGGER = 'trigger'

export const edgeId = ({ from, to, label }: DiagramEdge): string => `${from} ${label} ${to}`

export const STATE_WORDS: Readonly<Record<NodeState, string>> = {
  here: 'the run is here',
  done: 'done',
  failed: 'failed',
  open: 'running',
  waiting: 'waiting',
  skipped: 'skipped',
  unseen: 'not reached',
}

/** The shape and the colour that it has, as those of runs. */
export const STATUS_OF: Readonly<Record<NodeState, Status>> = {
  here: 'waiting',
  done: 'completed',
  failed: 'failed',
  open: 'running',
  waiting: 'waiting',
  skipped: 'cancelled',
  unseen: 'pending',
}
