// A graph, however it was written: nodes in an order in which they can run, and the edges between them. The interpreter
// (walk.ts) knows only this.

import type { Turn } from '../../model/program.js'
import type { RetryPolicy } from '../../model/run.js'
import type { Env } from './env.js'
import type { Template } from './template.js'

export interface Plan {
  readonly top: Level
  /** What runs when a node has failed and nobody caught it; null: the run fails. */
  readonly onError: PlanNode | null
  /** What the run gives back; null: its variables. */
  readonly output: Template | null
  /** Of execution; waits do not count. null: none. */
  readonly limitMs: number | null
  /** Of one wait for an event or a condition that says nothing else; null: none. */
  readonly waitLimitMs: number | null
}

/** Nodes that stand side by side: the graph itself, or what is inside a container. */
export interface Level {
  /** In an order in which they can run. */
  readonly nodes: readonly PlanNode[]
  /** Where it begins. */
  readonly starts: readonly PlanNode[]
}

export interface PlanNode {
  readonly id: string
  readonly type: NodeType
  readonly config: unknown
  readonly retry: RetryPolicy | null
  readonly timeoutMs: number | null
  /** Its place among all nodes: of two that set one variable the later wins. */
  readonly order: number
  /** So many edges lead to it; that the level begins with it is one. */
  readonly incoming: number
  readonly edges: readonly PlanEdge[]
  /** What it contains. */
  readonly inside: Level | null
  /** What is run if that fails. */
  readonly handler: Level | null
}

export interface PlanEdge {
  readonly to: PlanNode
  /** Taken only on this way out of the node; null: on every way that is not named by another edge. */
  readonly when: string | null
}

/** What a node came to. */
export interface Ended {
  readonly output?: unknown
  /** The way out of it. */
  readonly branch?: string
  /** Variables that it sets, beside its own. */
  readonly sets?: Readonly<Record<string, unknown>>
  /** What a container has made of the variables. */
  readonly env?: Env
  /** The run is over. */
  readonly returned?: { readonly value: unknown }
}

/** What a node is given when it runs (visit.ts), as far as the plan knows it. */
export interface Visited {
  readonly node: PlanNode
  readonly turn: Turn
  readonly env: Env
}

export interface NodeType {
  readonly name: string
  readonly description: string
  /** Other nodes may have it as their parent. */
  readonly isContainer?: boolean
  /** The ways out of it; null: any, because they are named in its config. Missing: one. */
  readonly ways?: readonly string[] | null
  /** What is wrong with the config is said to `config`. */
  read(config: Config): unknown
  run(visit: Visited): Promise<Ended>
}

/** The config of a node, as its type reads it: each reader gives a value that can be used, and says what is wrong. */
export interface Config {
  readonly given: Readonly<Record<string, unknown>>
  readonly has: (field: string) => boolean
  /** Says which fields there are: another is a mistake. */
  only(...fields: readonly string[]): void
  wrong(field: string, message: string): void
  text(field: string): string
  duration(field: string): number | null
  expression(field: string): Template
  /** A value with expressions in it, at any depth. */
  template(field: string): Template
  count(field: string, most: number): number | null
}
