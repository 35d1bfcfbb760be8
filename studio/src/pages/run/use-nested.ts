// The lanes of a run, with those of the children that were opened below theirs.

import { useQueries } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { api } from '../../api/api.js'
import { type Lane, type Story, storyOf } from './model/story.js'

export interface NestedRow {
  /** What selects it: the name of the lane, behind the runs that it is in. */
  readonly key: string
  readonly lane: Lane
  readonly depth: number
  readonly isOpen: boolean
}

/** Of a child the first entries are shown; its own page has all. */
const ENTRIES_OF_CHILD = 500

export function useNested(lanes: readonly Lane[]): {
  readonly rows: readonly NestedRow[]
  readonly toggle: (runId: string) => void
} {
  const [open, setOpen] = useState<readonly string[]>([])
  const toggle = useCallback(
    (runId: string) =>
      setOpen((now) =>
        now.includes(runId) ? now.filter((one) => one !== runId) : [...now, runId],
      ),
    [],
  )
  const stories = useQueries({
    queries: open.map((runId) => ({
      queryKey: ['run', runId, 'nested'],
      queryFn: async () =>
        storyOf((await api().client.history(runId, { limit: ENTRIES_OF_CHILD })).items),
      refetchInterval: ({ state }: { state: { data: Story | undefined } }) =>
        state.data?.isOver ? (false as const) : 2_000,
    })),
    combine: (results) => new Map(open.map((runId, index) => [runId, results[index]?.data])),
  })
  const rows = useMemo(() => nested(lanes, stories, 0, ''), [lanes, stories])
  return { rows, toggle }
}

function nested(
  lanes: readonly Lane[],
  stories: ReadonlyMap<string, Story | undefined>,
  depth: number,
  above: string,
): NestedRow[] {
  return lanes.flatMap((lane) => {
    const isOpen = lane.runId !== null && stories.has(lane.runId)
    const row = { key: above + lane.name, lane, depth, isOpen }
    const story = isOpen && lane.runId !== null ? stories.get(lane.runId) : undefined
    if (!story) return [row]
    return [row, ...nested(story.lanes, stories, depth + 1, `${above}${lane.runId}/`)]
  })
}
