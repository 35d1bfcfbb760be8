// The diagram of a run: the same for machines, graphs and functions.

import { useQuery } from '@tanstack/react-query'
import type { RunInfo } from 'perdure'
import { useMemo } from 'react'
import { api } from '../../../api/api.js'
import { useDefinition } from '../../../api/queries.js'
import { Diagram as Drawn } from '../../../diagram/index.js'
import { Empty } from '../../../ui/empty.js'
import type { Story } from '../model/story.js'
import type { Then } from '../model/then.js'
import type { Moment } from '../use-moment.js'
import { functionModel, graphModel, machineModel, type RunModel } from './model.js'

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
  if (model.nodes.length === 0) {
    return <Empty title="It has not done anything yet">Its steps appear here as they happen.</Empty>
  }
  return (
    <Drawn
      model={model}
      label="Diagram"
      direction={isNarrow ? 'TB' : 'LR'}
      onSelect={([id]) => {
        const select = model.nodes.find((node) => node.id === id)?.select ?? null
        if (select !== null) onSelect(select)
      }}
    />
  )
}

function useModel(run: RunInfo, story: Story, then: Then, moment: Moment): RunModel {
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
    return graphModel(
      definition.data?.graph ?? null,
      log.data ?? [],
      until,
      run.finishedAt !== null,
    )
  }, [run.kind, run.finishedAt, isGraph, definition.data, moment, then, story, others, log.data])
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
