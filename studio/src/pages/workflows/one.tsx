// One definition: what it is made of, how its steps do, how to start it, its newest runs.

import { useQuery } from '@tanstack/react-query'
import type { Description, RunInfo } from 'perdure'
import { PerdureError } from '#errors'
import { api } from '../../api/api.js'
import { useStepStats } from '../../api/insight.js'
import { useRefresh } from '../../api/live.js'
import { useDefinition, useWorkers } from '../../api/queries.js'
import { Link, runPath } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { StartButton } from '../../forms/start-button.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { Icon } from '../../ui/icon.js'
import { StatusMark } from '../../ui/status.js'
import '../../ui/table.css'
import { Ago, Lasting } from '../../ui/time.js'
import { aboutRun } from '../runs/about-run.js'
import { DefinitionDiagram } from './definition-diagram.js'
import { KIND_WORDS } from './model.js'
import { StartCode } from './start-code.js'
import { Steps } from './steps.js'
import { Versions } from './versions.js'
import './workflows.css'

export function Page({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const name = params.name ?? ''
  useTitle(name)
  const { data, isPending, error } = useDefinition(name)
  if (data) return <One definition={data} />
  if (isPending) return <Skeleton lines={12} />
  return PerdureError.is(error, 'DEFINITION_UNKNOWN') ? (
    <Elsewhere name={name} />
  ) : (
    <div className="page">
      <Problem error={error} what="The definition could not be read." />
    </div>
  )
}

function One({ definition }: { readonly definition: Description }) {
  const { name, description, input } = definition
  const stats = useStepStats(name)
  const runs = useNewest(name)
  return (
    <div className="page panels">
      <Head definition={definition} />
      {description !== null && <p className="muted workflow-words">{description}</p>}
      <DefinitionDiagram
        definition={definition}
        stats={stats.data?.items ?? []}
        example={exampleOf(runs.data ?? [])}
        isRead={!stats.isPending && !runs.isPending}
      />
      <div className="workflow-columns">
        <Steps stats={stats.data} error={stats.error} />
        <div className="panels">
          <StartCode name={name} schema={input} />
          {isStored(definition) && <Versions name={name} current={definition.version} />}
          <Newest name={name} runs={runs.data} />
        </div>
      </div>
    </div>
  )
}

/** What other processes have: how its runs do is known here, and how to start one; not what it is made of. */
function Elsewhere({ name }: { readonly name: string }) {
  const versions = useVersionsAlive(name)
  const stats = useStepStats(name)
  const runs = useNewest(name)
  if (versions.length === 0) {
    return (
      <Empty title="No process has it">
        <code>{name}</code> is not among the <Link to="/workflows">workflows</Link> of this server,
        nor among those of its <Link to="/workers">workers</Link>.
      </Empty>
    )
  }
  return (
    <div className="page panels">
      <div className="page-head workflow-head">
        <h1 className="truncate">{name}</h1>
        <span className="muted">
          in another <Link to="/workers">process</Link>, version <code>{versions.join(', ')}</code>
        </span>
      </div>
      <p className="muted workflow-words">
        Its diagram and its form are where its code is. Its runs and its steps are the same from
        everywhere.
      </p>
      <div className="workflow-columns">
        <Steps stats={stats.data} error={stats.error} />
        <div className="panels">
          <StartCode name={name} schema={null} />
          <Newest name={name} runs={runs.data} />
        </div>
      </div>
    </div>
  )
}

/** A run that shows the whole way, if there is one. */
const exampleOf = (runs: readonly RunInfo[]): string | null =>
  (runs.find(({ status }) => status === 'completed') ?? runs[0])?.id ?? null

/** '#3' is version 3 of what is stored. */
const isStored = ({ kind, version }: Description): boolean =>
  kind === 'graph' && version.startsWith('#')

function Head({ definition }: { readonly definition: Description }) {
  const { name, kind, version } = definition
  const versions = useVersionsAlive(name)
  const others = versions.filter((one) => one !== version)
  return (
    <div className="page-head workflow-head">
      <h1 className="truncate" title={name}>
        {name}
      </h1>
      <span className="muted">
        {KIND_WORDS[kind]}, version <code>{version}</code>
      </span>
      {others.length > 0 && (
        <span className="timed_out" title="Workers have other versions of it: a deploy goes on">
          also {others.join(', ')}
        </span>
      )}
      <span className="grow" />
      {isStored(definition) && (
        <Link to={`/builder/${encodeURIComponent(name)}`} className="button">
          <Icon name="builder" size={14} /> Open in the builder
        </Link>
      )}
      <StartButton workflow={name} />
    </div>
  )
}

/** Those that processes have which are there now. */
function useVersionsAlive(name: string): readonly string[] {
  const alive = useWorkers().data?.filter(({ isAlive }) => isAlive) ?? []
  const versions = alive.flatMap(({ workflows }) =>
    workflows.filter((one) => one.name === name).map(({ version }) => version),
  )
  return [...new Set(versions)]
}

function useNewest(name: string) {
  return useQuery<readonly RunInfo[]>({
    queryKey: ['overview', 'of', name],
    queryFn: async () => (await api().client.list({ workflow: name, limit: 8 })).items,
    refetchInterval: useRefresh(3_000),
  })
}

function Newest({
  name,
  runs,
}: {
  readonly name: string
  readonly runs: readonly RunInfo[] | undefined
}) {
  return (
    <section className="panel" aria-label="Newest runs">
      <div className="panel-head">
        <h2 className="grow">Newest runs</h2>
        <Link to={`/runs?workflow=${encodeURIComponent(name)}`}>all</Link>
      </div>
      {!runs && <Skeleton lines={4} />}
      {runs?.length === 0 && <p className="workflow-none faint">It has not run yet.</p>}
      <ul>
        {runs?.map((run) => (
          <li key={run.id} className="workflow-line">
            <StatusMark status={run.status} />
            <Link to={runPath(run.id)} className="truncate mono" title={run.id}>
              {run.id}
            </Link>
            <span className="truncate grow muted" title={aboutRun(run)}>
              {aboutRun(run)}
            </span>
            <span className="faint">
              {run.startedAt && <Lasting from={run.startedAt} to={run.finishedAt} />}
            </span>
            <span className="faint">
              <Ago at={run.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
