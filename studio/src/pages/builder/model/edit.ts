// What can be done to a graph: each gives a new one. Pure.

import {
  behind,
  type Dict,
  type Graph,
  type GraphEdge,
  type GraphNode,
  handlersIn,
  wayOf,
} from '../../../diagram/graph.js'
import { initialOf, kindOf, resolved, type Schema } from '../../../forms/schema.js'
import { isContainer, type TypeInfo } from './types.js'

const STEP = { x: 260, y: 96 }

/** Where a new node goes. */
export type Where =
  | { readonly after: string; readonly way?: string }
  | { readonly between: GraphEdge }
  | {
      readonly inside: string | null
      readonly isHandler?: boolean
      readonly at?: { readonly x: number; readonly y: number }
    }

export interface Added {
  readonly graph: Graph
  readonly id: string
}

export function addNode(graph: Graph, type: TypeInfo, where: Where): Added {
  const id = freshId(graph, type.name)
  const config = firstConfig(type)
  const node: GraphNode = { id, type: type.name, ...(Object.keys(config).length > 0 && { config }) }
  return { graph: placeNode(graph, node, where), id }
}

/** Puts a node that is in no edge somewhere. */
function placeNode(graph: Graph, node: GraphNode, where: Where): Graph {
  if ('between' in where) return placeBetween(graph, node, where.between)
  if ('after' in where) return placeAfter(graph, node, where.after, where.way ?? '')
  const { inside, isHandler = false, at } = where
  const placed: GraphNode = {
    ...node,
    ...(inside === null ? at && { position: at } : { parent: inside }),
  }
  const caught: readonly GraphEdge[] =
    inside !== null && isHandler ? [{ from: inside, to: node.id, when: 'catch' }] : []
  return { ...graph, nodes: [...graph.nodes, placed], edges: [...graph.edges, ...caught] }
}

function placeBetween(graph: Graph, node: GraphNode, edge: GraphEdge): Graph {
  const target = graph.nodes.find(({ id }) => id === edge.to)
  const parent = target?.parent
  const moved = target?.position && behind(graph, [edge.to])
  const nodes = graph.nodes.map((one) =>
    one.position && moved?.has(one.id)
      ? { ...one, position: { x: one.position.x + STEP.x, y: one.position.y } }
      : one,
  )
  const placed = {
    ...node,
    ...(parent !== undefined && { parent }),
    ...(target?.position && { position: target.position }),
  }
  const at = target ? nodes.findIndex(({ id }) => id === target.id) : nodes.length
  const edges = graph.edges.flatMap((one) =>
    isSame(one, edge)
      ? [
          { ...one, to: node.id },
          { from: node.id, to: edge.to },
        ]
      : [one],
  )
  return { ...graph, nodes: nodes.toSpliced(at, 0, placed), edges }
}

function placeAfter(graph: Graph, node: GraphNode, after: string, way: string): Graph {
  const before = graph.nodes.find(({ id }) => id === after)
  const next = graph.edges.filter(({ from }) => from === after)
  const parent = before?.parent
  const { x = 0, y = 0 } = before?.position ?? {}
  const position = before?.position && { x: x + STEP.x, y: y + next.length * STEP.y }
  const placed = { ...node, ...(parent !== undefined && { parent }), ...(position && { position }) }
  const edge = edgeOf(before, after, way, node.id)
  return { ...graph, nodes: [...graph.nodes, placed], edges: [...graph.edges, edge] }
}

/** `true` and `false` of a condition are no texts. */
function edgeOf(source: GraphNode | undefined, from: string, way: string, to: string): GraphEdge {
  if (way === '') return { from, to }
  const isFlag = source?.type === 'condition' && (way === 'true' || way === 'false')
  return { from, to, when: isFlag ? way === 'true' : way }
}

export const isSame = (a: GraphEdge, b: GraphEdge): boolean =>
  a.from === b.from && a.to === b.to && wayOf(a) === wayOf(b)

/** 'waitForEvent1': a name that expressions can read. */
function freshId(graph: Graph, type: string): string {
  const words = type.slice(type.lastIndexOf('.') + 1).split(/[^A-Za-z0-9]+/)
  const base = words
    .map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('')
  const taken = new Set(graph.nodes.map(({ id }) => id))
  let no = 1
  while (taken.has(`${base}${no}`)) no += 1
  return `${base}${no}`
}

/** What must be there is there, and empty. */
function firstConfig({ name, config }: TypeInfo): Dict {
  if (name === 'delay') return { for: '1 min' }
  if (name === 'loop') return { items: { cel: '' } }
  if (name === 'retry') return { attempts: 3 }
  if (name === 'wait-for-event') return { mode: 'event', event: '' }
  if (!config) return {}
  const entries = (config.required ?? []).map((field) => {
    const property = config.properties?.[field] ?? {}
    return [field, firstValue(property, config)] as const
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function firstValue(schema: Schema, root: Schema): unknown {
  if (isExpression(schema)) return { cel: '' }
  const kind = kindOf(resolved(schema, root))
  return initialOf(schema, root, true) ?? (kind === 'number' ? undefined : '')
}

export const isExpression = (schema: Schema): boolean => schema.$ref === '#/$defs/expression'

// ── edges ───────────────────────────────────────────────────────────────────────────────────────────────────

/** null: it cannot lead there. */
export function connect(graph: Graph, from: string, way: string, to: string): Graph | null {
  const source = graph.nodes.find(({ id }) => id === from)
  const target = graph.nodes.find(({ id }) => id === to)
  if (!target || from === to || source?.parent !== target.parent) return null
  const edge = edgeOf(source, from, way, to)
  if (graph.edges.some((one) => isSame(one, edge))) return graph
  return { ...graph, edges: [...graph.edges, edge] }
}

export function changeEdge(graph: Graph, edge: GraphEdge, way: string): Graph {
  const source = graph.nodes.find(({ id }) => id === edge.from)
  const changed = edgeOf(source, edge.from, way, edge.to)
  return { ...graph, edges: graph.edges.map((one) => (isSame(one, edge) ? changed : one)) }
}

export const removeEdge = (graph: Graph, edge: GraphEdge): Graph => ({
  ...graph,
  edges: graph.edges.filter((one) => !isSame(one, edge)),
})

// ── nodes ───────────────────────────────────────────────────────────────────────────────────────────────────

export function changeNode(graph: Graph, id: string, changes: Partial<GraphNode>): Graph {
  const nodes = graph.nodes.map((node) => {
    if (node.id !== id) return node
    const entries = Object.entries({ ...node, ...changes })
    return Object.fromEntries(
      entries.filter(([, value]) => value !== undefined),
    ) as unknown as GraphNode
  })
  return { ...graph, nodes }
}

/** With all that is inside of them. What led to one that had a single way on leads on. */
export function removeNodes(graph: Graph, ids: readonly string[]): Graph {
  let left = graph
  for (const id of ids) left = detached(left, id)
  const gone = insideOf(graph, ids)
  return {
    ...left,
    nodes: left.nodes.filter(({ id }) => !gone.has(id)),
    edges: left.edges.filter(({ from, to }) => !gone.has(from) && !gone.has(to)),
  }
}

/** These, and all that is inside of them. */
export function insideOf(graph: Graph, ids: readonly string[]): ReadonlySet<string> {
  const all = new Set(ids)
  for (const id of all) for (const node of graph.nodes) if (node.parent === id) all.add(node.id)
  return all
}

/** Without its edges, except to what is inside of it; those before it lead to what came behind it. */
function detached(graph: Graph, id: string): Graph {
  const inside = insideOf(graph, [id])
  const before = graph.edges.filter(({ to }) => to === id)
  const next = graph.edges.filter(({ from, to }) => from === id && !inside.has(to))
  const rest = graph.edges.filter((edge) => !before.includes(edge) && !next.includes(edge))
  const targets = [...new Set(next.map(({ to }) => to))]
  const bridges = targets.length === 1 ? before.flatMap((edge) => bridge(rest, edge, targets)) : []
  return { ...graph, edges: [...rest, ...bridges] }
}

const bridge = (
  rest: readonly GraphEdge[],
  edge: GraphEdge,
  targets: readonly string[],
): readonly GraphEdge[] =>
  targets.map((to) => ({ ...edge, to })).filter((made) => !rest.some((one) => isSame(one, made)))

/** Into a box, out of one, or onto an edge. Its own edges are gone then. */
export function moveNode(graph: Graph, id: string, where: Where): Graph {
  const node = graph.nodes.find((one) => one.id === id)
  if (!node) return graph
  const { parent: _, position: __, ...bare } = node
  const without = detached(graph, id)
  const nodes = without.nodes.filter((one) => one.id !== id)
  return placeNode({ ...without, nodes }, bare, where)
}

/** Whether it stands there already. */
export function isInside(
  graph: Graph,
  id: string,
  box: string | null,
  isHandler: boolean,
): boolean {
  const node = graph.nodes.find((one) => one.id === id)
  if ((node?.parent ?? null) !== box) return false
  return box === null || handlersIn(graph).has(id) === isHandler
}

/** Arranged by itself again. */
export const arranged = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map(({ position: _, ...node }) => node),
})

/** Nodes outside of boxes keep the places that they have. */
export const putDown = (
  graph: Graph,
  places: ReadonlyMap<string, { readonly x: number; readonly y: number }>,
): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => {
    const position = node.parent === undefined ? places.get(node.id) : undefined
    return position ? { ...node, position } : node
  }),
})

/** The last node that leads nowhere, on the outside: what is added without a place goes behind it. */
export function lastOf(graph: Graph): string {
  const leads = new Set(graph.edges.map(({ from }) => from))
  const handling = behind(
    graph,
    graph.nodes.filter(({ type }) => type === 'on-error').map(({ id }) => id),
  )
  const isEnd = ({ id, parent }: GraphNode) =>
    parent === undefined && !leads.has(id) && !handling.has(id)
  return graph.nodes.findLast(isEnd)?.id ?? 'trigger'
}

/** Behind a node, by the first way out of it that leads nowhere yet. */
export function whereAfter(graph: Graph, id: string, outs: readonly string[]): Where {
  const used = graph.edges.filter(({ from }) => from === id).map(wayOf)
  return { after: id, way: outs.find((out) => !used.includes(out)) ?? outs[0] ?? '' }
}

/** Where what somebody picks goes: into a chosen empty box, behind a chosen node, else behind the last one. */
export function whereFor(
  graph: Graph,
  chosen: string | undefined,
  type: string,
  outs: (node: GraphNode) => readonly string[],
): Where {
  if (type === 'on-error') return { inside: null }
  const node = graph.nodes.find(({ id }) => id === chosen)
  if (node && isContainer(node.type)) {
    const isEmpty = !graph.nodes.some(({ parent }) => parent === node.id)
    if (isEmpty) return { inside: node.id }
  }
  if (chosen === 'trigger') return { after: 'trigger' }
  const before = node ?? graph.nodes.find(({ id }) => id === lastOf(graph))
  return before ? whereAfter(graph, before.id, outs(before)) : { after: 'trigger' }
}
