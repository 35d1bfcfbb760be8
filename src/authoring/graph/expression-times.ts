// timestamp() and duration(), to the millisecond, in UTC. There is no now(): an expression gives the same at every
// replay. Compare with a time that is in the data.

import { shown } from '../../model/errors.js'
import { Wrong } from './expression-errors.js'
import { Duration } from './expression-values.js'

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

export function timestampOf(text: string): Date {
  const [, year, month, day] = (TIMESTAMP.exec(text) ?? []).map(Number)
  const date = new Date(Date.parse(text))
  if (year === undefined || month === undefined || day === undefined || !isDay(year, month, day)) {
    throw new Wrong(`${shown(text)} is not a timestamp`, "write '2026-01-31T08:00:00Z'")
  }
  return checked(date)
}

/** JavaScript takes the 31st of February for the 3rd of March. */
function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function checked(date: Date): Date {
  const year = date.getUTCFullYear()
  if (year >= 1 && year <= 9999) return date
  throw new Wrong('a timestamp lies outside the years 1 to 9999')
}

const DURATION = /^[+-]?(\d{1,15}(\.\d{1,9})?(h|ms|m|s)){1,8}$/
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
])

export function durationOf(text: string): Duration {
  if (text.length > 100 || !DURATION.test(text)) {
    throw new Wrong(`${shown(text)} is not a duration`, "write '1h30m', '90s' or '500ms'")
  }
  let ms = 0
  for (const [, amount, unit = ''] of text.matchAll(/([\d.]+)(h|ms|m|s)/g)) {
    ms += Number(amount) * (UNIT_MS.get(unit) ?? 0)
  }
  return durationOfMs(text.startsWith('-') ? -ms : ms)
}

export function durationOfMs(ms: number): Duration {
  if (Number.isSafeInteger(Math.trunc(ms))) return new Duration(Math.trunc(ms))
  throw new Wrong('a duration is too long')
}

export function durationText({ ms }: Duration): string {
  return `${ms / 1_000}s`
}

export function later(date: Date, { ms }: Duration): Date {
  return checked(new Date(date.getTime() + ms))
}

/** Of a timestamp in UTC; months and days of the week from 0, as CEL counts them. */
export const TIMESTAMP_PARTS: ReadonlyMap<string, (date: Date) => number> = new Map([
  ['getFullYear', (date) => date.getUTCFullYear()],
  ['getMonth', (date) => date.getUTCMonth()],
  ['getDate', (date) => date.getUTCDate()],
  ['getDayOfMonth', (date) => date.getUTCDate() - 1],
  ['getDayOfWeek', (date) => date.getUTCDay()],
  ['getHours', (date) => date.getUTCHours()],
  ['getMinutes', (date) => date.getUTCMinutes()],
  ['getSeconds', (date) => date.getUTCSeconds()],
  ['getMilliseconds', (date) => date.getUTCMilliseconds()],
])

/** Of a duration: all of it in that unit. */
export const DURATION_UNITS: ReadonlyMap<string, number> = new Map([
  ['getHours', 3_600_000],
  ['getMinutes', 60_000],
  ['getSeconds', 1_000],
  ['getMilliseconds', 1],
])
