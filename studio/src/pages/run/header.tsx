// What it is, why it is not moving, and what can be done now.

import type { RunInfo } from 'perdure'
import { Fragment } from 'react'
import { useExplanation } from '../../api/queries.js'
import { Link, runPath } from '../../app/router.js'
import { CopyId } from '../../ui/copy.js'
import { StatusMark } from '../../ui/status.js'
import { At, Countdown, Lasting } from '../../ui/time.js'
import { STYLES } from '../runs/filters.js'
import { Actions } from './actions.js'
import { isOver, retryDueAt } from './model/standing.js'
import { Offers } from './offers.js'
import type { Moment } from './use-moment.js'

export function Header({ run, moment }: { readonly run: RunInfo; readonly moment: Moment }) {
  return (
    <header className="run-head">
      <div className="run-title">
        <StatusMark status={run.status} />
        <h1>
          <CopyId id={run.id} />
        </h1>
        <Facts run={run} />
        <Actions run={run} moment={moment} />
      </div>
      <Why run={run} />
      {moment.seq === null && <Offers run={run} />}
    </header>
  )
}

function Facts({ run }: { readonly run: RunInfo }) {
  const { workflow, version, kind, startedAt, finishedAt, createdAt, parentId, tags } = run
  return (
    <ul className="run-facts">
      <li>
        <Link to={`/runs?workflow=${encodeURIComponent(workflow)}`}>{workflow}</Link>{' '}
        <span title="Version and style">
          v{version} · {STYLES[kind]}
        </span>
      </li>
      <li>
        {startedAt ? 'started' : 'created'} <At at={startedAt ?? createdAt} />
      </li>
      {startedAt && (
        <li>
          {isOver(run.status) ? 'took' : 'for'} <Lasting from={startedAt} to={finishedAt} />
        </li>
      )}
      {run.attempt > 1 && <li>opened {run.attempt} times</li>}
      {run.workspace !== 'default' && <li>workspace {run.workspace}</li>}
      {parentId !== null && (
        <li>
          child of <Link to={runPath(parentId)}>{parentId}</Link>
        </li>
      )}
      {Object.entries(tags).map(([name, value]) => (
        <li key={name}>
          <Link
            className="tag"
            to={`/runs?tag=${encodeURIComponent(`${name}:${value}`)}`}
          >{`${name}:${value}`}</Link>
        </li>
      ))}
    </ul>
  )
}

const QUIET = ['running', 'completed']

function Why({ run }: { readonly run: RunInfo }) {
  const { data } = useExplanation(run.id, !QUIET.includes(run.status))
  const dueAt = retryDueAt(run)
  if (QUIET.includes(run.status) || !data) return null
  return (
    <p className="run-why">
      <Sentence text={data.sentence} />
      {dueAt !== null && (
        <strong>
          {' '}
          It is tried again by itself <Countdown to={dueAt} />.
        </strong>
      )}
    </p>
  )
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** Moments in it as people read them. */
function Sentence({ text }: { readonly text: string }) {
  return text.split(INSTANT).map((part, index) =>
    INSTANT.test(part) ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a sentence have no other name
      <Fragment key={index}>
        <At at={new Date(part)} />
      </Fragment>
    ) : (
      part
    ),
  )
}
