// Every fact of the run.

import { useVirtualizer } from '@tanstack/react-virtual'
import type { JournalEntry } from 'perdure'
import { useMemo, useRef, useState } from 'react'
import { useKeys } from '../../app/keys.js'
import { Empty } from '../../ui/empty.js'
import { At } from '../../ui/time.js'
import { aboutEntry, toneOf } from './model/entries.js'
import type { Moment } from './use-moment.js'

const ROW_PX = 28

export function JournalTab({
  moment,
  selected,
  onSelect,
}: {
  readonly moment: Moment
  readonly selected: string | null
  readonly onSelect: (name: string | null) => void
}) {
  const scroll = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const { entries } = moment
  const shown = useMemo(() => found(entries, text), [entries, text])
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  })
  const at = shown.findIndex(({ seq }) => `#${seq}` === selected)
  const move = (by: number) => () => {
    const next = Math.max(0, Math.min(shown.length - 1, at + by))
    const entry = shown[next]
    if (entry) onSelect(`#${entry.seq}`)
    virtual.scrollToIndex(next)
  }
  useKeys({
    j: move(1),
    k: move(-1),
    '/': () => document.getElementById('journal-text')?.focus(),
  })
  return (
    <div className="journal">
      <input
        id="journal-text"
        className="input journal-text"
        type="search"
        aria-label="Find in the journal"
        placeholder="Kind or name  /"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      {shown.length === 0 && <Empty title="No fact is like that" />}
      <div
        ref={scroll}
        className="journal-scroll"
        role="table"
        aria-label="Journal"
        aria-rowcount={shown.length}
        tabIndex={0}
      >
        <div role="rowgroup" className="journal-rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const entry = shown[index]
            if (!entry) return null
            return (
              <JournalRow
                key={entry.seq}
                entry={entry}
                y={start}
                isSelected={index === at}
                onSelect={onSelect}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

function found(entries: readonly JournalEntry[], text: string): readonly JournalEntry[] {
  if (text === '') return entries
  const part = text.toLowerCase()
  return entries.filter(
    ({ kind, name }) => kind.includes(part) || name.toLowerCase().includes(part),
  )
}

function JournalRow({
  entry,
  y,
  isSelected,
  onSelect,
}: {
  readonly entry: JournalEntry
  readonly y: number
  readonly isSelected: boolean
  readonly onSelect: (name: string) => void
}) {
  const { seq, kind, name, at } = entry
  return (
    <div
      role="row"
      aria-rowindex={seq}
      className="journal-row"
      data-selected={isSelected}
      style={{ transform: `translateY(${y}px)` }}
    >
      <span role="cell" className="faint journal-seq">
        {seq}
      </span>
      <span role="cell" className="faint journal-time">
        <At at={at} />
      </span>
      <span role="cell" className={`journal-kind ${toneOf(entry)}`}>
        <button type="button" onClick={() => onSelect(`#${seq}`)}>
          {kind}
        </button>
      </span>
      <span role="cell" className="truncate" title={name}>
        {name}
      </span>
      <span role="cell" className="truncate muted journal-about">
        {aboutEntry(entry)}
      </span>
    </div>
  )
}
