// What a diagram is made of, for all three styles. Pure.

import type { Description, GraphJson, JournalEntry, LoggedNode } from 'perdure'
import type { Graph } from '../../../diagram/graph.js'
import { graphModel as drawnGraph } from '../../../diagram/graph-model.js'
import type { DiagramEdge, DiagramNode } from '../../../diagram/types.js'
import { duration } from '../../../lib/format.js'
import { boundsOf, type Lane, type Story, stateOf } from '../model/story.js'
import type { Then } from '../model/then.js'

/** With what selects it in the other panels. */
export type RunNode = DiagramNode & { readonly select: string | null }

export interface RunModel {
  readonly nodes: readonly RunNode[]
  readonly edges: readonly DiagramEdge[]
}

// ── machines ────────────────────────────────────────────────────────────────────────────────────────────────

export function machineModel(
  definition: Pick<Description, 'places' | 'transitions'>,
  entries: readonly JournalEntry[],
  then: Pick<Then, 'place' | 'status' | 'error'>,
): RunModel {
  const { taken, visits, stays, fired } = wayOf(entries)
  const first = definition.places[0]?.name
  const here = then.place ?? first ?? null
  const nodes = definition.places.map(({ name, isFinal }): RunNode => {
    const times = visits.get(name) ?? (name === first ? 1 : 0)
    const isHere = name === here && then.status !== 'completed'
    const isBroken = isHere && then.error !== null
    const seen = times > 0 ? 'done' : 'unseen'
    return {
      id: name,
      label: name,
      sub: isFinal ? 'end' : '',
      state: isBroken ? 'failed' : isHere ? 'here' : seen,
      ms: stays.get(name) ?? null,
      times,
      select: 'place',
    }
  })
  const edges = definition.transitions.flatMap(({ name, from, to, runs, errorPlace }) =>
    [...to, ...(errorPlace === null ? [] : [errorPlace])].map((target) => ({
      from,
      to: target,
      label: target === errorPlace ? `${name} failed` : labelOf(name, fired.get(name)),
      isTaken: taken.has(`${from} ${name} ${target}`),
      isWaiting: runs !== 'at once',
    })),
  )
  return { nodes, edges }
}

interface Fired {
  times: number
  failures: number
  ms: number
}

/** What the journal says of a machine: which ways it went, how long it stayed where, and how long its transitions took. */
function wayOf(entries: readonly JournalEntry[]) {
  const taken = new Set<string>()
  const visits = new Map<string, number>()
  const stays = new Map<string, number>()
  const fired = new Map<string, Fired>()
  let since = entries[0]?.at.getTime() ?? 0
  for (const { kind, name, at, startedAt, transitions = [] } of entries) {
    for (const { from, to, event } of transitions) {
      taken.add(`${from} ${event} ${to}`)
      if (visits.size === 0) visits.set(from, 1)
      visits.set(to, (visits.get(to) ?? 0) + 1)
      stays.set(from, (stays.get(from) ?? 0) + at.getTime() - since)
      since = at.getTime()
    }
    const event = transitions[0]?.event ?? name.replace(/#\d+$/, '')
    const isFailed = kind === 'step.failed'
    if (!startedAt || (transitions.length === 0 && !isFailed)) continue
    const now = fired.get(event) ?? { times: 0, failures: 0, ms: 0 }
    if (isFailed) now.failures += 1
    else now.times += 1
    now.ms += at.getTime() - startedAt.getTime()
    fired.set(event, now)
  }
  return { taken, visits, stays, fired }
}

/** 'write · ×2 · 1.4 s · ▲ 1': how often, how long together, how often it failed. */
const labelOf = (name: string, fired: Fired | undefined): string =>
  [
    name,
    fired && fired.times > 1 && `×${fired.times}`,
    fired && duration(fired.ms),
    fired && fired.failures > 0 && `▲ ${fired.failures}`,
  ]
    .filter(Boolean)
    .join(' · ')

// ── functions ───────────────────────────────────────────────────────────────────────────────────────────────

const LANES_MAX = 200

/** The steps seen so far, in waves: what ran at the same time stands side by side. `others`: names that other runs took. */
export function functionModel(story: Story, others: readonly string[]): RunModel {
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

function laneNode(lane: Lane): RunNode {
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

const unseenNode = (name: string): RunNode => ({
  id: name,
  label: name,
  sub: 'in other runs',
  state: 'unseen',
  ms: null,
  times: 0,
  select: null,
})

// ── graphs ──────────────────────────────────────────────────────────────────────────────────────────────────

/** `until`: the moment that is shown; what began behind it was not there yet. */
export function graphModel(
  graph: GraphJson | null,
  log: readonly LoggedNode[],
  until: number,
  isOver = true,
): RunModel {
  const then = log.map((node) => nodeAt(node, until))
  const nodes = log.map(({ node: id, type }) => ({ id, type }))
  const drawn = (graph ?? { id: '', nodes, edges: [] }) as Graph
  const isEnd = isOver && until === Number.POSITIVE_INFINITY
  const model = drawnGraph(drawn, { log: then, isOver: isEnd })
  return { ...model, nodes: model.nodes.map((node) => ({ ...node, select: node.id })) }
}

function nodeAt(node: LoggedNode, until: number): LoggedNode {
  const { startedAt, endedAt } = node
  if (startedAt !== null && startedAt.getTime() > until) {
    return { ...node, status: 'pending', startedAt: null, endedAt: null, durationMs: null }
  }
  if (endedAt === null || endedAt.getTime() <= until) return node
  return { ...node, status: 'running', endedAt: null, durationMs: null }
}
