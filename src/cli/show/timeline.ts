// A run as a waterfall of characters: one row for each thing it did, blocks are attempts, dots are waits. Long idle stretches
// are torn out of the axis, with what they took written there.

import type { JournalEntry } from '../../index.js'
import type { Paint } from '../io.js'
import { cut } from './text.js'
import { span } from './time.js'

type Kind = 'work' | 'failed' | 'wait'

interface Segment {
  readonly kind: Kind
  readonly from: number
  /** null: it goes on. */
  readonly to: number | null
}

interface Row {
  readonly label: string
  readonly segments: Segment[]
  attempts: number
  hasFailed: boolean
}

export interface Shown {
  readonly entries: readonly JournalEntry[]
  readonly from: Date
  /** The end of the run; null: it has none yet. */
  readonly to: Date | null
  readonly now: number
  readonly width: number
  readonly paint: Paint
}

const LABEL_MAX = 24
const RIGHT = 10
const BARS_MIN = 20
const BARS_MAX = 120
const ROWS_MAX = 200
const MARGIN = '  '
const CHARACTERS: Readonly<Record<Kind, string>> = { work: '█', failed: '▒', wait: '·' }

export function timeline(shown: Shown): string[] {
  const { paint, width } = shown
  const all = rowsOf(shown.entries)
  const rows = all.slice(0, ROWS_MAX)
  if (rows.length === 0) return []
  const labelWidth = Math.min(LABEL_MAX, Math.max(...rows.map(({ label }) => label.length)))
  const free = width - MARGIN.length - labelWidth - 2 - 2 - RIGHT
  const axis = axisOf(all, shown, Math.min(BARS_MAX, Math.max(BARS_MIN, free)))
  const lines = rows.map((row) => {
    const label = cut(row.label, labelWidth).padEnd(labelWidth)
    const right = (row.attempts > 1 ? `×${row.attempts} ` : '') + span(tookOf(row, axis.end))
    const name = row.hasFailed ? paint.red(label) : label
    return `${MARGIN}${name}  ${drawRow(row, axis, paint)}  ${paint.dim(right.padStart(RIGHT))}`
  })
  const head = `${MARGIN}${' '.repeat(labelWidth)}  ${paint.dim(axis.labels)}`.trimEnd()
  const more = all.length - rows.length
  return [head, ...lines, ...(more > 0 ? [paint.dim(`${MARGIN}… and ${more} more`)] : [])]
}

// ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────

/** In the order in which they began. Rounds of a loop are one row. */
function rowsOf(entries: readonly JournalEntry[]): Row[] {
  const rows = new Map<string, Row>()
  const opened = new Map<string, JournalEntry>()
  /** Where the last attempt has failed, until the next. */
  const pausing = new Map<string, number>()
  const rowOf = (name: string): Row => {
    const label = name.replace(/@\d+/g, '').replace(/^\//, '')
    const row = rows.get(label) ?? { label, segments: [], attempts: 0, hasFailed: false }
    rows.set(label, row)
    return row
  }
  for (const entry of entries) {
    const { name, at } = entry
    const before = opened.get(name)
    opened.delete(name)
    if (/^(timer\.set|wait\.opened|child\.started|step\.asked)$/.test(entry.kind)) {
      opened.set(name, entry)
      rowOf(name)
      continue
    }
    if (name === '' || /^(scope|round)\.|^(mark|record)$/.test(entry.kind)) continue
    const row = rowOf(name)
    const isWork = /^(step|undo|child)\./.test(entry.kind)
    const isFailed = entry.error !== undefined
    const from = (entry.startedAt ?? before?.at ?? at).getTime()
    const pausedAt = pausing.get(name)
    if (pausedAt !== undefined) row.segments.push({ kind: 'wait', from: pausedAt, to: from })
    pausing.delete(name)
    row.segments.push({
      kind: isFailed ? 'failed' : isWork ? 'work' : 'wait',
      from,
      to: at.getTime(),
    })
    row.attempts = Math.max(row.attempts, isWork ? (entry.attempt ?? 1) : 0)
    row.hasFailed = isFailed
    if (isFailed && entry.until) pausing.set(name, at.getTime())
  }
  for (const [name, entry] of opened) {
    const kind = /^(step\.asked|child\.started)$/.test(entry.kind) ? 'work' : 'wait'
    rowOf(name).segments.push({ kind, from: entry.at.getTime(), to: null })
  }
  for (const [name, from] of pausing) rowOf(name).segments.push({ kind: 'wait', from, to: null })
  return [...rows.values()].filter(({ segments }) => segments.length > 0)
}

/** From its first to its last moment. */
function tookOf({ segments }: Row, end: number): number {
  const from = Math.min(...segments.map((segment) => segment.from))
  return Math.max(...segments.map(({ to }) => to ?? end)) - from
}

function drawRow({ segments }: Row, axis: Axis, paint: Paint): string {
  const cells: (Kind | null)[] = new Array(axis.columns).fill(null)
  // Waits below, then work, and what has failed on top.
  for (const kind of ['wait', 'work', 'failed'] as const) {
    for (const { from, to } of segments.filter((segment) => segment.kind === kind)) {
      const first = Math.min(axis.columns - 1, axis.columnOf(from))
      const last = Math.max(first, axis.columnOf(to ?? axis.end) - 1)
      for (let at = first; at <= last && at < axis.columns; at += 1) cells[at] = kind
    }
  }
  return cells.map((kind) => (kind === null ? ' ' : colour(paint, kind)(CHARACTERS[kind]))).join('')
}

function colour(paint: Paint, kind: Kind): (text: string) => string {
  return kind === 'work' ? paint.green : kind === 'failed' ? paint.red : paint.dim
}

// ── the axis ────────────────────────────────────────────────────────────────────────────────────────────────

interface Axis {
  readonly columns: number
  readonly end: number
  readonly labels: string
  columnOf(at: number): number
}

interface Stretch {
  readonly from: number
  readonly to: number
  /** What it is drawn as long as. */
  readonly weight: number
  readonly isTorn: boolean
}

/** One idle stretch is drawn at most as long as this part of all work. */
const IDLE_SHARE = 0.6

function axisOf(rows: readonly Row[], shown: Shown, columns: number): Axis {
  const start = shown.from.getTime()
  const end = Math.max(start + 1, (shown.to ?? new Date(shown.now)).getTime())
  const stretches = stretchesOf(rows, start, end)
  const total = stretches.reduce((sum, { weight }) => sum + weight, 0)
  const columnOf = (at: number): number => {
    let before = 0
    for (const { from, to, weight } of stretches) {
      if (at >= to) before += weight
      else if (at > from) before += (weight * (at - from)) / (to - from)
    }
    return Math.round((before / total) * columns)
  }
  return { columns, end, columnOf, labels: labelsOf(stretches, { start, end, columns, columnOf }) }
}

/** Work as it is, and what lies between; busy stretches that touch are one. */
function stretchesOf(rows: readonly Row[], start: number, end: number): Stretch[] {
  const busy: [number, number][] = []
  const work = rows
    .flatMap(({ segments }) => segments)
    .filter(({ kind }) => kind !== 'wait')
    .map(({ from, to }) => [Math.max(from, start), Math.min(to ?? end, end)] as [number, number])
    .sort(([a], [b]) => a - b)
  for (const [from, to] of work) {
    const last = busy.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else busy.push([from, Math.max(from + 1, to)])
  }
  const worked = busy.reduce((sum, [from, to]) => sum + to - from, 0)
  const idleMax = worked === 0 ? end - start : Math.max(1, worked * IDLE_SHARE)
  const stretches: Stretch[] = []
  let at = start
  const idle = (to: number): void => {
    if (to <= at) return
    const isTorn = to - at > idleMax * 2
    stretches.push({ from: at, to, weight: isTorn ? idleMax : to - at, isTorn })
  }
  for (const [from, to] of busy) {
    idle(from)
    stretches.push({ from: Math.max(at, from), to, weight: to - Math.max(at, from), isTorn: false })
    at = Math.max(at, to)
  }
  idle(end)
  return stretches
}

function labelsOf(
  stretches: readonly Stretch[],
  of: { start: number; end: number; columns: number; columnOf: (at: number) => number },
): string {
  const cells = new Array<string>(of.columns).fill(' ')
  const isFree = (at: number, length: number): boolean =>
    at >= 0 &&
    at + length <= of.columns &&
    cells.slice(Math.max(0, at - 1), at + length + 1).every((cell) => cell === ' ')
  const write = (at: number, text: string): void => {
    if (isFree(at, text.length)) cells.splice(at, text.length, ...text)
  }
  const total = span(of.end - of.start)
  write(0, '0')
  write(of.columns - total.length, total)
  for (const { from, to, isTorn } of stretches) {
    if (!isTorn) continue
    const [first, last] = [of.columnOf(from), of.columnOf(to)]
    const text = `≈${span(to - from)}≈`
    write(Math.max(first, Math.floor((first + last - text.length) / 2)), text)
  }
  return cells.join('')
}
