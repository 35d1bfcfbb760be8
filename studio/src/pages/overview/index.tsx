// The first page: how it goes, and what needs a person.

import type { RunCount } from 'perdure'
import { useStats, useWorkers } from '../../api/queries.js'
import { Link } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { count, plural } from '../../lib/format.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { STATUS_WORDS, STATUSES, StatusShape } from '../../ui/status.js'
import './overview.css'

export function Page() {
  useTitle('Overview')
  const stats = useStats()
  const isEmpty = stats.data?.length === 0
  return (
    <div className="page stack">
      <div className="page-head">
        <h1>Overview</h1>
        <Workers />
      </div>
      {stats.isError && <Problem error={stats.error} what="The runs could not be counted." />}
      {stats.isPending && <Skeleton lines={3} />}
      {isEmpty && (
        <Empty
          title="Nothing has run yet"
          command={'npx perdure run order --input \'{"id":"o-1"}\''}
        >
          Runs by status, what they do and what needs you will be here.
        </Empty>
      )}
      {stats.data && !isEmpty && <Counts stats={stats.data} />}
    </div>
  )
}

function Workers() {
  const { data } = useWorkers()
  if (!data) return null
  const alive = data.filter(({ isAlive }) => isAlive).length
  return (
    <span className={alive > 0 ? 'muted' : 'failed'}>
      {alive > 0 ? plural(alive, 'worker') : 'No worker is there: nothing moves'}
    </span>
  )
}

function Counts({ stats }: { readonly stats: readonly RunCount[] }) {
  return (
    <ul className="counts">
      {STATUSES.map((status) => {
        const runs = stats.reduce((sum, one) => sum + (one.status === status ? one.runs : 0), 0)
        return (
          <li key={status}>
            <Link to={`/runs?status=${status}`} className={runs > 0 ? 'count' : 'count is-none'}>
              <span className={`status ${status}`}>
                <StatusShape status={status} /> {STATUS_WORDS[status]}
              </span>
              <strong>{count(runs)}</strong>
            </Link>
          </li>
        )
      })}
    </ul>
  )
}
