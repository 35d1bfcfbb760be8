// Numbers, durations and moments as people read them. Pure.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const grouped = new Intl.NumberFormat('en-US')
export const count = (n: number): string => grouped.format(n)
export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`

/** Two units at most: '212 ms', '1.4 s', '2 m 3 s', '2 d 4 h'. */
export function duration(ms: number): string {
  const abs = Math.max(0, ms)
  if (abs < SECOND) return `${Math.round(abs)} ms`
  if (abs < 10 * SECOND) return `${(Math.floor(abs / 100) / 10).toFixed(1)} s`
  if (abs < MINUTE) return `${Math.floor(abs / SECOND)} s`
  if (abs < HOUR) return two(abs, MINUTE, 'm', SECOND, 's')
  if (abs < DAY) return two(abs, HOUR, 'h', MINUTE, 'm')
  return two(abs, DAY, 'd', HOUR, 'h')
}

function two(ms: number, big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % big) / small)
  return `${count(Math.floor(ms / big))} ${bigUnit}${rest > 0 ? ` ${rest} ${smallUnit}` : ''}`
}

/** One unit: '12 s', '3 h', '5 d'. */
export function roughly(ms: number): string {
  const abs = Math.abs(ms)
  if (abs < MINUTE) return `${Math.floor(abs / SECOND)} s`
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} m`
  if (abs < DAY) return `${Math.floor(abs / HOUR)} h`
  return `${count(Math.floor(abs / DAY))} d`
}

export function relative(at: Date, now: number): string {
  const ms = now - at.getTime()
  if (Math.abs(ms) < 2 * SECOND) return 'now'
  return ms > 0 ? `${roughly(ms)} ago` : `in ${roughly(ms)}`
}

const absoluteFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'long',
})
export const absolute = (at: Date): string => `${absoluteFormat.format(at)} · ${at.toISOString()}`

const clockFormat = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
/** '14:00:03', or '3 Jan 14:00' if it was another day. */
export function clock(at: Date, now: number): string {
  const isToday = new Date(now).toDateString() === at.toDateString()
  const time = clockFormat.format(at)
  return isToday ? time : `${dayFormat.format(at)} ${time.slice(0, 5)}`
}

/** So that no value of a user can fill the page. */
export const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`
