import type { RunInfo } from 'perdure'
import { useMemo } from 'react'
import { Empty } from '../../ui/empty.js'
import { At, Countdown } from '../../ui/time.js'
import { ErrorView } from './error-view.js'
import { failuresOf } from './model/failures.js'
import type { Moment } from './use-moment.js'

const SHOWN_MAX = 200

/** Every attempt that has failed, the last first. */
export function ErrorsTab({
  run,
  moment,
  onSelect,
}: {
  readonly run: RunInfo
  readonly moment: Moment
  readonly onSelect: (name: string) => void
}) {
  const failures = useMemo(() => failuresOf(moment.entries), [moment.entries])
  if (failures.length === 0) {
    return (
      <Empty title="Nothing has failed">
        Each attempt that fails is kept here, with its stack.
      </Empty>
    )
  }
  return (
    <ol className="scroll-list">
      {failures.slice(0, SHOWN_MAX).map(({ seq, at, name, attempt, error, until }) => (
        <li key={seq} className="failure">
          <div className="row">
            {name === '' ? (
              <strong>{run.id} itself</strong>
            ) : (
              <button type="button" className="link-button" onClick={() => onSelect(name)}>
                {name}
              </button>
            )}
            {name !== '' && <span className="muted">attempt {attempt}</span>}
            <span className="grow" />
            {until && (
              <span className="muted">
                again {until.getTime() > Date.now() ? <Countdown to={until} /> : <At at={until} />}
              </span>
            )}
            <span className="faint">
              <At at={at} />
            </span>
          </div>
          <ErrorView error={error} />
        </li>
      ))}
    </ol>
  )
}
