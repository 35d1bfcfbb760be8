// What is wrong with a graph, and which node or edge it is about. Pure.

import { type Graph, wayOf } from '../../../diagram/graph.js'
import { type DiagramModel, edgeId } from '../../../diagram/types.js'

export interface GraphProblem {
  readonly path: string
  readonly message: string
}

/** With the id of a node or of an edge of the diagram; null: it is about the whole. */
export interface Located extends GraphProblem {
  readonly about: string | null
}

export function located(graph: Graph, problems: readonly GraphProblem[]): readonly Located[] {
  return problems.map((given) => {
    // Below its first line an expression is shown with a pointer, for terminals.
    const problem = { ...given, message: given.message.split('\n', 1)[0] ?? '' }
    const [, list, index] = /^(nodes|edges)\[(\d+)\]/.exec(problem.path) ?? []
    if (list === 'nodes') return { ...problem, about: graph.nodes[Number(index)]?.id ?? null }
    const edge = graph.edges[Number(index)]
    if (list !== 'edges' || !edge) return { ...problem, about: null }
    return { ...problem, about: edgeId({ ...edge, label: wayOf(edge) }) }
  })
}

/** The diagram with what is wrong marked on it. */
export function marked(model: DiagramModel, problems: readonly Located[]): DiagramModel {
  const count = (id: string): number => problems.filter(({ about }) => about === id).length
  return {
    nodes: model.nodes.map((node) => ({ ...node, problems: count(node.id) })),
    edges: model.edges.map((edge) => ({ ...edge, problems: count(edgeId(edge)) })),
  }
}
