// A node gets another id: edges, boxes and expressions follow. Also: nodes that are pasted get ids of their own. Pure.

import {
  type Graph,
  type GraphEdge,
  type GraphNode,
  isCel,
  isDict,
} from '../../../diagram/graph.js'
import { insideOf } from './edit.js'

export function renameNode(graph: Graph, from: string, to: string): Graph {
  const names = new Map([[from, to]])
  const renamed = graph.nodes.map((node) => withNames(node, names))
  const { output } = graph
  return {
    ...graph,
    nodes: renamed,
    edges: graph.edges.map((edge) => edgeWithNames(edge, names)),
    ...(output !== undefined && { output: valueWithNames(output, names) }),
  }
}

type Names = ReadonlyMap<string, string>

function withNames(node: GraphNode, names: Names): GraphNode {
  const { id, parent, config } = node
  return {
    ...node,
    id: names.get(id) ?? id,
    ...(parent !== undefined && { parent: names.get(parent) ?? parent }),
    ...(config !== undefined && { config: valueWithNames(config, names) as GraphNode['config'] }),
  }
}

const edgeWithNames = (edge: GraphEdge, names: Names): GraphEdge => ({
  ...edge,
  from: names.get(edge.from) ?? edge.from,
  to: names.get(edge.to) ?? edge.to,
})

function valueWithNames(value: unknown, names: Names): unknown {
  if (isCel(value)) return { cel: celWithNames(value.cel, names) }
  if (Array.isArray(value)) return value.map((one) => valueWithNames(one, names))
  if (!isDict(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, valueWithNames(one, names)]),
  )
}

/** Texts in quotes, names behind a dot, and names: only the last are replaced; and nodes["id"]. */
const PARTS = /nodes\[(["'])([\w-]+)\1\]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\.\s*\w+|[A-Za-z_]\w*/g

function celWithNames(cel: string, names: Names): string {
  return cel.replace(PARTS, (part, quote: string | undefined, id: string | undefined) => {
    if (id !== undefined) return `nodes[${quote}${names.get(id) ?? id}${quote}]`
    return names.get(part) ?? part
  })
}

/** What `nodes` are when they are taken along: with all that is inside, and the edges between them. */
export function copied(graph: Graph, ids: readonly string[]): Pick<Graph, 'nodes' | 'edges'> {
  const all = insideOf(graph, ids)
  return {
    nodes: graph.nodes.filter(({ id }) => all.has(id)),
    edges: graph.edges.filter(({ from, to }) => all.has(from) && all.has(to)),
  }
}

/** With ids of their own where theirs are taken. `ids`: of those that stand outside of the others. */
export function pasted(
  graph: Graph,
  { nodes, edges }: Pick<Graph, 'nodes' | 'edges'>,
): { readonly graph: Graph; readonly ids: readonly string[] } {
  const taken = new Set(graph.nodes.map(({ id }) => id))
  const names = new Map<string, string>()
  for (const { id } of nodes) {
    const base = id.replace(/\d+$/, '')
    let made = id
    for (let no = 2; taken.has(made); no += 1) made = `${base}${no}`
    taken.add(made)
    names.set(id, made)
  }
  const own = nodes.map((node) => {
    const { parent, position, ...rest } = withNames(node, names)
    const isInside = node.parent !== undefined && names.has(node.parent)
    return {
      ...rest,
      ...(isInside && parent !== undefined && { parent }),
      ...(position && { position: { x: position.x + 32, y: position.y + 32 } }),
    }
  })
  return {
    graph: {
      ...graph,
      nodes: [...graph.nodes, ...own],
      edges: [...graph.edges, ...edges.map((edge) => edgeWithNames(edge, names))],
    },
    ids: own.filter(({ parent }) => parent === undefined).map(({ id }) => id),
  }
}
