import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AttemptFailed, decideRetry, NO_RETRY, retryDelayMs } from '../../src/model/retry.js'
import type { RetryPolicy } from '../../src/model/run.js'

const NOW = 1_700_000_000_000
const policy = (more: Partial<RetryPolicy> = {}): RetryPolicy => ({
  ...NO_RETRY,
  attempts: 3,
  ...more,
})
const failed = (more: Partial<AttemptFailed> = {}): AttemptFailed => ({
  attempt: 1,
  errorName: 'Error',
  fatal: false,
  retryAfterMs: null,
  now: NOW,
  random: 0.25,
  ...more,
})
const retryIn = (delayMs: number) => ({ kind: 'retry', at: NOW + delayMs })
const giveUp = { kind: 'giveUp' }

describe('the delay before a retry', () => {
  test('doubles from 1 s and stays at 30 s', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7].map((retry) => retryDelayMs(policy(), retry, 0.9))
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  test('is always the same when it is fixed, and not capped', () => {
    const fixed = policy({ backoff: 'fixed', delayMs: 45_000 })
    expect([1, 2, 9].map((retry) => retryDelayMs(fixed, retry, 0.9))).toEqual([
      45_000, 45_000, 45_000,
    ])
  })

  test('is within half and one and a half of itself with jitter', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), random, (retry, drawn) => {
        const plain = retryDelayMs(policy(), retry, drawn)
        const jittered = retryDelayMs(policy({ jitter: true }), retry, drawn)
        expect(jittered).toBeGreaterThanOrEqual(plain * 0.5)
        expect(jittered).toBeLessThanOrEqual(plain * 1.5)
        expect(Number.isInteger(jittered)).toBe(true)
      }),
    )
  })

  test('differs with what was drawn, with jitter only', () => {
    expect(retryDelayMs(policy({ jitter: true }), 1, 0)).toBe(500)
    expect(retryDelayMs(policy({ jitter: true }), 1, 0.5)).toBe(1_000)
    expect(retryDelayMs(policy(), 1, 0)).toBe(retryDelayMs(policy(), 1, 0.5))
  })

  test('is a number however many retries there were', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 2 ** 31 }), (delayMs, retry) => {
        expect(retryDelayMs(policy({ delayMs }), retry, 0)).toBe(
          delayMs === 0 ? 0 : Math.min(delayMs * 2 ** (retry - 1), 30_000),
        )
      }),
    )
    expect(retryDelayMs(policy({ delayMs: 0 }), 5_000, 0)).toBe(0)
  })
})

describe('after a failed attempt', () => {
  test.each([
    {
      policy: policy(),
      failed: failed(),
      decision: retryIn(1_000),
      because: 'the first retry waits the base delay',
    },
    {
      policy: policy(),
      failed: failed({ attempt: 3 }),
      decision: retryIn(4_000),
      because: 'three retries are four executions',
    },
    {
      policy: policy(),
      failed: failed({ attempt: 4 }),
      decision: giveUp,
      because: 'the fourth execution was the last',
    },
    {
      policy: NO_RETRY,
      failed: failed(),
      decision: giveUp,
      because: 'without retries there is one execution',
    },
    {
      policy: policy(),
      failed: failed({ fatal: true }),
      decision: giveUp,
      because: 'a fatal error is not tried again',
    },
    {
      policy: policy({ stopOn: ['CardDeclined'] }),
      failed: failed({ errorName: 'CardDeclined' }),
      decision: giveUp,
      because: 'its name is in stopOn',
    },
    {
      policy: policy({ stopOn: ['CardDeclined'] }),
      failed: failed({ errorName: 'Error' }),
      decision: retryIn(1_000),
      because: 'its name is not in stopOn',
    },
    {
      policy: policy(),
      failed: failed({ retryAfterMs: 20_000 }),
      decision: retryIn(20_000),
      because: 'the error asked for a later retry',
    },
    {
      policy: policy(),
      failed: failed({ retryAfterMs: 10 }),
      decision: retryIn(1_000),
      because: 'the delay is later than what the error asked for',
    },
    {
      policy: policy(),
      failed: failed({ retryAfterMs: 90_000 }),
      decision: retryIn(90_000),
      because: 'the cap is for our delays, not for what was asked for',
    },
    {
      policy: policy(),
      failed: failed({ attempt: 4, retryAfterMs: 10 }),
      decision: giveUp,
      because: 'asking for a later retry gives no more of them',
    },
    {
      policy: policy(),
      failed: failed({ fatal: true, retryAfterMs: 10 }),
      decision: giveUp,
      because: 'fatal wins over later',
    },
    {
      policy: policy({ jitter: true }),
      failed: failed(),
      decision: retryIn(750),
      because: 'jitter draws between half and one and a half',
    },
  ])('$decision.kind: $because', ({ policy, failed, decision }) => {
    expect(decideRetry(policy, failed)).toEqual(decision)
  })

  test('N retries are N + 1 executions', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 50 }), (attempts) => {
        let executions = 1
        while (
          decideRetry(policy({ attempts }), failed({ attempt: executions })).kind === 'retry'
        ) {
          executions += 1
        }
        expect(executions).toBe(attempts + 1)
      }),
    )
  })
})
