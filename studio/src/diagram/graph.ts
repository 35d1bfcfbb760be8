// The JSON of a graph, as an editor sees it: it may be unfinished. Pure.

export type Dict = Readonly<Record<string, unknown>>

export interface GraphNode {
  readonly id: string
  readonly type: string
  readonly config?: Dict | undefined
  readonly parent?: string | undefined
  readonly retry?: unknown
  readonly timeout?: unknown
  readonly name?: string | undefined
  readonly position?: { readonly x: number; readonly y: number } | undefined
}

export interface GraphEdge {
  readonly from: string
  readonly to: string
  readonly when?: string | boolean | undefined
}

export interface Graph {
  readonly id: string
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  readonly description?: string | undefined
  readonly triggers?: readonly Dict[] | undefined
  readonly settings?: Dict | undefined
  readonly output?: unknown
}

export const isDict = (value: unknown): value is Dict =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isCel = (value: unknown): value is { readonly cel: string } =>
  isDict(value) && typeof value.cel === 'string' && Object.keys(value).length === 1

export const wayOf = ({ when }: GraphEdge): string => (when === undefined ? '' : String(when))

/** These, and all that edges lead to from them. */
export function behind(graph: Graph, from: readonly string[]): ReadonlySet<string> {
  const reached = new Set(from)
  for (const id of reached)
    for (const edge of graph.edges) if (edge.from === id) reached.add(edge.to)
  return reached
}

/** The nodes that are run when what is beside them in their box has failed. */
export function handlersIn(graph: Graph): ReadonlySet<string> {
  const parents = new Map(graph.nodes.map(({ id, parent }) => [id, parent]))
  const first = graph.edges.filter(
    (edge) => wayOf(edge) === 'catch' && parents.get(edge.to) === edge.from,
  )
  return behind(
    graph,
    first.map(({ to }) => to),
  )
}

/** The ways out of a node, as its type or its config name them. `outputs`: of its type. */
export function outsOf(
  { type, config, timeout }: GraphNode,
  outputs: readonly string[] | null | undefined,
): readonly string[] {
  if (type === 'switch') {
    const cases = Array.isArray(config?.cases) ? (config.cases as readonly unknown[]) : []
    const names = cases.flatMap((one) =>
      isDict(one) && typeof one.name === 'string' && one.name !== '' ? [one.name] : [],
    )
    return [...new Set([...names, 'default'])]
  }
  // A box goes on behind it whatever happened inside; what it catches has a place of its own.
  if (type === 'try-catch') return []
  if (type === 'wait-for-event') return timeout === undefined ? [] : ['', 'timeout']
  return outputs ?? []
}

export const CONTAINERS: readonly string[] = ['try-catch', 'retry', 'loop']
const WAYS: Readonly<Record<string, readonly string[]>> = { condition: ['true', 'false'] }

/** What is known of the ways out without asking the server. */
export const knownOuts = (node: GraphNode): readonly string[] => outsOf(node, WAYS[node.type])

/** In one line, what a node does. */
export function detailOf({ type, config = {} }: GraphNode): string {
  const { if: condition, on, task, workflow, url, method, event, machine, items } = config
  switch (type) {
    case 'condition':
      return shown(condition)
    case 'switch':
      return shown(on)
    case 'http':
      return `${method === undefined ? '' : `${shown(method)} `}${shown(url)}`
    case 'set':
      return Object.entries(config)
        .map(([name, value]) => `${name} = ${shown(value)}`)
        .join(', ')
    case 'loop':
      return items === undefined ? `while ${shown(config.while)}` : `each of ${shown(items)}`
    case 'retry':
      return config.attempts === undefined ? '' : `${shown(config.attempts)} attempts`
    case 'delay':
      return config.until === undefined ? shown(config.for) : `until ${shown(config.until)}`
    case 'wait-for-event':
      return shown(event ?? condition ?? config.for ?? config.until)
    default:
      return shown(task ?? workflow ?? event ?? machine ?? config.output ?? config.reason)
  }
}

export function shown(value: unknown): string {
  if (value === undefined) return ''
  if (isCel(value)) return value.cel
  return typeof value === 'string' ? value : JSON.stringify(value)
}
