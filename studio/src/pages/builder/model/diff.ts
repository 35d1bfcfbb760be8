// Two versions of a graph beside each other: on a diagram, and as lines of text. Pure.

import { type Graph, type GraphEdge, type GraphNode, wayOf } from '../../../diagram/graph.js'
import { graphModel } from '../../../diagram/graph-model.js'
import type { DiagramModel, Mark } from '../../../diagram/types.js'
import { isSame } from './edit.js'

/** All nodes and edges of both; those of `older` that are gone are marked as well. */
export function compared(older: Graph, newer: Graph): DiagramModel {
  const before = new Map(older.nodes.map((node) => [node.id, node]))
  const now = new Set(newer.nodes.map(({ id }) => id))
  const gone = older.nodes.filter(({ id }) => !now.has(id))
  const goneEdges = older.edges.filter((edge) => !newer.edges.some((one) => isSame(one, edge)))
  const both: Graph = {
    ...newer,
    nodes: [...newer.nodes, ...gone.map(({ position: _, ...node }) => node)],
    edges: [...newer.edges, ...goneEdges],
  }
  const markOf = (id: string): Mark | undefined => {
    if (!now.has(id)) return 'removed'
    const old = before.get(id)
    if (!old) return 'added'
    const own = newer.nodes.find((node) => node.id === id)
    return own && isEqual(old, own) ? undefined : 'changed'
  }
  const edgeMark = (edge: GraphEdge): Mark | undefined => {
    if (goneEdges.some((one) => isSame(one, edge))) return 'removed'
    return older.edges.some((one) => isSame(one, edge)) ? undefined : 'added'
  }
  const { nodes, edges } = graphModel(both)
  return {
    nodes: nodes.map((node) => (node.id === 'trigger' ? node : { ...node, mark: markOf(node.id) })),
    edges: edges.map((edge) => {
      const own = both.edges.find(
        (one) => one.from === edge.from && one.to === edge.to && wayOf(one) === edge.label,
      )
      return { ...edge, mark: own && edgeMark(own) }
    }),
  }
}

/** Where it stands is no difference. */
function isEqual({ position: _, ...a }: GraphNode, { position: __, ...b }: GraphNode): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => [name, sorted(one)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export interface Line {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** The lines of both, by their longest common part. */
export function lineDiff(older: string, newer: string): readonly Line[] {
  const a = older.split('\n')
  const b = newer.split('\n')
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  const most = Math.min(a.length, b.length) - start
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const same = (lines: readonly string[]): Line[] => lines.map((text) => ({ kind: 'same', text }))
  return [
    ...same(a.slice(0, start)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...same(a.slice(a.length - end)),
  ]
}

const CELLS_MAX = 4_000_000

function middle(a: readonly string[], b: readonly string[]): Line[] {
  const removed = (lines: readonly string[]): Line[] =>
    lines.map((text) => ({ kind: 'removed', text }))
  const added = (lines: readonly string[]): Line[] => lines.map((text) => ({ kind: 'added', text }))
  if (a.length * b.length > CELLS_MAX) return [...removed(a), ...added(b)]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) lines.push({ kind: 'same', text: a[i] ?? '' })
    if (a[i] === b[j]) {
      i += 1
      j += 1
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push(...removed(a.slice(i, ++i)))
    else lines.push(...added(b.slice(j, ++j)))
  }
  return [...lines, ...removed(a.slice(i)), ...added(b.slice(j))]
}
