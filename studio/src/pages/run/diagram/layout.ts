// Places for the nodes of a diagram, from the left to the right, or from above where it is narrow.

import { Graph, layout } from '@dagrejs/dagre'
import type { DiagramModel } from './model.js'

export const NODE_WIDTH = 176
export const NODE_HEIGHT = 48

export interface Placed {
  readonly x: number
  readonly y: number
}

export function placed(model: DiagramModel, direction: 'LR' | 'TB'): ReadonlyMap<string, Placed> {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: 72, marginx: 16, marginy: 16 })
  graph.setDefaultEdgeLabel(() => ({}))
  const ids = new Set(model.nodes.map(({ id }) => id))
  for (const id of ids) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT })
  for (const [index, { from, to, label }] of model.edges.entries()) {
    if (!ids.has(from) || !ids.has(to)) continue
    graph.setEdge(from, to, { width: label.length * 6, height: 12 }, `${index}`)
  }
  layout(graph)
  return new Map(
    [...ids].map((id) => {
      const { x = 0, y = 0 } = graph.node(id) ?? {}
      return [id, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }]
    }),
  )
}
