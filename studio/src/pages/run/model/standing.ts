// What a run is at now, and what can be done about it. Pure.

import type { Offer, RunInfo } from 'perdure'
import type { Status } from '../../../ui/statuses.js'

const FINAL: readonly Status[] = ['completed', 'failed', 'cancelled', 'timed_out']
export const isOver = (status: Status): boolean => FINAL.includes(status)

/** The step or transition is tried again by itself at that moment. */
export const retryDueAt = (run: RunInfo): Date | null =>
  run.status === 'waiting' && run.reason === 'retry' ? run.until : null

/**
 * A person may try again what has failed: a run that has failed, and a machine that rests where its last attempt left it. Not
 * while an attempt is due by itself.
 */
export function canRetry(run: RunInfo): boolean {
  if (run.status === 'failed') return run.retryable
  return run.status === 'waiting' && run.hasError && run.reason === 'signal'
}

export const canCancel = (run: RunInfo): boolean => !isOver(run.status)
export const isPaused = (run: RunInfo): boolean =>
  run.status === 'waiting' && run.reason === 'paused'
export const canPause = (run: RunInfo): boolean => !isOver(run.status) && !isPaused(run)

export const offersOf = (run: RunInfo): readonly Offer[] =>
  run.status === 'waiting' ? (run.available ?? []) : []

/** What cancelling it would undo, the last thing first. */
export const toUndo = (run: RunInfo): RunInfo['undo'] =>
  run.undo.filter(({ state }) => state === 'planned').toReversed()
