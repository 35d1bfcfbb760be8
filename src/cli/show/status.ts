// A status is a shape and a colour and a word, everywhere the same.

import type { RunInfo, Status } from '../../index.js'
import type { Paint } from '../io.js'
import { oneLine } from './text.js'
import { clock } from './time.js'

const SHOWN: Readonly<Record<Status, readonly [string, keyof Paint, string]>> = {
  pending: ['○', 'gray', 'pending'],
  running: ['◐', 'blue', 'running'],
  waiting: ['⏸', 'magenta', 'waiting'],
  completed: ['●', 'green', 'completed'],
  failed: ['▲', 'red', 'failed'],
  cancelled: ['✕', 'gray', 'cancelled'],
  timed_out: ['⧖', 'yellow', 'timed out'],
}

export const markOf = (status: Status): string => SHOWN[status][0]
export const wordOf = (status: Status): string => SHOWN[status][2]

export function painted(paint: Paint, status: Status, text: string): string {
  const colour = paint[SHOWN[status][1]]
  return typeof colour === 'function' ? colour(text) : text
}

/** Why it is as it is, in a few words. */
export function aboutOf(run: RunInfo, now: number): string {
  const at = run.place === null ? '' : `at ${run.place}`
  if (run.status === 'waiting') return [at, waiting(run, now)].filter(Boolean).join(', ')
  if (run.error)
    return oneLine(`${run.error.step ? `${run.error.step}: ` : ''}${run.error.message}`)
  return at
}

function waiting(run: RunInfo & { readonly status: 'waiting' }, now: number): string {
  const until = run.until === null ? '' : ` until ${clock(run.until, now)}`
  switch (run.reason) {
    case 'signal':
      return `waits for ${namesOf(run) || 'a person'}`
    case 'event':
      return `waits for an event${until}`
    case 'timer':
      return `sleeps${until}`
    case 'retry':
      return `tries again${run.until === null ? '' : ` at ${clock(run.until, now)}`}`
    case 'child':
      return 'waits for a child run'
    case 'slot':
      return 'waits for a free place'
    case 'paused':
      return 'is paused'
    case 'diverged':
      return 'its code no longer matches its history'
    case 'missing-code':
      return 'no live worker has its code'
  }
}

const namesOf = ({ available }: { readonly available: readonly { readonly name: string }[] }) =>
  available.map(({ name }) => name).join(' or ')
