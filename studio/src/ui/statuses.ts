// The statuses of runs in words. Pure.

import type { RunInfo, WaitReason } from 'perdure'

export type Status = RunInfo['status']

export const STATUSES: readonly Status[] = [
  'pending',
  'running',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
]

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
  pending: 'pending',
  running: 'running',
  waiting: 'waiting',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  timed_out: 'timed out',
}

/** What a run waits for, in the words of a list. */
export const REASON_WORDS: Readonly<Record<WaitReason, string>> = {
  signal: 'for a signal',
  event: 'for an event',
  timer: 'sleeping',
  retry: 'to retry',
  child: 'for a child',
  slot: 'for a slot',
  paused: 'paused',
  diverged: 'code differs',
  'missing-code': 'no worker has its code',
}
