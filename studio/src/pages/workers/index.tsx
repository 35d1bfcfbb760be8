// Who executes runs, and where runs have to wait for a slot.

import type { WorkerInfo } from 'perdure'
import { useWorkers } from '../../api/queries.js'
import { Link } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { count } from '../../lib/format.js'
import { CopyId } from '../../ui/copy.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import '../../ui/status.css'
import '../../ui/table.css'
import { Ago, Countdown } from '../../ui/time.js'
import { Limits } from './limits.js'
import './workers.css'

export function Page() {
  useTitle('Workers')
  const workers = useWorkers()
  return (
    <div className="page panels">
      <div className="page-head workers-head">
        <h1>Workers and limits</h1>
      </div>
      <section className="panel" aria-label="Workers">
        <div className="panel-head">
          <h2>Workers</h2>
        </div>
        {workers.isError && <Problem error={workers.error} what="The workers could not be read." />}
        {workers.isPending && <Skeleton lines={3} />}
        {workers.data?.length === 0 && (
          <Empty title="No worker is there" command="await createEngine({ workflows: [order] })">
            Runs are kept and wait. They move as soon as a process with their code has started.
          </Empty>
        )}
        {workers.data && workers.data.length > 0 && <WorkerTable workers={workers.data} />}
      </section>
      <Limits />
    </div>
  )
}

function WorkerTable({ workers }: { readonly workers: readonly WorkerInfo[] }) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th scope="col">Process</th>
          <th scope="col">State</th>
          <th scope="col">Definitions</th>
          <th scope="col" className="number">
            Runs held
          </th>
          <th scope="col">Started</th>
          <th scope="col">Lease</th>
        </tr>
      </thead>
      <tbody>
        {workers.map((worker) => (
          <WorkerRow key={worker.id} worker={worker} />
        ))}
      </tbody>
    </table>
  )
}

function WorkerRow({ worker }: { readonly worker: WorkerInfo }) {
  const { id, build, isAlive, startedAt, leaseUntil, runs, workflows } = worker
  return (
    <tr>
      <td className="worker-id">
        <CopyId id={id} label="id of the worker" />
        {build !== '' && <span className="faint small">build {build}</span>}
      </td>
      <td
        data-label="State"
        className="tight"
        title={isAlive ? undefined : 'Its lease has ended: its runs go on elsewhere'}
      >
        <span className={isAlive ? 'status completed' : 'status failed'}>
          <span className={isAlive ? 'worker-dot' : 'worker-dot is-gone'} aria-hidden="true" />
          {isAlive ? 'alive' : 'gone'}
        </span>
      </td>
      <td data-label="Definitions">
        <span className="chips">
          {workflows.map(({ name, version }) => (
            <Link
              key={name}
              to={`/workflows/${encodeURIComponent(name)}`}
              className="chip"
              title={`version ${version}`}
            >
              {name}
            </Link>
          ))}
        </span>
      </td>
      <td data-label="Runs held" className="number">
        {count(runs)}
      </td>
      <td data-label="Started" className="tight muted">
        <Ago at={startedAt} />
      </td>
      <td data-label="Lease" className="tight muted">
        {isAlive ? (
          <span>
            ends <Countdown to={leaseUntil} />, if not renewed
          </span>
        ) : (
          <span>
            ended <Ago at={leaseUntil} />
          </span>
        )}
      </td>
    </tr>
  )
}
