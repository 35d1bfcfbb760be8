// The first page: how it goes, and what needs a person.

import type { RunCount } from 'perdure'
import { useStats, useWorkers } from '../../api/queries.js'
import { Link } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { StartButton } from '../../forms/start-button.js'
import { count, plural } from '../../lib/format.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { StatusShape } from '../../ui/status.js'
import { STATUS_WORDS, STATUSES } from '../../ui/statuses.js'
import { ActivityChart } from './activity-chart.js'
import { RunLists } from './lists.js'
import './overview.css'

export function Page() {
  useTitle('Overview')
  const stats = useStats()
  const isEmpty = stats.data?.length === 0
  return (
    <div className="page overview">
      <div className="page-head">
        <h1>Overview</h1>
        <Workers />
        <span className="grow" />
        <StartButton />
      </div>
      {stats.isError && <Problem error={stats.error} what="The runs could not be counted." />}
      {stats.isPending && <Skeleton lines={3} />}
      {isEmpty && (
        <Empty
          title="Nothing has run yet"
          command={'npx perdure run order --input \'{"id":"o-1"}\''}
        >
          Runs by status, how many there were by time and what needs you will be here.
        </Empty>
      )}
      {stats.data && !isEmpty && (
        <>
          <Counts stats={stats.data} />
          <ActivityChart />
          <RunLists />
        </>
      )}
    </div>
  )
}

function Workers() {
  const { data } = useWorkers()
  if (!data) return null
  const alive = data.filter(({ isAlive }) => isAlive)
  const held = alive.reduce((sum, { runs }) => sum + runs, 0)
  if (alive.length === 0) return <span className="failed">No worker is there: nothing moves</span>
  return (
    <span className="muted">
      {plural(alive.length, 'worker')}, {held === 0 ? 'idle' : `${plural(held, 'run')} in hand`}
    </span>
  )
}

function Counts({ stats }: { readonly stats: readonly RunCount[] }) {
  return (
    <ul className="counts" aria-label="Runs by status">
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
