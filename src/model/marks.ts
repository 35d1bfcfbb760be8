// What user code may say about an error when it throws it: that no retry helps, or not before when.
// A mark is on the object itself and no part of its fields: the error keeps its class, name and message.

import { type Duration, durationMs } from './time.js'

/** Shared by all copies of the package. */
const MARK = Symbol.for('perdure.retry')

export interface Marks {
  readonly fatal: boolean
  readonly retryAfterMs: number | null
}

const NONE: Marks = { fatal: false, retryAfterMs: null }

/** `throw fatal(new CardStolen())`: no retry helps, whatever the policy says. */
export function fatal<E extends Error | string>(error: E): E extends string ? Error : E {
  return marked(error, { fatal: true, retryAfterMs: null })
}

/** `throw retryAfter(error, '30s')`: if it is retried, then not before so long. */
export function retryAfter<E extends Error | string>(
  error: E,
  wait: Duration,
): E extends string ? Error : E {
  return marked(error, { fatal: false, retryAfterMs: durationMs(wait) })
}

export function marksOf(error: unknown): Marks {
  if (typeof error !== 'object' || error === null || !(MARK in error)) return NONE
  return (error as { [MARK]: Marks })[MARK]
}

function marked<E extends Error | string>(error: E, marks: Marks): E extends string ? Error : E {
  const target = typeof error === 'string' ? new Error(error) : error
  Object.defineProperty(target, MARK, { value: marks, configurable: true })
  return target as E extends string ? Error : E
}
