// The axis of a timeline. Where nothing happens for most of the time it is torn: two days of sleep are as wide as a word. Pure.

import type { Lane } from './story.js'

export interface Segment {
  readonly from: number
  readonly to: number
  /** Nothing begins or ends in it, and it is drawn as a tear. */
  readonly isTorn: boolean
  readonly x: number
  readonly width: number
}

export interface Axis {
  readonly segments: readonly Segment[]
  readonly width: number
  readonly from: number
  /** The time that a pixel stands for, where it is not torn. */
  readonly msPerPx: number
}

export const TEAR_PX = 56
const TORN_MIN_MS = 5_000
/** A gap is torn if it is longer than so much of what is left of the whole. */
const TORN_SHARE = 0.55
const INSTANTS_MAX = 4_000

export function axisOf(lanes: readonly Lane[], from: number, to: number, width: number): Axis {
  const torn = tearsOf(instantsOf(lanes, from, to))
  const drawn = Math.max(1, to - from - torn.reduce((sum, gap) => sum + gap.to - gap.from, 0))
  const msPerPx = drawn / Math.max(1, width - torn.length * TEAR_PX)
  const segments: Segment[] = []
  let x = 0
  let at = from
  const add = (end: number, isTorn: boolean): void => {
    const size = isTorn ? TEAR_PX : (end - at) / msPerPx
    if (size > 0) segments.push({ from: at, to: end, isTorn, x, width: size })
    x += size
    at = end
  }
  for (const gap of torn) {
    add(gap.from, false)
    add(gap.to, true)
  }
  add(to, false)
  return { segments, width, from, msPerPx }
}

interface Gap {
  readonly from: number
  readonly to: number
}

function instantsOf(lanes: readonly Lane[], from: number, to: number): readonly number[] {
  const instants = new Set([from, to])
  for (const { spans } of lanes) {
    for (const span of spans) {
      instants.add(span.from)
      if (span.to !== null) instants.add(span.to)
    }
    // So many lie close enough that no gap between them could be torn.
    if (instants.size > INSTANTS_MAX) break
  }
  return [...instants].filter((at) => at >= from && at <= to).sort((a, b) => a - b)
}

/** The longest gap first, as long as it is most of what is left. */
function tearsOf(instants: readonly number[]): readonly Gap[] {
  if (instants.length > INSTANTS_MAX) return []
  const gaps = instants.slice(1).map((to, index) => ({ from: instants[index] ?? to, to }))
  const sorted = gaps.toSorted((a, b) => b.to - b.from - (a.to - a.from))
  let left = (instants.at(-1) ?? 0) - (instants[0] ?? 0)
  const torn: Gap[] = []
  for (const gap of sorted.slice(0, 6)) {
    const ms = gap.to - gap.from
    if (ms < TORN_MIN_MS || ms < left * TORN_SHARE) break
    torn.push(gap)
    left -= ms
  }
  return torn.sort((a, b) => a.from - b.from)
}

export function xOf({ segments, width }: Axis, at: number): number {
  let low = 0
  let high = segments.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((segments[middle]?.to ?? 0) < at) low = middle + 1
    else high = middle
  }
  const segment = segments[low]
  if (!segment) return 0
  const share = (at - segment.from) / Math.max(1, segment.to - segment.from)
  return Math.max(0, Math.min(width, segment.x + share * segment.width))
}

const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 5, 10, 30, 100, 365].map((days) => days * 86_400_000),
]
const TICK_PX = 96
const TEXT_PX = 44

/** Round times since the beginning, about as far from each other as their texts need. */
export function ticksOf({ segments, from, msPerPx }: Axis): readonly number[] {
  const step = STEPS.find((ms) => ms / msPerPx >= TICK_PX) ?? STEPS.at(-1) ?? 1
  return segments
    .filter(({ isTorn }) => !isTorn)
    .flatMap((segment) => {
      const first = Math.ceil((segment.from - from) / step)
      const last = Math.floor((segment.to - from) / step)
      const count = Math.min(500, last - first + 1)
      const ticks = Array.from({ length: Math.max(0, count) }, (_, n) => from + (first + n) * step)
      // The text of the last one needs room before the tear.
      return ticks.filter((at) => (segment.to - at) / msPerPx > TEXT_PX || segment.to === at)
    })
}
