// From the JSON of a graph to a diagram: as it is written, or with what a run has done. Pure.

import type { LoggedNode } from 'perdure'
import {
  CONTAINERS,
  detailOf,
  type Graph,
  type GraphEdge,
  type GraphNode,
  handlersIn,
  isCel,
  isDict,
  knownOuts,
  wayOf,
} from './graph.js'
import { type DiagramModel, type DiagramNode, type NodeState, TRIGGER } from './types.js'

/** What a run of the graph has done. */
export interface Ran {
  readonly log: readonly LoggedNode[]
  readonly isOver: boolean
}

/** `outs`: the ways out of a node, where more is known than its JSON says. */
export function graphModel(
  graph: Graph,
  ran: Ran | null = null,
  outs: (node: GraphNode) => readonly string[] = knownOuts,
): DiagramModel {
  const handlers = handlersIn(graph)
  const ids = new Set(graph.nodes.map(({ id }) => id))
  const states = ran && statesOf(graph, ran)
  const nodes = graph.nodes.map((node): DiagramNode => {
    const named = outs(node)
    const used = graph.edges.some(({ from, when }) => from === node.id && when === undefined)
    return {
      id: node.id,
      label: node.name ?? node.id,
      sub: node.type,
      type: node.type,
      detail: detailOf(node),
      outs: named.length > 0 && used && !named.includes('') ? [...named, ''] : named,
      // A parent that is not there: it stands outside.
      parent: node.parent !== undefined && ids.has(node.parent) ? node.parent : undefined,
      isHandler: handlers.has(node.id),
      box: boxOf(node.type),
      position: node.position,
      ...(ran && states && { state: states.get(node.id) ?? 'unseen', ...countsOf(node.id, ran) }),
    }
  })
  const state = states ? { state: 'done' as const } : {}
  const trigger = { id: TRIGGER, label: startOf(graph), sub: TRIGGER, type: TRIGGER, ...state }
  const edges = graph.edges
    .filter(({ from, to }) => (ids.has(from) || from === TRIGGER) && ids.has(to))
    .map((edge) => ({
      from: edge.from,
      to: edge.to,
      label: wayOf(edge),
      isTaken: ran && states ? isTaken(graph, edge, states, ran.log) : false,
    }))
  return { nodes: [trigger, ...nodes], edges }
}

function boxOf(type: string): DiagramNode['box'] {
  if (type === 'try-catch') return 'handling'
  return CONTAINERS.includes(type) ? 'plain' : undefined
}

/** What starts it, in a word or two. */
function startOf({ triggers = [] }: Graph): string {
  const [first] = triggers
  if (!first) return 'Start'
  const what = first.event ?? first.cron ?? first.path ?? first.type
  return `${String(what)}${triggers.length > 1 ? ` +${triggers.length - 1}` : ''}`
}

// ── of a run ────────────────────────────────────────────────────────────────────────────────────────────────

const STATES: Readonly<Record<LoggedNode['status'], NodeState>> = {
  pending: 'unseen',
  running: 'open',
  waiting: 'waiting',
  completed: 'done',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'skipped',
}

function countsOf(id: string, { log }: Ran): Pick<DiagramNode, 'ms' | 'times'> {
  const own = log.filter(({ node, startedAt }) => node === id && startedAt !== null)
  const known = own.flatMap(({ durationMs }) => durationMs ?? [])
  return {
    ms: known.length === 0 ? null : known.reduce((sum, ms) => sum + ms, 0),
    times: own.length > 1 ? own.length : (own[0]?.attempt ?? 0),
  }
}

/**
 * By id. The log has no lines of nodes that do nothing (fork, merge, end), and none of a node that has only begun: those are told
 * from what stands before them.
 */
function statesOf(graph: Graph, { log, isOver }: Ran): ReadonlyMap<string, NodeState> {
  const states = new Map<string, NodeState>([[TRIGGER, 'done']])
  for (const { node, status } of log) {
    const now = states.get(node)
    if (now !== 'open' && now !== 'waiting') states.set(node, STATES[status])
  }
  const silent = new Set(
    graph.nodes
      .filter(({ id, type }) => !states.has(id) && SILENT.includes(type))
      .map(({ id }) => id),
  )
  const incoming = new Map<string, GraphEdge[]>()
  for (const edge of graph.edges) incoming.set(edge.to, [...(incoming.get(edge.to) ?? []), edge])
  // Each pass settles at least one more node.
  for (let isMore = true; isMore; ) {
    isMore = false
    for (const { id } of graph.nodes) {
      if (states.has(id) && (states.get(id) !== 'unseen' || isOver)) continue
      const before = incoming.get(id) ?? []
      const isReached = before.some((edge) => isWay(graph, edge, states, log))
      const isSettled = before.every(({ from }) => ENDED.includes(states.get(from) ?? 'unseen'))
      if (!isReached || !isSettled) continue
      states.set(id, silent.has(id) ? 'done' : 'open')
      isMore = true
    }
  }
  return containersOpen(graph, states)
}

const SILENT = ['fork', 'merge', 'end', 'trigger', 'on-error']
const ENDED: readonly NodeState[] = ['done', 'failed', 'skipped']
const BEGUN: readonly NodeState[] = ['done', 'failed', 'open', 'waiting', 'here']

/** A box in which something has begun and that has not ended itself is open. */
function containersOpen(
  graph: Graph,
  states: Map<string, NodeState>,
): ReadonlyMap<string, NodeState> {
  for (const { id, parent } of graph.nodes) {
    const state = parent === undefined ? undefined : states.get(parent)
    const isBegun = BEGUN.includes(states.get(id) ?? 'unseen')
    if (parent !== undefined && isBegun && (state === undefined || state === 'unseen')) {
      states.set(parent, 'open')
    }
  }
  return states
}

/** Whether the run leaves its source by this edge. */
function isWay(
  graph: Graph,
  edge: GraphEdge,
  states: ReadonlyMap<string, NodeState>,
  log: readonly LoggedNode[],
): boolean {
  const way = wayOf(edge)
  const state = states.get(edge.from) ?? 'unseen'
  const source = graph.nodes.find(({ id }) => id === edge.from)
  if (state !== 'done') return false
  const taken = source && branchOf(source, log)
  if (taken === undefined) return way === '' || states.get(edge.to) !== 'skipped'
  const isNamed = graph.edges.some((one) => one.from === edge.from && wayOf(one) === taken)
  return way === taken || (way === '' && (!isNamed || source?.type === 'try-catch'))
}

/** undefined: the log does not say. */
function branchOf(
  { id, type, config = {} }: GraphNode,
  log: readonly LoggedNode[],
): string | undefined {
  const { output, error = null } = log.findLast(({ node }) => node === id) ?? {}
  if (type === 'condition' && typeof output === 'boolean') return String(output)
  if (type === 'try-catch') return error === null ? 'try' : 'catch'
  if (type === 'wait-for-event') return output === undefined ? undefined : ''
  if (type !== 'switch' || !Array.isArray(config.cases)) return undefined
  const cases = (config.cases as readonly unknown[]).filter(isDict)
  if (cases.some(({ is }) => isCel(is))) return undefined
  const found = cases.find(({ is }) => JSON.stringify(is) === JSON.stringify(output))
  return found ? String(found.name) : 'default'
}

function isTaken(
  graph: Graph,
  edge: GraphEdge,
  states: ReadonlyMap<string, NodeState>,
  log: readonly LoggedNode[],
): boolean {
  return BEGUN.includes(states.get(edge.to) ?? 'unseen') && isWay(graph, edge, states, log)
}
