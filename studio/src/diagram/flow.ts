// From the model of a diagram to the nodes and edges that the canvas wants. Pure.

import { type Edge, MarkerType, type Node, type NodeHandle, Position } from '@xyflow/react'
import type { Direction, Layout, Place, Point } from './layout.js'
import { type NodeData, outY } from './node.js'
import {
  type DiagramEdge,
  type DiagramModel,
  type DiagramNode,
  edgeId,
  STATE_WORDS,
  TRIGGER,
} from './types.js'

export interface Shown {
  readonly layout: Layout
  readonly direction: Direction
  readonly isEditable: boolean
  readonly selected: ReadonlySet<string>
}

export function flowNodes(model: DiagramModel, shown: Shown): Node[] {
  const depths = depthsOf(model)
  return model.nodes
    .toSorted((a, b) => (depths.get(a.id) ?? 0) - (depths.get(b.id) ?? 0))
    .flatMap((node) => {
      const place = shown.layout.places.get(node.id)
      return place ? [flowNode(model, node, place, shown)] : []
    })
}

function flowNode(model: DiagramModel, node: DiagramNode, place: Place, shown: Shown): Node {
  const { direction, isEditable, selected } = shown
  const inside = model.nodes.filter(({ parent }) => parent === node.id)
  const isTrigger = node.id === TRIGGER
  const data: NodeData = {
    node,
    isAcross: direction === 'LR',
    isEditable,
    handlerY: place.handlerY,
    isEmpty: {
      body: !inside.some(({ isHandler }) => !isHandler),
      handler: !inside.some(({ isHandler }) => isHandler),
    },
  }
  const { x, y, width, height } = place
  return {
    id: node.id,
    type: node.box ? 'box' : 'node',
    position: { x, y },
    width,
    height,
    measured: { width, height },
    handles: handlesOf(node, place, direction),
    data: data as unknown as Record<string, unknown>,
    selected: selected.has(node.id),
    draggable: isEditable && !isTrigger,
    ariaLabel: ariaOf(node),
    ...(node.parent !== undefined && { parentId: node.parent }),
  }
}

function ariaOf({ label, sub, state, mark, problems = 0 }: DiagramNode): string {
  return [
    label,
    sub !== '' && sub !== label && sub,
    state && STATE_WORDS[state],
    mark,
    problems > 0 && `${problems} to put right`,
  ]
    .filter(Boolean)
    .join(', ')
}

function handlesOf(
  { id, outs = [] }: DiagramNode,
  { width, height }: Place,
  direction: Direction,
): NodeHandle[] {
  const isAcross = direction === 'LR'
  const size = { width: 1, height: 1 }
  const target: NodeHandle = isAcross
    ? { type: 'target', position: Position.Left, x: 0, y: height / 2, ...size }
    : { type: 'target', position: Position.Top, x: width / 2, y: 0, ...size }
  const sources = (outs.length === 0 ? [''] : outs).map((out, index): NodeHandle => {
    if (!isAcross) {
      const at = { x: width / 2, y: height, position: Position.Bottom }
      return { id: out, type: 'source', ...at, ...size }
    }
    const y = outs.length === 0 ? height / 2 : outY(index)
    return { id: out, type: 'source', position: Position.Right, x: width, y, ...size }
  })
  return id === TRIGGER ? sources : [target, ...sources, ...backHandles(width, height, isAcross)]
}

/** Where edges leave and arrive that lead back: they go around the nodes. */
function backHandles(width: number, height: number, isAcross: boolean): NodeHandle[] {
  const at = isAcross
    ? { position: Position.Bottom, x: width / 2, y: height }
    : { position: Position.Right, x: width, y: height / 2 }
  const size = { width: 1, height: 1 }
  return [
    { id: 'back-out', type: 'source', ...at, ...size },
    { id: 'back-in', type: 'target', ...at, ...size },
  ]
}

export function flowEdges(model: DiagramModel, { selected, layout, direction }: Shown): Edge[] {
  const nodes = new Map(model.nodes.map((node) => [node.id, node]))
  const depths = depthsOf(model)
  const along = (id: string): number => {
    const { x, y } = layout.places.get(id) ?? { x: 0, y: 0 }
    return direction === 'LR' ? x : y
  }
  return model.edges.flatMap((edge) => {
    const source = nodes.get(edge.from)
    // What a box catches begins inside of it: its place there says so.
    if (!source || nodes.get(edge.to)?.parent === edge.from) return []
    const outs = source.outs ?? []
    const isNamed = outs.includes(edge.label)
    const { isTaken, isWaiting, mark, problems = 0 } = edge
    const classes = [
      isTaken && 'is-taken',
      isWaiting && 'is-waiting',
      mark && `mark-${mark}`,
      problems > 0 && 'has-problems',
    ]
    const label = isNamed ? '' : edge.label
    const isBack = along(edge.to) <= along(edge.from)
    return [
      {
        id: edgeId(edge),
        type: isBack ? 'back' : 'routed',
        data: { route: routeOf(layout, source, edgeId(edge)), isAcross: direction === 'LR' },
        source: edge.from,
        target: edge.to,
        sourceHandle: isBack ? 'back-out' : isNamed ? edge.label : (outs[0] ?? ''),
        ...(isBack && { targetHandle: 'back-in' }),
        className: classes.filter(Boolean).join(' '),
        selected: selected.has(edgeId(edge)),
        markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: colorOf(edge) },
        zIndex: (depths.get(edge.from) ?? 0) + 1,
        ariaLabel: `from ${edge.from} to ${edge.to}${edge.label === '' ? '' : `, ${edge.label}`}`,
        ...(label !== '' && { label, labelBgPadding: [4, 2], labelBgBorderRadius: 4 }),
      } satisfies Edge,
    ]
  })
}

const MARK_COLORS = { added: 'completed', removed: 'failed', changed: 'timed_out' } as const

function colorOf({ isTaken, mark }: DiagramEdge): string {
  if (mark) return `var(--${MARK_COLORS[mark]})`
  return isTaken ? 'var(--completed)' : 'var(--line-strong)'
}

/** Where it passes, on the whole canvas. */
function routeOf(
  { routes, places }: Layout,
  { parent }: DiagramNode,
  id: string,
): readonly Point[] {
  const origin = { x: 0, y: 0 }
  for (let at = parent; at !== undefined; ) {
    const place = places.get(at)
    origin.x += place?.x ?? 0
    origin.y += place?.y ?? 0
    at = place?.parent
  }
  return (routes.get(id) ?? []).map(({ x, y }) => ({ x: x + origin.x, y: y + origin.y }))
}

function depthsOf({ nodes }: DiagramModel): ReadonlyMap<string, number> {
  const parents = new Map(nodes.map(({ id, parent }) => [id, parent]))
  const depthOf = (id: string): number => {
    let depth = 0
    for (let at = parents.get(id); at !== undefined && depth < 20; at = parents.get(at)) depth += 1
    return depth
  }
  return new Map(nodes.map(({ id }) => [id, depthOf(id)]))
}
