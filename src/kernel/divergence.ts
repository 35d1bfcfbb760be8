// Does the body still ask what is recorded? Pure.

import { shownName } from '../model/ids.js'
import type { Entry } from '../model/run.js'
import { type Ask, RECORD } from './asks.js'
import type { RecordedAsk, Window } from './replay.js'

export type Match =
  /** Everything recorded in this window has been asked. */
  | { readonly kind: 'matched' }
  /** So far it fits, but `missing` has not been asked. */
  | { readonly kind: 'missing'; readonly missing: RecordedAsk }
  | { readonly kind: 'diverged'; readonly difference: Difference }

export interface Difference {
  /** The how-many-th question of the run it is, 1-based. */
  readonly position: number
  readonly recorded: string
  readonly found: string
}

export function matchWindow(window: Window, asked: readonly Ask[], position: number): Match {
  for (const [i, ask] of asked.entries()) {
    const recorded = window.asks[i]
    if (!recorded) {
      // New questions are welcome only behind everything that is recorded.
      if (window.outcome === null) break
      return differ(position + i, answerText(window.outcome), askText(ask))
    }
    if (!same(recorded, ask)) return differ(position + i, recordedText(recorded), askText(ask))
  }
  const missing = window.asks[asked.length]
  return missing ? { kind: 'missing', missing } : { kind: 'matched' }
}

function differ(position: number, recorded: string, found: string): Match {
  return { kind: 'diverged', difference: { position, recorded, found } }
}

function same(recorded: RecordedAsk, ask: Ask): boolean {
  return (
    recorded.kind === ask.kind &&
    recorded.name === ask.name &&
    recorded.occurrence === ask.occurrence &&
    (recorded.target === null || recorded.target === ask.target)
  )
}

const recordedName = (name: string, occurrence: number) => `"${shownName(name, occurrence)}"`

const WORD = {
  step: 'step',
  timer: 'sleep',
  wait: 'wait',
  child: 'child',
  // What is recorded so today: how a scope or a round has ended.
  record: 'the end of',
} as const

const targetText = (target: string | null) => (target && target !== RECORD ? ` (${target})` : '')

export function answerText({ kind, name, occurrence }: Entry): string {
  if (kind === 'round.ended') return `${WORD.record} ${recordedName(name, occurrence)}`
  return `the answer to ${recordedName(name, occurrence)}`
}

export function recordedText(ask: RecordedAsk): string {
  const target = targetText(ask.target)
  return `${WORD[ask.kind]} ${recordedName(ask.name, ask.occurrence)}${target}`
}

function askText(ask: Ask): string {
  const target = targetText(ask.target)
  return `${WORD[ask.kind]} ${recordedName(ask.name, ask.occurrence)}${target}`
}
