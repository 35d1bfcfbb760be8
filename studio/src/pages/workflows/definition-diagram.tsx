import { useQuery } from '@tanstack/react-query'
import type { Description, StepStats } from 'perdure'
import { lazy, Suspense, useMemo, useState } from 'react'
import { api } from '../../api/api.js'
import '../../diagram/diagram.css'
import { Outline } from '../../diagram/outline.js'
import { Button } from '../../ui/button.js'
import { Skeleton } from '../../ui/empty.js'
import { useNarrow } from '../builder/use-narrow.js'
import { storyOf } from '../run/model/story.js'
import { modelOf } from './model.js'

const Diagram = lazy(async () => ({ default: (await import('../../diagram/index.js')).Diagram }))

const NOTHING: readonly string[] = []

export function DefinitionDiagram({
  definition,
  stats,
  example,
  isRead,
}: {
  readonly definition: Description
  readonly stats: StepStats['items']
  /** The id of a run that shows what a function does. */
  readonly example: string | null
  readonly isRead: boolean
}) {
  const [hasNumbers, setNumbers] = useState(true)
  const isNarrow = useNarrow()
  const isObserved = definition.kind === 'workflow' || definition.kind === 'task'
  const story = useStory(isObserved ? example : null)
  const model = useMemo(
    () => modelOf(definition, stats, story, hasNumbers),
    [definition, stats, story, hasNumbers],
  )
  if (definition.kind === 'task') return null
  return (
    <section className="panel" aria-label="Diagram">
      <div className="panel-head">
        <h2>Diagram</h2>
        <span className="faint small truncate">
          {isObserved && model.nodes.length > 0 && 'as its newest run went; dashed: others did it'}
        </span>
        <span className="grow" />
        {stats.length > 0 && (
          <Button look="quiet" aria-pressed={hasNumbers} onClick={() => setNumbers(!hasNumbers)}>
            {hasNumbers ? 'Without numbers' : 'With numbers'}
          </Button>
        )}
      </div>
      {isRead && model.nodes.length === 0 ? (
        <p className="workflow-none faint">
          A function is drawn from what its runs do. Start one, and its steps are here.
        </p>
      ) : (
        <div className={isNarrow ? 'workflow-outline' : 'workflow-diagram'}>
          {isNarrow ? (
            <Outline model={model} selected={NOTHING} onSelect={() => {}} />
          ) : (
            <Suspense fallback={<Skeleton lines={6} />}>
              <Diagram model={model} label={`Diagram of ${definition.name}`} />
            </Suspense>
          )}
        </div>
      )}
    </section>
  )
}

function useStory(runId: string | null) {
  const { data } = useQuery({
    queryKey: ['run', runId, 'story'],
    queryFn: async () => (await api().client.history(runId ?? '', { limit: 500 })).items,
    enabled: runId !== null,
  })
  return useMemo(() => (data ? storyOf(data) : null), [data])
}
