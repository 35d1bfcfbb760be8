// The waterfall of a run: one lane for each step, wait, sleep and child.

import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useKeys } from '../../app/keys.js'
import { IconButton } from '../../ui/button.js'
import { Empty } from '../../ui/empty.js'
import { useNow } from '../../ui/time.js'
import { axisOf } from './model/axis.js'
import type { Story } from './model/story.js'
import { TimelineLane } from './timeline-lane.js'
import { TimelineRuler } from './timeline-ruler.js'
import './timeline.css'
import { useNested } from './use-nested.js'

const LANE_PX = 28
const ZOOM_MAX = 400
const ZOOM_STEP = 1.5

export function Timeline({
  story,
  isNow,
  selected,
  onSelect,
}: {
  readonly story: Story
  /** What is open goes on to this second. */
  readonly isNow: boolean
  readonly selected: string | null
  readonly onSelect: (name: string) => void
}) {
  const scroll = useRef<HTMLDivElement>(null)
  const { rows, toggle } = useNested(story.lanes)
  const [zoom, setZoom] = useZoom(scroll)
  const width = useWidth(scroll) * zoom
  const now = useNow()
  const to = story.isOver || !isNow ? story.to : Math.max(now, story.to)
  const axis = useMemo(
    () =>
      axisOf(
        rows.map(({ lane }) => lane),
        story.from,
        to,
        width,
      ),
    [rows, story.from, to, width],
  )
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => LANE_PX,
    overscan: 16,
  })
  const move = (by: number) => () => {
    const at = rows.findIndex(({ key }) => key === selected)
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    onSelect(rows[next]?.key ?? '')
    virtual.scrollToIndex(next)
  }
  const by = (factor: number) => () => setZoom((z) => Math.max(1, Math.min(ZOOM_MAX, z * factor)))
  useKeys({ j: move(1), k: move(-1), '+': by(ZOOM_STEP), '-': by(1 / ZOOM_STEP), 0: by(0) })
  if (rows.length === 0) {
    return (
      <Empty title="It has not done anything yet">
        Its steps, waits and sleeps appear here as they happen.
      </Empty>
    )
  }
  return (
    <div className="timeline">
      <div className="timeline-zoom">
        <IconButton label="Zoom in (+)" icon="plus" onClick={by(ZOOM_STEP)} />
        {zoom > 1 && <IconButton label="All of it (0)" icon="close" onClick={by(0)} />}
      </div>
      <section ref={scroll} className="timeline-scroll" tabIndex={0} aria-label="Timeline">
        <TimelineRuler axis={axis} marks={story.marks} />
        <ol className="timeline-lanes" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            if (!row) return null
            return (
              <TimelineLane
                key={row.key}
                row={row}
                axis={axis}
                end={to}
                y={start}
                isSelected={row.key === selected}
                onSelect={onSelect}
                onToggle={toggle}
              />
            )
          })}
        </ol>
      </section>
    </div>
  )
}

/** Of the part beside the names. */
function useWidth(ref: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(600)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      const names = Number.parseFloat(getComputedStyle(element).getPropertyValue('--names'))
      setWidth(Math.max(120, element.clientWidth - names - 16))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return width
}

/** The wheel with Ctrl or ⌘ zooms where the pointer is; without, it scrolls. */
function useZoom(ref: React.RefObject<HTMLElement | null>) {
  const [zoom, setZoom] = useState(1)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const turned = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const factor = event.deltaY < 0 ? 1.2 : 1 / 1.2
      setZoom((before) => {
        const next = Math.max(1, Math.min(ZOOM_MAX, before * factor))
        const x = event.clientX - element.getBoundingClientRect().left
        element.scrollLeft = ((element.scrollLeft + x) * next) / before - x
        return next
      })
    }
    element.addEventListener('wheel', turned, { passive: false })
    return () => element.removeEventListener('wheel', turned)
  }, [ref])
  return [zoom, setZoom] as const
}
