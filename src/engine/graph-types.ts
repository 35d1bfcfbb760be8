// The public types of stored graphs.

import type { ExpressionCheck } from '../authoring/graph/check-expression.js'
import type { GraphJson } from '../authoring/graph/types.js'
import type { Opt } from '../authoring/types.js'
import type { Paged, PageOptions } from './run-types.js'

export type { ExpressionCheck }
export type GraphProblem = Readonly<{
  /** As 'nodes[2].config.if'. */
  path: string
  message: string
}>

export type StoredGraph = Readonly<{
  name: string
  /** The current one. */
  version: number
  /** It belongs to that workspace; null: all of them have it. */
  workspace: string | null
  /** Nothing starts it any more. */
  isArchived: boolean
  createdAt: Date
  updatedAt: Date
}>

export type GraphVersion = Readonly<{
  version: number
  note: string | null
  /** Who saved it, if that was said; over HTTP the name of the token. */
  author: string | null
  createdAt: Date
}>

/** Graphs that are stored in the database, with their versions. To read, to check and to store one executes nothing. */
export interface Graphs {
  /** Everything that is wrong with it, at once; throws nothing. The types of its nodes are those that this process has. */
  validate(json: unknown): { readonly problems: readonly GraphProblem[] }
  /**
   * What is wrong with an expression, and where; and the names that it could read, at that node of that graph, which need not be
   * finished. Without a graph only its grammar is looked at. Evaluates nothing.
   */
  checkExpression(cel: string, at?: Opt<{ graph: unknown; node: string }>): ExpressionCheck
  /**
   * A new version, which `start`, children and triggers take from now on; the JSON of the current one again is no new one.
   * `expected`: the version that you have changed, 0 for a graph that is new. Throws GRAPH_INVALID, VALUE_TOO_LARGE, NAME_TAKEN,
   * VERSION_CHANGED.
   */
  save(
    json: GraphJson,
    options?: Opt<{ expected: number; note: string; author: string }>,
  ): Promise<{ readonly name: string; readonly version: number; readonly isNew: boolean }>
  /** null if there is none, or no such version; without `version`: the current one. */
  get(
    name: string,
    options?: Opt<{ version: number }>,
  ): Promise<(StoredGraph & GraphVersion & { readonly json: GraphJson }) | null>
  list(page?: Omit<PageOptions, 'order'>): Paged<StoredGraph>
  /** Newest first. Throws DEFINITION_UNKNOWN. */
  versions(name: string, page?: Omit<PageOptions, 'order'>): Paged<GraphVersion>
  /** Nothing starts it until it is saved again; its runs go on. Throws DEFINITION_UNKNOWN. */
  archive(name: string): Promise<void>
}

export interface HasGraphs {
  readonly graphs: Graphs
}
