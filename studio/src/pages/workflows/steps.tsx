// How often each step ran, how often it failed for good, and how long it took.

import type { StepStats } from 'perdure'
import { count, duration, plural } from '../../lib/format.js'
import { Problem, Skeleton } from '../../ui/empty.js'
import { rateOf } from './model.js'

export function Steps({
  stats,
  error,
}: {
  /** null: this server does not count them. */
  readonly stats: StepStats | null | undefined
  readonly error: unknown
}) {
  return (
    <section className="panel" aria-label="Steps">
      <div className="panel-head">
        <h2 className="grow">Steps</h2>
        {stats && stats.runs > 0 && (
          <span className="faint small">
            of {stats.isWhole ? '' : 'the newest '}
            {plural(stats.runs, 'finished run')}
          </span>
        )}
      </div>
      {error !== null && <Problem error={error} what="They could not be counted." />}
      {stats === undefined && error === null && <Skeleton lines={4} />}
      {stats && stats.items.length > 0 && <StepTable items={stats.items} />}
      {(stats === null || stats?.items.length === 0) && (
        <p className="workflow-none faint">
          How often each step ran and failed, and how long it took, is here when a run has ended.
        </p>
      )}
    </section>
  )
}

function StepTable({ items }: { readonly items: StepStats['items'] }) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th scope="col">Name</th>
          {['Ran', 'Failed', 'Retries', 'p50', 'p95'].map((title) => (
            <th key={title} scope="col" className="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((stat) => (
          <tr key={stat.name}>
            <td className="workflow-step">{stat.name}</td>
            <td data-label="Ran" className="number tight">
              {count(stat.executions)}
            </td>
            <td
              data-label="Failed"
              className={stat.failures > 0 ? 'number tight failed' : 'number tight faint'}
              title={`${count(stat.failures)} of ${count(stat.executions)}`}
            >
              {rateOf(stat)}
            </td>
            <td
              data-label="Retries"
              className={stat.retries > 0 ? 'number tight' : 'number tight faint'}
            >
              {count(stat.retries)}
            </td>
            <td data-label="p50" className="number tight muted">
              {stat.p50Ms === null ? '–' : duration(stat.p50Ms)}
            </td>
            <td data-label="p95" className="number tight muted">
              {stat.p95Ms === null ? '–' : duration(stat.p95Ms)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
