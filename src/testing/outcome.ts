// Runs a scenario that something is done to, and compares how it ends with how it ends when it is left alone.

import { setTimeout as sleep } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'
import { never } from './life.js'

/** Taken when this is loaded: a test may replace the global one. */
const { performance } = globalThis

/** How much longer than left alone, and at least how long, a scenario may take until it counts as hanging. */
const TIMES_LONGER = 20
const LONG_MS = 5_000

/** How a scenario ended that was to end with `expected`, in words; null: as it should. */
export interface Difference {
  readonly expected: string
  readonly found: string
  readonly cause: unknown
}

export async function timed<O>(
  scenario: () => Promise<O>,
): Promise<{ readonly output: O; readonly limitMs: number }> {
  const startedAt = performance.now()
  const output = await scenario()
  return { output, limitMs: Math.max(LONG_MS, TIMES_LONGER * (performance.now() - startedAt)) }
}

/** `over`: from then on nobody wants to know. */
export async function differenceOf<O>(
  scenario: () => Promise<O>,
  expected: O,
  { limitMs, over = never() }: { readonly limitMs: number; readonly over?: Promise<unknown> },
): Promise<Difference | null> {
  const off = new AbortController()
  const late = sleep(limitMs, null, { signal: off.signal }).catch(() => null)
  const differs = (found: string, cause?: unknown): Difference => {
    return { expected: shown(expected), found, cause }
  }
  let found: O | typeof LATE | typeof OVER
  try {
    found = await Promise.race([
      scenario(),
      late.then((): typeof LATE => LATE),
      over.then((): typeof OVER => OVER),
    ])
  } catch (error) {
    return differs(`it throws ${shown(error)}`, error)
  } finally {
    off.abort()
  }
  if (found === OVER) return null
  if (found === LATE) return differs(`it has not ended after ${Math.round(limitMs)} ms`)
  return isDeepStrictEqual(found, expected) ? null : differs(shown(found))
}

const OVER: unique symbol = Symbol('over')
const LATE: unique symbol = Symbol('late')

export function shown(value: unknown): string {
  const text =
    value instanceof Error
      ? `${value.name}: ${value.message}`
      : inspect(value, { breakLength: 200 })
  return text.length > 300 ? `${text.slice(0, 297)}…` : text
}
