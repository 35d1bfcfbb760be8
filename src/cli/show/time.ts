// Times as people say them. Pure: the caller says what time it is.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** '3 ms', '2.4 s', '14 s', '3 m 20 s', '23 h 59 m', '2 d 3 h': two units at most. */
export function span(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < SECOND) return `${whole} ms`
  if (whole < 10 * SECOND) return `${(whole / SECOND).toFixed(1).replace('.0', '')} s`
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)} s`
  if (whole < HOUR) return two(whole, MINUTE, 'm', SECOND, 's')
  if (whole < DAY) return two(whole, HOUR, 'h', MINUTE, 'm')
  return two(whole, DAY, 'd', HOUR, 'h')
}

function two(ms: number, large: number, l: string, small: number, s: string): string {
  const rest = Math.floor((ms % large) / small)
  return rest === 0
    ? `${Math.floor(ms / large)} ${l}`
    : `${Math.floor(ms / large)} ${l} ${rest} ${s}`
}

/** '12 s ago', 'in 3 m'. One unit: nobody needs more of what is long ago. */
export function ago(at: Date, now: number): string {
  const ms = now - at.getTime()
  const text = span(Math.abs(ms)).split(' ').slice(0, 2).join(' ').replace(/\.\d/, '')
  if (Math.abs(ms) < SECOND) return 'now'
  return ms > 0 ? `${text} ago` : `in ${text}`
}

const two2 = (n: number): string => String(n).padStart(2, '0')
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** '14:02', 'tomorrow 14:02', 'Friday 09:00', '2026-12-24 09:00': by the clock of whoever reads it. */
export function clock(at: Date, now: number): string {
  const time = `${two2(at.getHours())}:${two2(at.getMinutes())}`
  const days = dayOf(at) - dayOf(new Date(now))
  if (days === 0) return time
  if (days === 1) return `tomorrow ${time}`
  if (days === -1) return `yesterday ${time}`
  if (days > 1 && days < 7) return `${DAYS[at.getDay()]} ${time}`
  return `${at.getFullYear()}-${two2(at.getMonth() + 1)}-${two2(at.getDate())} ${time}`
}

export const clockSeconds = (at: Date): string =>
  `${two2(at.getHours())}:${two2(at.getMinutes())}:${two2(at.getSeconds())}`

const dayOf = (at: Date): number =>
  Math.round(Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / DAY)

/** Instants in a sentence, as 'at 2026-11-18T14:02:00.000Z', become what the reader's clock says. */
export function withClock(sentence: string, now: number): string {
  return sentence.replace(
    /(?:at )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/g,
    (_, instant: string) => {
      const at = new Date(instant)
      const isSoon = Math.abs(at.getTime() - now) < MINUTE
      return isSoon ? ago(at, now) : clock(at, now)
    },
  )
}
