// Durations as people write them. Exactly: a whole number and one unit; a number is milliseconds.

import { durationInvalid } from './errors.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const UNIT_MS = {
  ms: 1,
  s: SECOND,
  sec: SECOND,
  secs: SECOND,
  m: MINUTE,
  min: MINUTE,
  mins: MINUTE,
  h: HOUR,
  hour: HOUR,
  hours: HOUR,
  d: DAY,
  day: DAY,
  days: DAY,
  w: 7 * DAY,
  week: 7 * DAY,
  weeks: 7 * DAY,
  y: 365 * DAY,
  year: 365 * DAY,
  years: 365 * DAY,
} as const

type Unit = keyof typeof UNIT_MS
/** '7d', '5min', '2 days'; a number is milliseconds. */
export type Duration = number | `${bigint}${Unit}` | `${bigint} ${Unit}`

/** Parses a text from outside the program; throws DURATION_INVALID. */
export function duration(text: string): number {
  return durationMs(text as Duration)
}

/** The milliseconds of a duration; throws DURATION_INVALID and names the value. */
export function durationMs(value: Duration): number {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return value
    throw durationInvalid(value)
  }
  const found = typeof value === 'string' ? /^(\d{1,15}) ?([a-z]+)$/.exec(value) : null
  const unit = found?.[2]
  if (!found || !unit || !Object.hasOwn(UNIT_MS, unit)) throw durationInvalid(value)
  const ms = Number(found[1]) * UNIT_MS[unit as Unit]
  if (!Number.isSafeInteger(ms)) throw durationInvalid(value)
  return ms
}
