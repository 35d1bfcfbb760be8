// How many may run at once: slots that are used, who has them, who waits for one.

import type { LimitedRun, LimitInfo } from 'perdure'
import { Fragment, useState } from 'react'
import { useLimitRuns } from '../../api/insight.js'
import { useLimits } from '../../api/queries.js'
import { Link, runPath } from '../../app/router.js'
import { count, duration } from '../../lib/format.js'
import { Button } from '../../ui/button.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { Ago } from '../../ui/time.js'

export function Limits() {
  const limits = useLimits()
  return (
    <section className="panel" aria-label="Limits">
      <div className="panel-head">
        <h2>Limits</h2>
      </div>
      {limits.isError && <Problem error={limits.error} what="The limits could not be read." />}
      {limits.isPending && <Skeleton lines={3} />}
      {limits.data?.length === 0 && (
        <Empty
          title="No limits yet"
          command="workflow('charge', { limits: { concurrency: 10 } }, …)"
        >
          A limit says how many runs of a definition, of a workspace or of a customer go at once.
          The others wait here for their turn.
        </Empty>
      )}
      {limits.data && limits.data.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Of</th>
              <th scope="col">Slots</th>
              <th scope="col">Rate</th>
              <th scope="col" className="number">
                Waiting
              </th>
              <th scope="col">
                <span className="hidden">Runs</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {limits.data.map((limit) => (
              <LimitRow key={keyOf(limit)} limit={limit} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

const keyOf = ({ kind, workflow, name }: LimitInfo): string =>
  JSON.stringify([kind, workflow, name])

function LimitRow({ limit }: { readonly limit: LimitInfo }) {
  const [isOpen, setOpen] = useState(false)
  const { used, waiting, rate } = limit
  const isHeld = used + waiting > 0
  return (
    <Fragment>
      <tr>
        <td>
          <LimitName limit={limit} />
        </td>
        <td data-label="Slots">
          <Slots limit={limit} />
        </td>
        <td data-label="Rate" className="tight muted">
          {rate !== null && `${count(rate.runs)} each ${duration(rate.perMs)}`}
        </td>
        <td data-label="Waiting" className={waiting > 0 ? 'number waiting' : 'number faint'}>
          {count(waiting)}
        </td>
        <td className="tight">
          {isHeld && (
            <Button
              look="quiet"
              icon={isOpen ? 'down' : 'right'}
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              Who
            </Button>
          )}
        </td>
      </tr>
      {isOpen && isHeld && (
        <tr>
          <td colSpan={5}>
            <Who limit={limit} />
          </td>
        </tr>
      )}
    </Fragment>
  )
}

function LimitName({ limit: { kind, workflow, name } }: { readonly limit: LimitInfo }) {
  if (kind === 'workspace') {
    return (
      <span>
        <span className="muted">workspace</span> <strong>{name}</strong>
      </span>
    )
  }
  return (
    <span>
      <Link to={`/workflows/${encodeURIComponent(workflow ?? '')}`}>{workflow}</Link>
      {kind === 'key' && (
        <>
          {' '}
          <span className="muted">for</span> <code>{name}</code>
        </>
      )}
    </span>
  )
}

function Slots({ limit: { used, limit } }: { readonly limit: LimitInfo }) {
  if (limit === null) return <span className="muted">{count(used)} running</span>
  const isFull = used >= limit
  return (
    <span className="slots">
      <meter min={0} max={limit} value={used} className={isFull ? 'is-full' : ''}>
        {used} of {limit}
      </meter>
      <span className={isFull ? '' : 'muted'}>
        {count(used)} of {count(limit)} used
      </span>
    </span>
  )
}

function Who({ limit }: { readonly limit: LimitInfo }) {
  const { data, isPending, isError, error } = useLimitRuns(limit, true)
  if (isError) return <Problem error={error} what="The runs could not be read." />
  if (isPending) return <Skeleton lines={2} />
  if (!data) return <p className="faint">This server does not say who.</p>
  return (
    <div className="who">
      <RunNames title="Have a slot" runs={data.holders} none="Nobody any more." />
      <RunNames title="Wait for one" runs={data.waiters} none="Nobody waits." />
    </div>
  )
}

function RunNames({
  title,
  runs,
  none,
}: {
  readonly title: string
  readonly runs: readonly LimitedRun[]
  readonly none: string
}) {
  return (
    <div className="grow">
      <h3>{title}</h3>
      {runs.length === 0 && <p className="faint">{none}</p>}
      <ul>
        {runs.map(({ id, workspace, since }) => (
          <li key={`${workspace} ${id}`} className="row">
            <Link to={runPath(id)} className="truncate mono">
              {id}
            </Link>
            <span className="faint small">
              <Ago at={since} />
            </span>
          </li>
        ))}
      </ul>
      {runs.length >= 20 && <p className="faint small">the first 20</p>}
    </div>
  )
}
