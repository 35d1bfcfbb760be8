// Moves every panel to a moment of the history. The address keeps it.

import { useEffect, useState } from 'react'
import { Button, IconButton } from '../../ui/button.js'
import { type Status, StatusMark } from '../../ui/status.js'
import { At } from '../../ui/time.js'
import type { Moment } from './use-moment.js'

const SETTLE_MS = 60

export function Scrubber({
  moment,
  status,
}: {
  readonly moment: Moment
  /** Of the moment that is shown. */
  readonly status: Status
}) {
  const { seq, last, entries, go } = moment
  const at = seq ?? last
  const [dragged, setDragged] = useState<number | null>(null)
  useEffect(() => {
    if (dragged === null) return
    const timer = setTimeout(() => {
      go(dragged)
      setDragged(null)
    }, SETTLE_MS)
    return () => clearTimeout(timer)
  }, [dragged, go])
  const shown = entries.at(-1)
  if (last < 2) return null
  return (
    <div className={seq === null ? 'scrubber' : 'scrubber is-then'}>
      {seq !== null && (
        <>
          <span className="scrubber-when">as it was {shown && <At at={shown.at} />}</span>
          <StatusMark status={status} />
          <Button className="scrubber-now" look="quiet" onClick={() => go(null)}>
            Now
          </Button>
        </>
      )}
      <IconButton label="One fact back ([)" icon="left" onClick={() => go(at - 1)} />
      <input
        type="range"
        min={1}
        max={last}
        value={dragged ?? at}
        aria-label="The moment that is shown"
        aria-valuetext={`entry ${at} of ${last}`}
        onChange={(event) => setDragged(Number(event.target.value))}
      />
      <IconButton label="One fact on (])" icon="right" onClick={() => go(at + 1)} />
      <span className="scrubber-at faint">
        {dragged ?? at}/{last}
      </span>
    </div>
  )
}
