// The types of nodes that the server knows, as GET /node-types gives them.

import { CONTAINERS, type GraphNode, outsOf } from '../../../diagram/graph.js'
import type { Schema } from '../../../forms/schema.js'

export interface TypeInfo {
  readonly name: string
  readonly title: string
  readonly group: string
  readonly description: string | null
  readonly isBuiltIn: boolean
  readonly isContainer: boolean
  /** null: they are named in its config. */
  readonly outputs: readonly string[] | null
  readonly config: Schema | null
}

export type Types = ReadonlyMap<string, TypeInfo>

export const typesByName = (items: readonly TypeInfo[]): Types =>
  new Map(items.map((type) => [type.name, type]))

export const outsBy =
  (types: Types) =>
  (node: GraphNode): readonly string[] =>
    outsOf(node, types.get(node.type)?.outputs)

export const isContainer = (type: string): boolean => CONTAINERS.includes(type)
