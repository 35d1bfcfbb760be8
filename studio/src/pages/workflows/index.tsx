// All definitions, of all styles, and how their runs go.

import type { Description, RunCount, StoredGraph } from 'perdure'
import { useState } from 'react'
import { useDefinitions, useElsewhere, useStats } from '../../api/queries.js'
import { useKeys } from '../../app/keys.js'
import { Link } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { count } from '../../lib/format.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import '../../ui/field.css'
import { StatusShape } from '../../ui/status.js'
import '../../ui/table.css'
import { useGraphs } from '../builder/queries.js'
import { KIND_WORDS, workflowPath } from './model.js'
import './workflows.css'

export function Page() {
  useTitle('Workflows')
  const definitions = useDefinitions()
  const [text, setText] = useState('')
  useKeys({ '/': () => document.getElementById('workflows-text')?.focus() })
  const graphs = useGraphs()
  const elsewhere = useElsewhere()
  const known = definitions.data && [
    ...definitions.data,
    ...storedOnly(graphs.data ?? [], definitions.data),
  ]
  const all =
    known &&
    [...known, ...elsewhereOnly(elsewhere.data ?? [], known)].toSorted(
      (a, b) => rankOf(a) - rankOf(b) || order(a.name, b.name),
    )
  const shown = all?.filter(({ name, description }) =>
    `${name} ${description ?? ''}`.toLowerCase().includes(text.trim().toLowerCase()),
  )
  return (
    <div className="page">
      <div className="page-head">
        <h1>Workflows</h1>
        {all && all.length > 0 && (
          <input
            id="workflows-text"
            className="input workflows-text"
            type="search"
            aria-label="Part of the name"
            placeholder="Part of the name"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </div>
      {definitions.isError && (
        <Problem error={definitions.error} what="The definitions could not be read." />
      )}
      {definitions.isPending && <Skeleton lines={8} />}
      {all?.length === 0 && (
        <Empty title="No definitions yet" command="await createEngine({ workflows: [order] })">
          What this server can run is here: workflows, machines, graphs and tasks.
        </Empty>
      )}
      {shown && all && all.length > 0 && shown.length === 0 && (
        <Empty title="None is called that">Take away some letters.</Empty>
      )}
      {shown && shown.length > 0 && <DefinitionTable definitions={shown} />}
    </div>
  )
}

type Listed = Pick<Description, 'name' | 'description' | 'version'> & {
  /** null: only the process that has it knows. */
  readonly kind: Description['kind'] | null
}

/** Those that only other processes have: once each, with all versions. */
function elsewhereOnly(
  others: readonly Pick<Description, 'name' | 'version'>[],
  known: readonly Listed[],
): readonly Listed[] {
  const names = new Set(others.map(({ name }) => name))
  for (const { name } of known) names.delete(name)
  return [...names].map((name) => ({
    name,
    description: 'in another process',
    kind: null,
    version: others
      .filter((one) => one.name === name)
      .map(({ version }) => version)
      .join(', '),
  }))
}

/** Graphs that nobody has in code. */
function storedOnly(graphs: readonly StoredGraph[], known: readonly Listed[]): readonly Listed[] {
  const names = new Set(known.map(({ name }) => name))
  return graphs
    .filter(({ name, isArchived }) => !isArchived && !names.has(name))
    .map(({ name, version }) => ({
      name,
      description: null,
      kind: 'graph',
      version: `#${version}`,
    }))
}

const order = (a: string, b: string): number => (a < b ? -1 : 1)
/** Tasks are steps of others; what people start comes first. */
const rankOf = ({ kind }: Listed): number => (kind === 'task' ? 1 : 0)

/** What is counted together in a column, and the filter of the list of runs that shows them. */
const COLUMNS = [
  { label: 'Running', shape: 'running', statuses: ['pending', 'running'] },
  { label: 'Waiting', shape: 'waiting', statuses: ['waiting'] },
  { label: 'Completed', shape: 'completed', statuses: ['completed'] },
  { label: 'Failed', shape: 'failed', statuses: ['failed', 'timed_out'] },
] as const

function DefinitionTable({ definitions }: { readonly definitions: readonly Listed[] }) {
  const stats = useStats().data ?? []
  return (
    <div className="panel">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Style</th>
            <th scope="col">Version</th>
            {COLUMNS.map(({ label }) => (
              <th key={label} scope="col" className="number">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {definitions.map((definition) => (
            <DefinitionRow key={definition.name} definition={definition} stats={stats} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function DefinitionRow({
  definition: { name, description, kind, version },
  stats,
}: {
  readonly definition: Listed
  readonly stats: readonly RunCount[]
}) {
  return (
    <tr>
      <td>
        <span className="workflows-name">
          <Link to={workflowPath(name)}>
            <strong>{name}</strong>
          </Link>
          {description !== null && <span className="muted">{description}</span>}
        </span>
      </td>
      <td data-label="Style" className="tight muted">
        {kind === null ? '–' : KIND_WORDS[kind]}
      </td>
      <td data-label="Version" className="tight muted mono">
        {version}
      </td>
      {COLUMNS.map(({ label, shape, statuses }) => {
        const isMeant = (one: RunCount): boolean =>
          one.workflow === name && (statuses as readonly string[]).includes(one.status)
        const runs = stats.filter(isMeant).reduce((sum, one) => sum + one.runs, 0)
        const to = `/runs?workflow=${encodeURIComponent(name)}&status=${statuses.join(',')}`
        return (
          <td key={label} data-label={label} className="number tight">
            {runs === 0 ? (
              <span className="faint">0</span>
            ) : (
              <Link to={to} className={`status ${shape}`}>
                <StatusShape status={shape} /> {count(runs)}
              </Link>
            )}
          </td>
        )
      })}
    </tr>
  )
}
