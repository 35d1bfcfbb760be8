// One retry rule for all styles. N retries = N + 1 executions; a delay is a due time in the database.

import type { Instant, RetryPolicy } from './run.js'

export const NO_RETRY: RetryPolicy = {
  attempts: 0,
  delayMs: 1_000,
  backoff: 'exponential',
  maxDelayMs: 30_000,
  jitter: false,
  stopOn: [],
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly at: Instant }
  | { readonly kind: 'giveUp' }

export interface AttemptFailed {
  /** The attempt that failed, 1-based. */
  readonly attempt: number
  readonly errorName: string
  readonly fatal: boolean
  /** "Not before": asked for by the error itself. */
  readonly retryAfterMs: number | null
  readonly now: Instant
  /** 0 ≤ random < 1, from the caller; used only with jitter. */
  readonly random: number
}

/** The delay before retry n (1-based): base · 2^(n−1), capped; fixed if asked for. (0 · 2^1024 would be NaN.) */
export function retryDelayMs(policy: RetryPolicy, retry: number, random: number): number {
  const base =
    policy.backoff === 'fixed'
      ? policy.delayMs
      : Math.min(policy.delayMs * 2 ** Math.min(retry - 1, 1_000), policy.maxDelayMs)
  return policy.jitter ? Math.round(base * (0.5 + random)) : base
}

export function decideRetry(policy: RetryPolicy, failed: AttemptFailed): RetryDecision {
  if (failed.fatal || failed.attempt > policy.attempts) return { kind: 'giveUp' }
  if (policy.stopOn.includes(failed.errorName)) return { kind: 'giveUp' }
  const delayMs = Math.max(
    retryDelayMs(policy, failed.attempt, failed.random),
    failed.retryAfterMs ?? 0,
  )
  return { kind: 'retry', at: failed.now + delayMs }
}
