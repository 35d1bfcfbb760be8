// The diagram of a run: the same for machines, graphs and functions.

import { useQuery } from '@tanstack/react-query'
import {
  Background,
  Controls,
  type Edge,
  MarkerType,
  type Node,
  ReactFlow,
  ReactFlowProvider,
} from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import type { RunInfo } from 'perdure'
import { useMemo } from 'react'
import { api } from '../../../api/api.js'
import { useDefinition } from '../../../api/queries.js'
import { Empty } from '../../../ui/empty.js'
import type { Story } from '../model/story.js'
import type { Then } from '../model/then.js'
import type { Moment } from '../use-moment.js'
import { BackEdge } from './back-edge.js'
import './diagram.css'
import { NODE_HEIGHT, NODE_WIDTH, placed } from './layout.js'
import {
  type DiagramEdge,
  type DiagramModel,
  functionModel,
  graphModel,
  machineModel,
} from './model.js'
import { DiagramNodeView } from './node.js'

const NODE_TYPES = { node: DiagramNodeView }
const EDGE_TYPES = { back: BackEdge }

export function Diagram({
  run,
  story,
  then,
  moment,
  onSelect,
}: {
  readonly run: RunInfo
  readonly story: Story
  readonly then: Then
  readonly moment: Moment
  readonly onSelect: (name: string) => void
}) {
  const model = useModel(run, story, then, moment)
  const isNarrow = matchMedia('(max-width: 720px)').matches
  const flow = useMemo(() => flowOf(model, isNarrow ? 'TB' : 'LR'), [model, isNarrow])
  if (model.nodes.length === 0) {
    return <Empty title="It has not done anything yet">Its steps appear here as they happen.</Empty>
  }
  return (
    <section className="diagram" aria-label="Diagram">
      <ReactFlowProvider>
        <ReactFlow
          key={`${model.nodes.length}`}
          nodes={flow.nodes}
          edges={flow.edges}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          nodesDraggable={false}
          nodesConnectable={false}
          fitView
          fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
          minZoom={0.1}
          onNodeClick={(_, node) => {
            const { select } = node.data as { readonly select: string | null }
            if (select !== null) onSelect(select)
          }}
        >
          <Background gap={16} size={1} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </ReactFlowProvider>
    </section>
  )
}

function useModel(run: RunInfo, story: Story, then: Then, moment: Moment): DiagramModel {
  const definition = useDefinition(run.workflow)
  const isGraph = run.kind === 'graph'
  const log = useQuery({
    queryKey: ['run', run.id, 'nodes'],
    queryFn: () => api().client.nodes(run.id),
    enabled: isGraph,
    refetchInterval: run.finishedAt === null ? 2_000 : false,
  })
  const others = useOthers(run)
  return useMemo(() => {
    if (run.kind === 'machine') {
      const chart = definition.data
      return chart ? machineModel(chart, moment.entries, then) : { nodes: [], edges: [] }
    }
    if (!isGraph) return functionModel(story, others)
    const until = moment.seq === null ? Number.POSITIVE_INFINITY : story.to
    return graphModel(definition.data?.graph ?? null, log.data ?? [], until)
  }, [run.kind, isGraph, definition.data, moment, then, story, others, log.data])
}

const NONE: readonly string[] = []

/** Steps that other runs of this function took: shown faintly. */
function useOthers(run: RunInfo): readonly string[] {
  const { data } = useQuery({
    queryKey: ['workflows', run.workflow, 'steps'],
    queryFn: async () => {
      const { items } = await api().client.stepStats(run.workflow)
      return items.map(({ name }) => name).slice(0, 40)
    },
    enabled: run.kind === 'workflow',
    staleTime: 60_000,
  })
  return data ?? NONE
}

function flowOf(
  model: DiagramModel,
  direction: 'LR' | 'TB',
): { readonly nodes: Node[]; readonly edges: Edge[] } {
  const places = placed(model, direction)
  const nodes = model.nodes.map((node) => ({
    id: node.id,
    type: 'node',
    position: places.get(node.id) ?? { x: 0, y: 0 },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    data: { ...node, direction },
    focusable: true,
    ariaLabel: `${node.label}, ${node.state}`,
  }))
  const along = (id: string): number => {
    const { x, y } = places.get(id) ?? { x: 0, y: 0 }
    return direction === 'LR' ? x : y
  }
  const edges = model.edges.map((edge) => edgeOf(edge, along(edge.to) <= along(edge.from)))
  return { nodes, edges }
}

/** One that leads back goes around, below the nodes. */
function edgeOf({ from, to, label, isTaken, isWaiting }: DiagramEdge, isBack: boolean): Edge {
  const color = isTaken ? 'var(--completed)' : 'var(--faint)'
  return {
    ...(isBack && { type: 'back', sourceHandle: 'back-out', targetHandle: 'back-in' }),
    id: `${from} ${label} ${to}`,
    source: from,
    target: to,
    label,
    className: `${isTaken ? 'is-taken' : ''} ${isWaiting ? 'is-waiting' : ''}`,
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color },
    focusable: false,
    ...(label === '' ? {} : { labelBgPadding: [4, 2], labelBgBorderRadius: 4 }),
  }
}
