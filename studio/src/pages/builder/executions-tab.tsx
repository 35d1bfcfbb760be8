// The runs of this graph, newest first. The chosen one lies over the canvas, node by node, also while it runs.

import type { RunInfo } from 'perdure'
import { useMemo, useState } from 'react'
import { Link, runPath, useSearch } from '../../app/router.js'
import { Diagram, graphModel, Outline } from '../../diagram/index.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { StatusMark, StatusShape } from '../../ui/status.js'
import { REASON_WORDS } from '../../ui/statuses.js'
import { Ago, Lasting } from '../../ui/time.js'
import { useRunsOf, useVersion } from './queries.js'
import { RunDetails } from './run-details.js'
import { useEditing } from './use-editor.js'
import { useNarrow } from './use-narrow.js'
import { useWatch } from './use-watch.js'

export function ExecutionsTab() {
  const { graph } = useEditing()
  const runs = useRunsOf(graph.id)
  const [search, setSearch] = useSearch()
  const chosen = search.get('run') ?? runs.data?.[0]?.id ?? null
  if (runs.isPending) return <Skeleton lines={8} />
  if (chosen === null) {
    return (
      <Empty title="It has not run yet">Its runs are here, newest first. Run starts one.</Empty>
    )
  }
  return (
    <div className="builder-work">
      <aside className="builder-palette" aria-label="Runs">
        {(runs.data ?? []).map((run) => (
          <RunItem
            key={run.id}
            run={run}
            isChosen={run.id === chosen}
            onClick={() => setSearch({ run: run.id })}
          />
        ))}
      </aside>
      <Overlay key={chosen} id={chosen} />
    </div>
  )
}

function RunItem({
  run,
  isChosen,
  onClick,
}: {
  readonly run: RunInfo
  readonly isChosen: boolean
  readonly onClick: () => void
}) {
  return (
    <button type="button" className="version-item" aria-pressed={isChosen} onClick={onClick}>
      <span className="row">
        <StatusShape status={run.status} />
        <strong className="truncate">{run.id}</strong>
        <span className="hidden">{run.status}</span>
      </span>
      <span className="small muted">
        {run.version} · <Ago at={run.createdAt} /> ·{' '}
        <Lasting from={run.createdAt} to={run.finishedAt} />
      </span>
    </button>
  )
}

/** '#3' is version 3 of what is stored. */
const versionOf = (run: RunInfo | null | undefined): number | null =>
  run?.version.startsWith('#') ? Number(run.version.slice(1)) : null

function Overlay({ id }: { readonly id: string }) {
  const watched = useWatch(id)
  const { run, log } = watched.data ?? { run: null, log: [] }
  const version = useVersion(run?.workflow ?? '', versionOf(run))
  const [selected, setSelected] = useState<readonly string[]>([])
  const isNarrow = useNarrow()
  const graph = version.data?.graph
  const model = useMemo(
    () => graph && graphModel(graph, { log, isOver: run?.finishedAt != null }),
    [graph, log, run],
  )
  if (watched.isError) return <Problem error={watched.error} what="The run could not be read." />
  if (!run || !model) return <Skeleton lines={8} />
  return (
    <>
      <div className="builder-canvas">
        <div className="comparison-head" role="status">
          <StatusMark status={run.status} />
          {run.status === 'waiting' && <span>{REASON_WORDS[run.reason]}</span>}
          <strong className="truncate">{run.id}</strong>
          <span className="muted">version {versionOf(run)}</span>
          <Lasting from={run.createdAt} to={run.finishedAt} />
          <span className="grow" />
          <Link to={runPath(run.id)}>All about this run</Link>
        </div>
        {isNarrow ? (
          <Outline model={model} selected={selected} onSelect={setSelected} />
        ) : (
          <Diagram model={model} label="Run" selected={selected} onSelect={setSelected} />
        )}
      </div>
      <RunDetails run={run} log={log} node={selected[0]} />
    </>
  )
}
