// Moments: relative, absolute on hover. One clock for the page, which ticks only while somebody looks.

import { useSyncExternalStore } from 'react'
import { absolute, clock, duration, relative } from '../lib/format.js'

const TICK_MS = 1_000
let now = Date.now()
const listeners = new Set<() => void>()
let ticking: ReturnType<typeof setInterval> | null = null

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  ticking ??= setInterval(tick, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || ticking === null) return
    clearInterval(ticking)
    ticking = null
  }
}

function tick(): void {
  if (document.hidden) return
  now = Date.now()
  for (const listener of listeners) listener()
}

/** Of this second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now)

export function Ago({ at }: { readonly at: Date }) {
  return <Moment at={at} text={relative(at, useNow())} />
}

/** The time of day, with the day if it is another. */
export function At({ at }: { readonly at: Date }) {
  return <Moment at={at} text={clock(at, useNow())} />
}

function Moment({ at, text }: { readonly at: Date; readonly text: string }) {
  return (
    <time dateTime={at.toISOString()} title={absolute(at)}>
      {text}
    </time>
  )
}

/** Counts up to now while it has no end. */
export function Lasting({ from, to }: { readonly from: Date; readonly to: Date | null }) {
  const current = useNow()
  return (
    <span title={`since ${absolute(from)}`}>
      {duration((to?.getTime() ?? current) - from.getTime())}
    </span>
  )
}

export function Countdown({ to }: { readonly to: Date }) {
  const ms = to.getTime() - useNow()
  return (
    <time dateTime={to.toISOString()} title={absolute(to)}>
      {ms <= 0 ? 'now' : `in ${duration(Math.ceil(ms / 1000) * 1000)}`}
    </time>
  )
}
