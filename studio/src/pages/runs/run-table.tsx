import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { Link, runPath } from '../../app/router.js'
import { StatusMark } from '../../ui/status.js'
import { Ago, Lasting } from '../../ui/time.js'
import { aboutRun } from './about-run.js'
import type { Row } from './use-runs.js'

const ROW_PX = 36
const ROW_NARROW_PX = 56
const NARROW = matchMedia('(max-width: 720px)')

export function RunTable({
  rows,
  at,
  onAt,
  chosen,
  onChoose,
  hasMore,
  onEnd,
}: {
  readonly rows: readonly Row[]
  readonly at: number
  readonly onAt: (index: number) => void
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (id: string) => void
  readonly hasMore: boolean
  readonly onEnd: () => void
}) {
  const scroll = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => (NARROW.matches ? ROW_NARROW_PX : ROW_PX),
    overscan: 12,
  })
  const shown = virtual.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && last >= rows.length - 20) onEnd()
  }, [hasMore, last, rows.length, onEnd])
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at)
  }, [at, virtual])
  return (
    <div
      ref={scroll}
      className="run-table panel"
      tabIndex={0}
      role="table"
      aria-label="Runs"
      aria-rowcount={rows.length}
    >
      <div className="run-rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start, size }) => {
          const row = rows[index]
          if (!row) return null
          return (
            <RunRow
              key={row.run.id}
              row={row}
              index={index}
              isAt={index === at}
              onAt={onAt}
              isChosen={chosen.has(row.run.id)}
              onChoose={onChoose}
              style={{ height: size, transform: `translateY(${start}px)` }}
            />
          )
        })}
      </div>
    </div>
  )
}

function RunRow({
  row: { run, isGone },
  index,
  isAt,
  onAt,
  isChosen,
  onChoose,
  style,
}: {
  readonly row: Row
  readonly index: number
  readonly isAt: boolean
  readonly onAt: (index: number) => void
  readonly isChosen: boolean
  readonly onChoose: (id: string) => void
  readonly style: React.CSSProperties
}) {
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isAt}
      className={`run-row${isGone ? ' is-gone' : ''}`}
      style={style}
      onPointerDown={() => onAt(index)}
    >
      <span role="cell" className="run-choose">
        <input
          type="checkbox"
          aria-label={`Choose ${run.id}`}
          checked={isChosen}
          onChange={() => onChoose(run.id)}
        />
      </span>
      <span role="cell" className="run-status">
        <StatusMark status={run.status} />
      </span>
      <span role="cell" className="run-id truncate">
        <Link to={runPath(run.id)} title={run.id}>
          {run.id}
        </Link>
      </span>
      <span role="cell" className="run-workflow truncate" title={run.workflow}>
        {run.workflow}
      </span>
      <span role="cell" className="run-about truncate muted">
        {aboutRun(run)}
      </span>
      <span role="cell" className="run-lasting muted">
        {run.startedAt && <Lasting from={run.startedAt} to={run.finishedAt} />}
      </span>
      <span role="cell" className="run-ago muted">
        <Ago at={run.createdAt} />
      </span>
    </div>
  )
}
