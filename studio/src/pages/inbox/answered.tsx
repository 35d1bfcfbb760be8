// What a run did with an answer.

import { useQuery } from '@tanstack/react-query'
import type { JournalEntry } from 'perdure'
import { useMemo } from 'react'
import { api } from '../../api/api.js'
import { useRun } from '../../api/queries.js'
import { Link, runPath } from '../../app/router.js'
import { inline } from '../../lib/values.js'
import { Icon } from '../../ui/icon.js'
import { StatusMark, StatusShape } from '../../ui/status.js'
import { type Lane, stateOf, storyOf } from '../run/model/story.js'
import { aboutRun } from '../runs/about-run.js'
import type { Answered } from './index.js'

const FOLLOW_MS = 1_000

export function AnsweredView({ answered: { item, answer } }: { readonly answered: Answered }) {
  const run = useRun(item.id).data
  const isOver = run?.finishedAt != null
  const journal = useQuery({
    queryKey: ['run', item.id, 'since', item.since],
    queryFn: async () => {
      const newest = await api().client.history(item.id, { limit: 100, order: 'newest' })
      return newest.items.toReversed()
    },
    refetchInterval: isOver ? false : FOLLOW_MS,
  })
  const next = useMemo(() => lanesSince(journal.data ?? [], item.since), [journal.data, item.since])
  return (
    <article className="inbox-answered" aria-label={`${item.workflow} ${item.id}, answered`}>
      <Icon name="check" size={14} />
      <span>
        <Link to={runPath(item.id)}>{item.id}</Link> has taken <strong>{answer}</strong>
      </span>
      <ol className="inbox-next" aria-label="What it did next">
        {next.map((lane) => (
          <li key={lane.name}>
            <StatusShape status={SHAPES[stateOf(lane)]} /> {lane.name}
          </li>
        ))}
      </ol>
      <span className="grow" />
      {run && (
        <span className="row muted">
          <StatusMark status={run.status} />
          <span className="truncate">
            {run.status === 'completed' ? inline(run.output, 80) : aboutRun(run)}
          </span>
        </span>
      )}
    </article>
  )
}

const SHAPES = {
  open: 'running',
  done: 'completed',
  failed: 'failed',
  withdrawn: 'cancelled',
} as const

/** What began behind the moment at which it asked; places are told by its status. */
function lanesSince(entries: readonly JournalEntry[], since: Date): readonly Lane[] {
  const { lanes } = storyOf(entries)
  return lanes.filter(
    ({ kind, spans }) => kind !== 'places' && (spans[0]?.from ?? 0) > since.getTime(),
  )
}
