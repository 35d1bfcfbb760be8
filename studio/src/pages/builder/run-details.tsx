// What a run did at one node: each time with its input, its output, how long and what went wrong. Without a node: the run.

import type { LoggedNode, RunInfo } from 'perdure'
import { Link, runPath } from '../../app/router.js'
import { TRIGGER } from '../../diagram/index.js'
import { duration } from '../../lib/format.js'
import { StatusMark } from '../../ui/status.js'
import type { Status } from '../../ui/statuses.js'
import { ValueView } from '../../ui/value.js'

export function RunDetails({
  run,
  log,
  node,
}: {
  readonly run: RunInfo
  readonly log: readonly LoggedNode[]
  readonly node: string | undefined
}) {
  const own = log.filter((one) => one.node === node)
  return (
    <aside className="builder-properties" aria-label="Details">
      <div className="properties">
        {node === undefined || node === TRIGGER ? (
          <WholeRun run={run} />
        ) : (
          <>
            <h2>{node}</h2>
            {own.length === 0 && <p className="muted">It leads on, and does nothing itself.</p>}
            {own.map((one, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the log only grows
              <Execution key={index} log={one} isOne={own.length === 1} />
            ))}
          </>
        )}
      </div>
    </aside>
  )
}

function WholeRun({ run }: { readonly run: RunInfo }) {
  return (
    <>
      <h2>The run</h2>
      <p className="muted small">Choose a node to see what it was given and what it gave.</p>
      <Part name="Input" value={run.input} />
      {run.status === 'completed' && <Part name="Output" value={run.output} />}
      {run.error && <Failure message={run.error.message} name={run.error.name} />}
    </>
  )
}

/** As the words of runs are; a node that was left out says so. */
function StateOf({ status }: { readonly status: LoggedNode['status'] }) {
  if (status === 'skipped') return <span className="faint">skipped</span>
  return <StatusMark status={status as Status} />
}

function Execution({ log, isOne }: { readonly log: LoggedNode; readonly isOne: boolean }) {
  const { status, path, attempt, durationMs, input, output, error, child } = log
  return (
    <section className="execution">
      <div className="row wrap">
        <StateOf status={status} />
        {!isOne && path !== '' && <code className="faint">{path}</code>}
        {durationMs !== null && <span className="muted">{duration(durationMs)}</span>}
        {attempt > 1 && <span className="muted">attempt {attempt}</span>}
        {child !== null && <Link to={runPath(child)}>its run</Link>}
      </div>
      {error !== null && <Failure message={error.message} name={error.name} />}
      {input !== undefined && <Part name="Input" value={input} />}
      {output !== undefined && <Part name="Output" value={output} />}
    </section>
  )
}

function Failure({ name, message }: { readonly name: string; readonly message: string }) {
  return (
    <p className="execution-error">
      <strong>{name}</strong> {message}
    </p>
  )
}

function Part({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <div>
      <h3>{name}</h3>
      <ValueView value={value} />
    </div>
  )
}
