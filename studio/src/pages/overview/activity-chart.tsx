// How many runs were started and ended, by time: bars above for what went well, below for what did not.

import type { Activity, ActivityBucket } from 'perdure'
import { useState } from 'react'
import { useActivity } from '../../api/queries.js'
import { clock, count } from '../../lib/format.js'

const SPANS = [
  { label: '1 h', ms: 3_600_000 },
  { label: '24 h', ms: 86_400_000 },
  { label: '7 d', ms: 7 * 86_400_000 },
] as const
const BUCKETS = 60
const HEIGHT = 112
const BELOW = 36

const failures = ({ failed, timedOut }: ActivityBucket): number => failed + timedOut

export function ActivityChart() {
  const [spanMs, setSpanMs] = useState<number>(SPANS[0].ms)
  const { data } = useActivity(spanMs, BUCKETS)
  return (
    <figure className="panel activity">
      <figcaption className="panel-head">
        <h2>Activity</h2>
        {data && <Totals activity={data} />}
        <span className="grow" />
        <fieldset className="spans">
          <legend className="hidden">Time</legend>
          {SPANS.map(({ label, ms }) => (
            <button
              type="button"
              key={ms}
              aria-pressed={ms === spanMs}
              onClick={() => setSpanMs(ms)}
            >
              {label}
            </button>
          ))}
        </fieldset>
      </figcaption>
      {data ? <Bars activity={data} /> : <div className="activity-bars" />}
    </figure>
  )
}

function Totals({ activity }: { readonly activity: Activity }) {
  const sum = (of: (bucket: ActivityBucket) => number): number =>
    activity.items.reduce((all, bucket) => all + of(bucket), 0)
  const ended = sum(({ completed }) => completed) + sum(failures)
  const failed = sum(failures)
  const share = ended === 0 ? 0 : Math.round((failed / ended) * 1000) / 10
  return (
    <p className="muted">
      {count(sum(({ started }) => started))} started ·{' '}
      <span className="completed">{count(sum(({ completed }) => completed))} completed</span> ·{' '}
      <span className={failed > 0 ? 'failed' : ''}>
        {count(failed)} failed{failed > 0 && ` (${share} %)`}
      </span>
    </p>
  )
}

function Bars({ activity }: { readonly activity: Activity }) {
  const { items } = activity
  const most = Math.max(1, ...items.map(({ completed, started }) => Math.max(completed, started)))
  const mostFailed = Math.max(1, most / 3, ...items.map(failures))
  const up = (n: number): number => (n === 0 ? 0 : Math.max(2, (n / most) * (HEIGHT - BELOW)))
  const down = (n: number): number => (n === 0 ? 0 : Math.max(2, (n / mostFailed) * BELOW))
  const now = Date.now()
  return (
    <>
      <svg
        className="activity-bars"
        viewBox={`0 0 ${items.length * 10} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Runs by time: at most ${most} in one bar`}
      >
        {items.map((bucket, index) => (
          <g key={bucket.at.getTime()}>
            <title>{titleOf(bucket, now)}</title>
            <rect className="bar-back" x={index * 10} y={0} width={10} height={HEIGHT} />
            <rect
              className="bar-started"
              x={index * 10 + 1}
              y={HEIGHT - BELOW - up(bucket.started)}
              width={8}
              height={up(bucket.started)}
            />
            <rect
              className="bar-completed"
              x={index * 10 + 1}
              y={HEIGHT - BELOW - up(bucket.completed)}
              width={8}
              height={up(bucket.completed)}
            />
            <rect
              className="bar-failed"
              x={index * 10 + 1}
              y={HEIGHT - BELOW + 1}
              width={8}
              height={down(failures(bucket))}
            />
          </g>
        ))}
        <line
          className="bar-zero"
          x1={0}
          x2={items.length * 10}
          y1={HEIGHT - BELOW}
          y2={HEIGHT - BELOW}
        />
      </svg>
      <div className="activity-axis faint">
        <span>{clock(activity.from, now)}</span>
        <span>{clock(new Date((activity.from.getTime() + activity.to.getTime()) / 2), now)}</span>
        <span>now</span>
      </div>
    </>
  )
}

function titleOf(bucket: ActivityBucket, now: number): string {
  const { at, started, completed, cancelled } = bucket
  return `${clock(at, now)}: ${started} started, ${completed} completed, ${failures(bucket)} failed, ${cancelled} cancelled`
}
