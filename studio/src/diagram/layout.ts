// Places for the nodes of a diagram, from the left to the right, or from above where it is narrow. Each box is arranged on its
// own, from the innermost outwards, and has the size that it needs. Pure.

import { Graph, layout } from '@dagrejs/dagre'
import { type DiagramEdge, type DiagramModel, type DiagramNode, edgeId, TRIGGER } from './types.js'

const NODE_WIDTH = 188
export const NODE_HEIGHT = 54
export const OUT_HEIGHT = 22
export const HEAD_HEIGHT = 40
const PADDING = 16
const GAP = { nodes: 28, ranks: 52 }
const TRIGGER_SIZE = { width: 128, height: 40 }
/** Of a box without anything in it. */
const EMPTY = { width: 220, height: 64 }
const HANDLER_HEAD = 26

export type Direction = 'LR' | 'TB'

export interface Place {
  /** Inside of its box. */
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** Of a box with two parts: where the second begins. */
  readonly handlerY: number | null
  readonly parent: string | undefined
}

interface Size {
  readonly width: number
  readonly height: number
}

export interface Layout {
  /** By id. */
  readonly places: ReadonlyMap<string, Place>
  /** Where long edges pass between others, by id; inside of the box that they are in. */
  readonly routes: ReadonlyMap<string, readonly Point[]>
}

/** Two models with the same shape have the same layout. */
export const shapeOf = ({ nodes, edges }: DiagramModel): string =>
  JSON.stringify([
    nodes.map(({ id, parent, isHandler, box, outs, position }) => [
      ...[id, parent, isHandler, box, outs, position],
    ]),
    edges.map(edgeId),
  ])

/** Nodes outside of boxes stand where a person has put them; else, and inside of boxes, they are arranged. */
export function layoutOf(model: DiagramModel, direction: Direction): Layout {
  const places = new Map<string, Place>()
  const routes = new Map<string, readonly Point[]>()
  const isFree = model.nodes.some(({ parent, position }) => parent === undefined && position)
  const sizes = new Map<string, Size & { readonly handlerY: number | null }>()
  const arrange = (parent: string | undefined, isHandler: boolean, origin: Point): Size => {
    const level = model.nodes.filter(
      (node) => node.parent === parent && (parent === undefined || !!node.isHandler === isHandler),
    )
    for (const node of level) sizes.set(node.id, sizeOf(node, inside))
    const arranged = arrangedLevel(level, model.edges, sizes, direction)
    for (const { id, position } of level) {
      const own = sizes.get(id)
      const at = arranged.at.get(id)
      if (!own || !at) continue
      const free = parent === undefined ? position : undefined
      const { x, y } = free ?? { x: origin.x + at.x, y: origin.y + at.y }
      places.set(id, { x, y, ...own, parent })
    }
    for (const [id, points] of arranged.routes) {
      const isStale = parent === undefined && isFree
      const moved = points.map(({ x, y }) => ({ x: origin.x + x, y: origin.y + y }))
      if (!isStale) routes.set(id, moved)
    }
    return level.length === 0 ? EMPTY : arranged.size
  }
  const inside = (node: DiagramNode): Size & { readonly handlerY: number | null } => {
    const body = arrange(node.id, false, { x: PADDING, y: HEAD_HEIGHT + PADDING / 2 })
    const bodyEnd = HEAD_HEIGHT + PADDING / 2 + body.height + PADDING
    if (node.box !== 'handling') {
      return { width: body.width + 2 * PADDING, height: bodyEnd, handlerY: null }
    }
    const handler = arrange(node.id, true, { x: PADDING, y: bodyEnd + HANDLER_HEAD })
    const width = Math.max(body.width, handler.width) + 2 * PADDING
    const height = bodyEnd + HANDLER_HEAD + handler.height + PADDING
    return { width, height, handlerY: bodyEnd }
  }
  arrange(undefined, false, { x: 0, y: 0 })
  return { places: withTrigger(model, places), routes }
}

export interface Point {
  readonly x: number
  readonly y: number
}

function sizeOf(
  node: DiagramNode,
  inside: (node: DiagramNode) => Size & { readonly handlerY: number | null },
): Size & { readonly handlerY: number | null } {
  if (node.box) return inside(node)
  if (node.id === TRIGGER) return { ...TRIGGER_SIZE, handlerY: null }
  const outs = node.outs?.length ?? 0
  const height = NODE_HEIGHT + (outs > 0 ? outs * OUT_HEIGHT + 4 : 0)
  return { width: NODE_WIDTH, height, handlerY: null }
}

interface Arranged {
  readonly at: ReadonlyMap<string, Point>
  readonly routes: ReadonlyMap<string, readonly Point[]>
  readonly size: Size
}

function arrangedLevel(
  level: readonly DiagramNode[],
  edges: readonly DiagramEdge[],
  sizes: ReadonlyMap<string, Size>,
  direction: Direction,
): Arranged {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: direction, nodesep: GAP.nodes, ranksep: GAP.ranks })
  graph.setDefaultEdgeLabel(() => ({}))
  const ids = new Map(level.map((node) => [node.id, node]))
  for (const id of ids.keys()) graph.setNode(id, { ...(sizes.get(id) ?? EMPTY) })
  const own = edges.filter(({ from, to }) => ids.has(from) && ids.has(to) && from !== to)
  for (const edge of own) {
    const isNamed = ids.get(edge.from)?.outs?.includes(edge.label)
    const width = isNamed ? 0 : edge.label.length * 6
    // What is decided stands near to where it is decided.
    graph.setEdge(edge.from, edge.to, { width, height: 12, weight: isNamed ? 3 : 1 }, edgeId(edge))
  }
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  const middles = new Map(level.map(({ id }) => [id, pointOf(graph.node(id))]))
  const isTurned = isUpsideDown(level, own, middles, direction)
  const turned = ({ x, y }: Point): Point => {
    if (!isTurned) return { x, y }
    return direction === 'LR' ? { x, y: height - y } : { x: width - x, y }
  }
  const at = level.map(({ id }) => {
    const { x, y } = turned(middles.get(id) ?? { x: 0, y: 0 })
    const { width: w, height: h } = sizes.get(id) ?? EMPTY
    return [id, { x: x - w / 2, y: y - h / 2 }] as const
  })
  const routes = own.flatMap((edge) => {
    const { points = [] } = graph.edge(edge.from, edge.to, edgeId(edge)) ?? {}
    // Start, middle, end: it leads to a neighbour, and nothing is in its way.
    return points.length <= 3 ? [] : [[edgeId(edge), points.slice(1, -1).map(turned)] as const]
  })
  return { at: new Map(at), routes: new Map(routes), size: { width, height } }
}

const pointOf = (node: Partial<Point> | undefined): Point => ({ x: node?.x ?? 0, y: node?.y ?? 0 })

/** Whether more of what the ways of nodes lead to stands against the order of the ways than with it. */
function isUpsideDown(
  level: readonly DiagramNode[],
  edges: readonly DiagramEdge[],
  middles: ReadonlyMap<string, Point>,
  direction: Direction,
): boolean {
  const across = (id: string): number => middles.get(id)?.[direction === 'LR' ? 'y' : 'x'] ?? 0
  let balance = 0
  for (const { id, outs = [] } of level) {
    const own = edges.filter(({ from }) => from === id)
    const targets = outs.flatMap((out) => own.filter(({ label }) => label === out))
    for (const [index, { to }] of targets.slice(1).entries()) {
      balance += Math.sign(across(to) - across(targets[index]?.to ?? to))
    }
  }
  return balance < 0
}

/** What starts a run has no place of its own in the JSON: where others were put by hand it stands before the first of them. */
function withTrigger(
  { nodes, edges }: DiagramModel,
  places: Map<string, Place>,
): ReadonlyMap<string, Place> {
  const trigger = places.get(TRIGGER)
  const free = nodes.filter(({ parent, position }) => parent === undefined && position)
  if (!trigger || free.length === 0) return places
  const first = edges
    .filter(({ from }) => from === TRIGGER)
    .flatMap(({ to }) => places.get(to) ?? [])
  const all = free.flatMap(({ id }) => places.get(id) ?? [])
  const beside = first.length > 0 ? first : all
  const x = Math.min(...beside.map((place) => place.x)) - trigger.width - GAP.ranks
  const middle = beside.reduce((sum, { y, height }) => sum + y + height / 2, 0) / beside.length
  places.set(TRIGGER, { ...trigger, x, y: middle - trigger.height / 2 })
  return places
}
