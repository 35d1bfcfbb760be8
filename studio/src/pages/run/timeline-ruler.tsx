import { duration } from '../../lib/format.js'
import { type Axis, ticksOf, xOf } from './model/axis.js'
import type { Mark } from './model/story.js'

const MARK_WORDS: Readonly<Record<string, string>> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.timed_out': 'timed out',
  'run.reopened': 're-opened',
  'run.stopping': 'stopping',
  'run.diverged': 'code differs',
}
const STATUS_OF: Readonly<Record<string, string>> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.timed_out': 'timed_out',
  'run.diverged': 'timed_out',
}

/** The time since the beginning, the tears with what they leave out, and what happened to the run itself. */
export function TimelineRuler({
  axis,
  marks,
}: {
  readonly axis: Axis
  readonly marks: readonly Mark[]
}) {
  return (
    <div className="timeline-ruler" style={{ width: `calc(var(--names) + ${axis.width}px)` }}>
      {ticksOf(axis).map((at) => (
        <span key={at} className="timeline-tick" style={leftOf(xOf(axis, at))}>
          {at === axis.from ? '0' : duration(at - axis.from)}
        </span>
      ))}
      {axis.segments.map(({ isTorn, from, to, x, width }) =>
        isTorn ? (
          <span key={from} className="timeline-tear" style={{ ...leftOf(x), width }}>
            {duration(to - from)}
          </span>
        ) : null,
      )}
      {marks.map(({ kind, at, seq }) => (
        <span
          key={seq}
          className={`timeline-mark ${STATUS_OF[kind] ?? 'pending'}`}
          title={MARK_WORDS[kind] ?? kind}
          style={leftOf(xOf(axis, at))}
        />
      ))}
    </div>
  )
}

const leftOf = (x: number): React.CSSProperties => ({ left: `calc(var(--names) + ${x}px)` })
