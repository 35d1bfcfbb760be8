// A definition as a diagram, with what its runs were like. Pure.

import type { Description, StepStats } from 'perdure'
import type { Graph } from '../../diagram/graph.js'
import { graphModel } from '../../diagram/graph-model.js'
import type { DiagramModel } from '../../diagram/types.js'
import { duration } from '../../lib/format.js'
import { functionModel } from '../run/diagram/model.js'
import type { Story } from '../run/model/story.js'

export const workflowPath = (name: string): string => `/workflows/${encodeURIComponent(name)}`

export const KIND_WORDS: Readonly<Record<Description['kind'], string>> = {
  workflow: 'function',
  machine: 'machine',
  graph: 'graph',
  task: 'task',
}

type StepStat = StepStats['items'][number]

/** '4.2 %'; small ones are not rounded away. */
export function rateOf({ failures, executions }: StepStat): string {
  const percent = executions === 0 ? 0 : (100 * failures) / executions
  if (percent > 0 && percent < 0.1) return '< 0.1 %'
  return `${Number.isInteger(percent) ? percent : percent.toFixed(1)} %`
}

const numbersOf = (stat: StepStat): string =>
  [
    `${stat.executions}×`,
    stat.p50Ms !== null && `p50 ${duration(stat.p50Ms)}`,
    stat.p95Ms !== null && `p95 ${duration(stat.p95Ms)}`,
    stat.failures > 0 && `▲ ${rateOf(stat)}`,
  ]
    .filter(Boolean)
    .join(' · ')

/** `story`: of a run of a function; what it is made of is known from what it did. */
export function modelOf(
  definition: Description,
  stats: readonly StepStat[],
  story: Story | null,
  hasNumbers: boolean,
): DiagramModel {
  const byName = new Map(hasNumbers ? stats.map((stat) => [stat.name, stat]) : [])
  if (definition.kind === 'machine') return machineOf(definition, byName)
  const model =
    definition.graph === null
      ? observed(story, stats)
      : graphModel(definition.graph as unknown as Graph)
  const nodes = model.nodes.map((node) => {
    const stat = byName.get(node.id)
    return stat ? { ...node, numbers: numbersOf(stat) } : node
  })
  return { ...model, nodes }
}

/** The steps of that run in their order, and those that only others took. */
function observed(story: Story | null, stats: readonly StepStat[]): DiagramModel {
  const names = stats.map(({ name }) => name)
  const { nodes, edges } = functionModel(story ?? NO_STORY, names.slice(0, 60))
  return {
    nodes: nodes.map(({ id, label, sub, state }) =>
      state === 'unseen' ? { id, label, sub, state } : { id, label, sub },
    ),
    edges: edges.map(({ from, to, label }) => ({ from, to, label })),
  }
}

const NO_STORY: Story = { lanes: [], marks: [], from: 0, to: 0, isOver: true }

/** Places, and the transitions between them: it is these that take time. */
function machineOf(
  { places, transitions }: Description,
  stats: ReadonlyMap<string, StepStat>,
): DiagramModel {
  const nodes = places.map(({ name, isFinal }, index) => ({
    id: name,
    label: name,
    sub: isFinal ? 'end' : index === 0 ? 'begins here' : 'place',
  }))
  const edges = transitions.flatMap(({ name, from, to, runs, afterMs, errorPlace }) => {
    const stat = stats.get(name)
    const late = runs === 'late' && afterMs !== null ? ` after ${duration(afterMs)}` : ''
    const label = `${name}${late}${stat ? ` · ${numbersOf(stat)}` : ''}`
    const isWaiting = runs !== 'at once'
    const failed = errorPlace === null ? [] : [{ from, to: errorPlace, label: `${name} failed` }]
    return [...to.map((target) => ({ from, to: target, label, isWaiting })), ...failed]
  })
  return { nodes, edges }
}
