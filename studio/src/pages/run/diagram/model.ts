// What a diagram is made of, for all three styles. Pure.

import type { Description, GraphJson, JournalEntry, LoggedNode } from 'perdure'
import { boundsOf, type Lane, type Story, stateOf } from '../model/story.js'
import type { Then } from '../model/then.js'

export type NodeState = 'here' | 'done' | 'failed' | 'open' | 'waiting' | 'unseen'

export interface DiagramNode {
  readonly id: string
  readonly label: string
  readonly sub: string
  readonly state: NodeState
  /** Of all its executions together; null: not known. */
  readonly ms: number | null
  readonly times: number
  /** What selects it in the other panels. */
  readonly select: string | null
}

export interface DiagramEdge {
  readonly from: string
  readonly to: string
  readonly label: string
  readonly isTaken: boolean
  /** It goes when somebody sends it, or when time has passed. */
  readonly isWaiting: boolean
}

export interface DiagramModel {
  readonly nodes: readonly DiagramNode[]
  readonly edges: readonly DiagramEdge[]
}

// ── machines ────────────────────────────────────────────────────────────────────────────────────────────────

export function machineModel(
  definition: Pick<Description, 'places' | 'transitions'>,
  entries: readonly JournalEntry[],
  then: Pick<Then, 'place' | 'status' | 'error'>,
): DiagramModel {
  const taken = new Set<string>()
  const visits = new Map<string, number>()
  for (const { from, to, event } of entries.flatMap(({ transitions }) => transitions ?? [])) {
    taken.add(`${from} ${event} ${to}`)
    if (visits.size === 0) visits.set(from, 1)
    visits.set(to, (visits.get(to) ?? 0) + 1)
  }
  const first = definition.places[0]?.name
  const here = then.place ?? first ?? null
  const nodes = definition.places.map(({ name, isFinal }): DiagramNode => {
    const times = visits.get(name) ?? (name === first ? 1 : 0)
    const isHere = name === here && then.status !== 'completed'
    const isBroken = isHere && then.error !== null
    const seen = times > 0 ? 'done' : 'unseen'
    return {
      id: name,
      label: name,
      sub: isFinal ? 'end' : '',
      state: isBroken ? 'failed' : isHere ? 'here' : seen,
      ms: null,
      times,
      select: 'place',
    }
  })
  const edges = definition.transitions.flatMap(({ name, from, to, runs, errorPlace }) =>
    [...to, ...(errorPlace === null ? [] : [errorPlace])].map((target) => ({
      from,
      to: target,
      label: target === errorPlace ? `${name} failed` : name,
      isTaken: taken.has(`${from} ${name} ${target}`),
      isWaiting: runs !== 'at once',
    })),
  )
  return { nodes, edges }
}

// ── functions ───────────────────────────────────────────────────────────────────────────────────────────────

const LANES_MAX = 200

/** The steps seen so far, in waves: what ran at the same time stands side by side. `others`: names that other runs took. */
export function functionModel(story: Story, others: readonly string[]): DiagramModel {
  const lanes = story.lanes.slice(0, LANES_MAX)
  const waves = wavesOf(lanes)
  const nodes = lanes.map(laneNode)
  const edges = waves.slice(1).flatMap((wave, index) => {
    const before = waves[index] ?? []
    // All to all is a knot: of many one is enough on the side that has fewer.
    const sources = before.length * wave.length > 64 ? before.slice(0, 1) : before
    return sources.flatMap(({ name: from }) => wave.map((lane) => edgeOf(from, lane)))
  })
  const seen = new Set(lanes.map(({ name }) => name))
  const unseen = others.filter((name) => !seen.has(name)).map(unseenNode)
  return { nodes: [...nodes, ...unseen], edges }
}

const edgeOf = (from: string, { name: to }: Lane): DiagramEdge => ({
  from,
  to,
  label: '',
  isTaken: true,
  isWaiting: false,
})

/** A wave begins with what was asked for when all before it had ended. */
function wavesOf(lanes: readonly Lane[]): readonly (readonly Lane[])[] {
  const waves: Lane[][] = []
  let endsAt = Number.NEGATIVE_INFINITY
  let lastSeq = 0
  for (const lane of lanes.toSorted((a, b) => boundsOf(a).from - boundsOf(b).from)) {
    const { from, to } = boundsOf(lane)
    // Many things happen in a millisecond: then the journal knows which came first.
    const isLater = from > endsAt || (from === endsAt && lane.firstSeq > lastSeq)
    if (isLater || waves.length === 0) waves.push([])
    waves.at(-1)?.push(lane)
    endsAt = Math.max(endsAt, to ?? Number.POSITIVE_INFINITY)
    lastSeq = Math.max(lastSeq, lane.lastSeq)
  }
  return waves
}

const SUBS: Readonly<Record<Lane['kind'], string>> = {
  step: '',
  wait: 'waits',
  sleep: 'sleeps',
  child: 'child run',
  undo: 'undone',
  places: '',
}

function laneNode(lane: Lane): DiagramNode {
  const state = stateOf(lane)
  const { from, to } = boundsOf(lane)
  const attempts = lane.spans.filter(({ kind }) => kind === 'attempt' || kind === 'child').length
  const isRetrying = lane.spans.at(-1)?.kind === 'backoff' && state === 'open'
  const open = lane.kind === 'step' || lane.kind === 'child' ? 'open' : 'waiting'
  return {
    id: lane.name,
    label: lane.name,
    sub: isRetrying ? 'to retry' : SUBS[lane.kind],
    state:
      state === 'open' ? (isRetrying ? 'failed' : open) : state === 'failed' ? 'failed' : 'done',
    ms: to === null ? null : to - from,
    times: attempts,
    select: lane.name,
  }
}

const unseenNode = (name: string): DiagramNode => ({
  id: name,
  label: name,
  sub: 'in other runs',
  state: 'unseen',
  ms: null,
  times: 0,
  select: null,
})

// ── graphs ──────────────────────────────────────────────────────────────────────────────────────────────────

const GRAPH_STATES: Readonly<Record<LoggedNode['status'], NodeState>> = {
  pending: 'unseen',
  running: 'open',
  waiting: 'waiting',
  completed: 'done',
  failed: 'failed',
  skipped: 'unseen',
  cancelled: 'unseen',
}

/** `until`: the moment that is shown; what began behind it was not there yet. */
export function graphModel(
  graph: GraphJson | null,
  log: readonly LoggedNode[],
  until: number,
): DiagramModel {
  const logged = new Map<string, LoggedNode>()
  for (const node of log) {
    const hasBegun = node.startedAt === null || node.startedAt.getTime() <= until
    if (hasBegun) logged.set(node.node, node)
  }
  const ids = graph?.nodes ?? log.map(({ node, type }) => ({ id: node, type }))
  const isOver = (node: LoggedNode): boolean =>
    node.endedAt !== null && node.endedAt.getTime() <= until
  const nodes = ids.map(({ id, type }): DiagramNode => {
    const node = logged.get(id)
    const state = node
      ? isOver(node) || !node.startedAt
        ? GRAPH_STATES[node.status]
        : 'open'
      : 'unseen'
    const times = log.filter((one) => one.node === id).length
    const ms = node && isOver(node) ? node.durationMs : null
    return { id, label: id, sub: type, state, ms, times, select: id }
  })
  const wasThere = (id: string): boolean =>
    id === 'trigger' || ['done', 'failed', 'open', 'waiting'].includes(stateIn(nodes, id))
  const edges = (graph?.edges ?? []).map(({ from, to, when }) => ({
    from,
    to,
    label: when === undefined ? '' : String(when),
    isTaken: wasThere(from) && wasThere(to),
    isWaiting: false,
  }))
  const trigger = { id: 'trigger', label: 'trigger', sub: '', state: 'done' as const }
  const hasTrigger = edges.some(({ from }) => from === 'trigger')
  const start = hasTrigger ? [{ ...trigger, ms: null, times: 1, select: null }] : []
  return { nodes: [...start, ...nodes], edges }
}

const stateIn = (nodes: readonly DiagramNode[], id: string): NodeState =>
  nodes.find((node) => node.id === id)?.state ?? 'unseen'
