// Columns of characters. Lengths are counted before anything is painted.

import { plainText } from '../../http/plain.js'
import type { Paint } from '../io.js'

export const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ').trim()

/** At most so many characters; what is cut off is marked. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** A value as JSON shows it. */
export const json = (value: unknown): string => plainText(value)

/** In one line if there is room, else in many. */
export function jsonBlock(value: unknown, width: number): string {
  const line = json(value)
  return line.length <= width ? line : JSON.stringify(JSON.parse(line), null, 2)
}

export interface Column<T> {
  readonly head: string
  readonly cell: (item: T) => string
  readonly paint?: (text: string, item: T) => string
  /** It gives way when there is no room. */
  readonly isFlexible?: boolean
  readonly isRight?: boolean
}

export interface Room {
  /** null: as wide as it is. */
  readonly width: number | null
  readonly paint: Paint
}

const GAP = '  '

/** A head and a line for each item. The last column that may give way gets what is left. */
export function table<T>(items: readonly T[], columns: readonly Column<T>[], room: Room): string[] {
  const cells = items.map((item) => columns.map((column) => oneLine(column.cell(item))))
  const shown = columns.map((_, i) => i).filter((i) => cells.some((row) => row[i] !== ''))
  const widths = columns.map((column, i) =>
    Math.max(column.head.length, ...cells.map((row) => (row[i] ?? '').length)),
  )
  const widthOf = (i: number): number => widths[i] ?? 0
  const { width } = room
  if (width !== null) {
    const over = shown.reduce((sum, i) => sum + widthOf(i) + GAP.length, -GAP.length) - width
    giveWay(
      shown.filter((i) => columns[i]?.isFlexible),
      widths,
      over,
    )
  }
  const line = (texts: readonly string[], paint: (text: string, i: number) => string): string =>
    shown
      .map((i, at) => {
        const text = cut(texts[i] ?? '', widthOf(i))
        const isLast = at === shown.length - 1 && !columns[i]?.isRight
        const space = ' '.repeat(isLast ? 0 : widthOf(i) - text.length)
        const painted = paint(text, i)
        return columns[i]?.isRight ? space + painted : painted + space
      })
      .join(GAP)
      .trimEnd()
  return [
    line(
      columns.map(({ head }) => head),
      (text) => room.paint.dim(text),
    ),
    ...items.map((item, row) =>
      line(cells[row] ?? [], (text, i) => columns[i]?.paint?.(text, item) ?? text),
    ),
  ]
}

const NARROWEST = 8

/** The widest first, until it fits. */
function giveWay(which: readonly number[], widths: number[], over: number): void {
  for (let left = over; left > 0; left -= 1) {
    const widest = which.reduce(
      (a, b) => ((widths[b] ?? 0) > (widths[a] ?? 0) ? b : a),
      which[0] ?? -1,
    )
    const width = widths[widest]
    if (width === undefined || width <= NARROWEST) return
    widths[widest] = width - 1
  }
}
