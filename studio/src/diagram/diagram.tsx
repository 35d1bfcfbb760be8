// One component draws any definition or run: read only, or to be edited. Arranged by itself; see layout.ts.

import {
  applyNodeChanges,
  Background,
  Controls,
  MiniMap,
  type Node,
  type NodeChange,
  ReactFlow,
  type ReactFlowInstance,
  type ReactFlowProps,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import { type DragEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { plural } from '../lib/format.js'
import { Empty } from '../ui/empty.js'
import { BackEdge } from './back-edge.js'
import './diagram.css'
import { RoutedEdge } from './edge.js'
import { flowEdges, flowNodes } from './flow.js'
import { type Direction, layoutOf, shapeOf } from './layout.js'
import { BoxView, NodeView } from './node.js'
import { light, type Target, targetAt } from './target.js'
import type { DiagramModel } from './types.js'

export interface DiagramProps {
  readonly model: DiagramModel
  /** For those who hear the page. */
  readonly label: string
  readonly direction?: Direction | undefined
  /** Ids of nodes, and of edges as edgeId() makes them. */
  readonly selected?: readonly string[] | undefined
  readonly onSelect?: ((ids: readonly string[]) => void) | undefined
  /** A node to be brought into view; a new `no` for each time. */
  readonly reveal?: { readonly id: string; readonly no: number } | undefined
  /** Left out: it can only be read. */
  readonly editing?: Editing | undefined
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Editing {
  /** A type of the palette was dropped. */
  onDropType(type: string, target: Target, at: Point): void
  /** Nodes were dragged. `places`: where all nodes outside of boxes stand now. */
  onMove(ids: readonly string[], target: Target, places: ReadonlyMap<string, Point>): void
  onConnect(from: string, way: string, to: string): void
}

/** What a palette puts into a drag. */
export const DRAGGED_TYPE = 'application/x-perdure-node'

const NODE_TYPES = { node: NodeView, box: BoxView }
const EDGE_TYPES = { routed: RoutedEdge, back: BackEdge }
const NOTHING: readonly string[] = []
const FIT = { maxZoom: 1, padding: 0.08 }
const LEGIBLE = 0.75
const MARGIN = 24

/** To arrange more would freeze the page, and nobody could read it. */
const DRAWN_MAX = 600

export function Diagram(props: DiagramProps) {
  const { length } = props.model.nodes
  if (length > DRAWN_MAX) {
    return <Empty title={`${plural(length, 'node')} are too many to be drawn`} />
  }
  return (
    <section className="diagram" aria-label={props.label}>
      <ReactFlowProvider>
        <Canvas {...props} />
      </ReactFlowProvider>
    </section>
  )
}

function Canvas(props: DiagramProps) {
  const { model, direction = 'LR', selected = NOTHING, onSelect, editing } = props
  const isEditable = editing !== undefined
  // To arrange a hundred nodes takes longer than a key is pressed: only what changes their places does it.
  const shape = useMemo(() => shapeOf(model), [model])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape says all that counts of the model
  const layout = useMemo(() => layoutOf(model, direction), [shape, direction])
  const shown = useMemo(
    () => ({ layout, direction, isEditable, selected: new Set(selected) }),
    [layout, direction, isEditable, selected],
  )
  const made = useMemo(() => flowNodes(model, shown), [model, shown])
  const edges = useMemo(() => flowEdges(model, shown), [model, shown])
  const [nodes, setNodes] = useState(made)
  useEffect(() => setNodes(made), [made])
  const flow = useReactFlow()
  useInView(made, props, flow)
  const { isDragging, moved, dragHandlers } = useDragging(model, editing, flow)
  const change = useCallback(
    (changes: NodeChange[]) => {
      setNodes((now) => applyNodeChanges(changes, now))
      const byKeys = changes.filter((one) => one.type === 'position' && one.dragging === false)
      // The arrow keys move what is selected.
      if (byKeys.length > 0 && !isDragging.current) {
        moved(
          byKeys.flatMap((one) => (one.type === 'position' ? [one.id] : [])),
          { on: 'canvas' },
        )
      }
    },
    [moved, isDragging],
  )
  const kept = useRef(selected)
  kept.current = selected
  const select = useCallback(
    (chosen: { readonly nodes: readonly { id: string }[]; edges: readonly { id: string }[] }) => {
      const ids = [...chosen.nodes, ...chosen.edges].map(({ id }) => id)
      const isSame =
        ids.length === kept.current.length && ids.every((id) => kept.current.includes(id))
      if (!isSame) onSelect?.(ids)
    },
    [onSelect],
  )
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={change}
      onSelectionChange={select}
      nodesDraggable={isEditable}
      nodesConnectable={isEditable}
      edgesFocusable={isEditable}
      elementsSelectable={onSelect !== undefined}
      deleteKeyCode={null}
      multiSelectionKeyCode={['Meta', 'Control', 'Shift']}
      connectionRadius={28}
      onInit={() => show(flow, isEditable)}
      minZoom={0.1}
      proOptions={{ hideAttribution: false }}
      onConnect={({ source, sourceHandle, target }) =>
        editing?.onConnect(source, sourceHandle ?? '', target)
      }
      {...dragHandlers}
      {...(editing && dropHandlers(editing, flow))}
    >
      <Background gap={16} size={1} />
      <Controls showInteractive={false} fitViewOptions={FIT} />
      {model.nodes.length > 25 && <MiniMap pannable zoomable ariaLabel="The whole of it" />}
    </ReactFlow>
  )
}

type Flow = ReactFlowInstance

function below(event: MouseEvent | TouchEvent | React.MouseEvent, except: ReadonlySet<string>) {
  const point = 'clientX' in event ? event : event.changedTouches[0]
  return targetAt(point?.clientX ?? 0, point?.clientY ?? 0, except)
}

function insideOf({ nodes }: DiagramModel, dragged: readonly Node[]): ReadonlySet<string> {
  const ids = new Set(dragged.map(({ id }) => id))
  for (const id of ids) for (const node of nodes) if (node.parent === id) ids.add(node.id)
  return ids
}

/** Nodes that a pointer drags: what is below them lights up, and where they are dropped is told. */
function useDragging(model: DiagramModel, editing: Editing | undefined, flow: Flow) {
  const isDragging = useRef(false)
  const moved = useMoved(model, editing, flow)
  const dragHandlers: Pick<ReactFlowProps, 'onNodeDragStart' | 'onNodeDrag' | 'onNodeDragStop'> = {
    onNodeDragStart: () => {
      isDragging.current = true
    },
    onNodeDrag: (event, _, dragged) => light(below(event, insideOf(model, dragged)).element),
    onNodeDragStop: (event, _, dragged) => {
      const { target } = below(event, insideOf(model, dragged))
      light(null)
      moved(
        dragged.map(({ id }) => id),
        target,
      )
      setTimeout(() => {
        isDragging.current = false
      })
    },
  }
  return { isDragging, moved, dragHandlers }
}

function useMoved(model: DiagramModel, editing: Editing | undefined, flow: Flow) {
  return useCallback(
    (ids: readonly string[], target: Target) => {
      const places = model.nodes.flatMap(({ id }) => {
        const node = flow.getInternalNode(id)
        if (!node) return []
        const { x, y } = node.internals.positionAbsolute
        return [[id, { x: Math.round(x), y: Math.round(y) }] as const]
      })
      editing?.onMove(ids, target, new Map(places))
    },
    [model, editing, flow],
  )
}

function dropHandlers(editing: Editing, flow: Flow) {
  const isOurs = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes(DRAGGED_TYPE)
  return {
    onDragOver: (event: DragEvent) => {
      if (!isOurs(event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
      light(targetAt(event.clientX, event.clientY).element)
    },
    onDragLeave: () => light(null),
    onDrop: (event: DragEvent) => {
      if (!isOurs(event)) return
      event.preventDefault()
      light(null)
      const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY })
      const { target } = targetAt(event.clientX, event.clientY)
      const at = { x: Math.round(x), y: Math.round(y) }
      editing.onDropType(event.dataTransfer.getData(DRAGGED_TYPE), target, at)
    },
  }
}

/** The whole of it; while it is edited, only as small as it can be read, from its beginning. */
function show(flow: Flow, isEditable: boolean): void {
  const frame = document.querySelector('.diagram')?.getBoundingClientRect()
  const bounds = flow.getNodesBounds(flow.getNodes())
  if (!frame || !isEditable || bounds.width * LEGIBLE < frame.width - 2 * MARGIN) {
    return void flow.fitView(FIT)
  }
  const y = (frame.height - bounds.height * LEGIBLE) / 2 - bounds.y * LEGIBLE
  void flow.setViewport({ x: MARGIN - bounds.x * LEGIBLE, y, zoom: LEGIBLE })
}

/** What is new is seen; what somebody asks for is in the middle. */
function useInView(made: readonly Node[], { reveal, editing }: DiagramProps, flow: Flow): void {
  const isEditable = editing !== undefined
  const count = useRef(made.length)
  useEffect(() => {
    if (count.current === made.length) return
    count.current = made.length
    const later = requestAnimationFrame(() => show(flow, isEditable))
    return () => cancelAnimationFrame(later)
  }, [made.length, flow, isEditable])
  useEffect(() => {
    if (reveal === undefined) return
    const { x, y, zoom } = flow.getViewport()
    const node = flow.getInternalNode(reveal.id)
    if (!node) return
    const at = node.internals.positionAbsolute
    const left = at.x * zoom + x
    const top = at.y * zoom + y
    const frame = document.querySelector('.diagram')?.getBoundingClientRect()
    const isSeen =
      frame && left > 0 && top > 0 && left < frame.width - 120 && top < frame.height - 60
    if (!isSeen) void flow.fitView({ nodes: [{ id: reveal.id }], maxZoom: 1, duration: 200 })
  }, [reveal, flow])
}
