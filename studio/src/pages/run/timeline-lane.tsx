import { cut, duration } from '../../lib/format.js'
import { IconButton } from '../../ui/button.js'
import { StatusShape } from '../../ui/status.js'
import type { Status } from '../../ui/statuses.js'
import { type Axis, xOf } from './model/axis.js'
import { type Lane, type Span, stateOf } from './model/story.js'
import type { NestedRow } from './use-nested.js'

const SPAN_WORDS: Readonly<Record<Span['kind'], string>> = {
  attempt: 'attempt',
  backoff: 'waits for the next attempt',
  wait: 'waits',
  sleep: 'sleeps',
  child: 'child run',
  place: 'at',
}
const STATUS_OF: Readonly<Record<Span['state'], Status>> = {
  open: 'running',
  done: 'completed',
  failed: 'failed',
  withdrawn: 'cancelled',
}
const RESTS: readonly Lane['kind'][] = ['wait', 'sleep', 'places']
const STATE_WORDS = { open: 'open', done: 'done', failed: 'failed', withdrawn: 'withdrawn' }

export function TimelineLane({
  row,
  axis,
  end,
  y,
  isSelected,
  onSelect,
  onToggle,
}: {
  readonly row: NestedRow
  readonly axis: Axis
  readonly end: number
  readonly y: number
  readonly isSelected: boolean
  readonly onSelect: (key: string) => void
  readonly onToggle: (runId: string) => void
}) {
  const { lane, key, depth, isOpen } = row
  const state = stateOf(lane)
  const rests = state === 'open' && RESTS.includes(lane.kind)
  const { runId } = lane
  return (
    <li
      className="timeline-lane"
      style={{ transform: `translateY(${y}px)`, width: `calc(var(--names) + ${axis.width}px)` }}
      data-selected={isSelected}
    >
      <div className="timeline-name" style={{ paddingLeft: 4 + depth * 16 }}>
        {lane.kind === 'child' && runId !== null ? (
          <IconButton
            label={isOpen ? `Hide the steps of ${lane.name}` : `Show the steps of ${lane.name}`}
            icon={isOpen ? 'down' : 'right'}
            aria-expanded={isOpen}
            onClick={() => onToggle(runId)}
          />
        ) : (
          <span className="timeline-indent" />
        )}
        <button
          type="button"
          className="timeline-select truncate"
          aria-pressed={isSelected}
          title={lane.name}
          onClick={() => onSelect(key)}
        >
          <StatusShape status={rests ? 'waiting' : STATUS_OF[state]} />
          <span className="truncate">{cut(lane.name, 80)}</span>
          <span className="hidden">, {STATE_WORDS[state]}</span>
        </button>
      </div>
      <Spans lane={lane} axis={axis} end={end} />
    </li>
  )
}

function Spans({
  lane,
  axis,
  end,
}: {
  readonly lane: Lane
  readonly axis: Axis
  readonly end: number
}) {
  let drawnTo = -1
  return lane.spans.map((span) => {
    const from = xOf(axis, span.from)
    const to = Math.max(from + (span.kind === 'backoff' ? 0 : 3), xOf(axis, span.to ?? end))
    // Thousands of attempts in a pixel are one.
    if (to <= drawnTo + 0.5) return null
    drawnTo = to
    return (
      <span
        key={`${span.kind} ${span.seq} ${span.from}`}
        className={`span is-${span.kind} is-${span.state}`}
        title={titleOf(span, end)}
        style={{ left: `calc(var(--names) + ${from}px)`, width: to - from }}
      >
        {span.kind === 'place' && to - from > 40 ? span.label : null}
      </span>
    )
  })
}

function titleOf(span: Span, end: number): string {
  const lasted = duration((span.to ?? end) - span.from)
  const which = span.kind === 'attempt' ? `attempt ${span.attempt}` : SPAN_WORDS[span.kind]
  const what = span.kind === 'place' ? `at ${span.label}` : which
  return `${what}, ${STATE_WORDS[span.state]}, ${lasted}`
}
