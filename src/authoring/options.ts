// Options of steps, read once: everything wrong with them is said at the call.

import { checkOptions, optionInvalid, PerdureError } from '../model/errors.js'
import { NO_RETRY } from '../model/retry.js'
import type { RetryPolicy } from '../model/run.js'
import { type Duration, durationMs } from '../model/time.js'

export const RETRY_OPTIONS = ['retry', 'retries', 'retryDelay'] as const
export const STEP_OPTIONS = [...RETRY_OPTIONS, 'timeout'] as const
const RETRY_FIELDS = ['attempts', 'delay', 'backoff', 'maxDelay', 'jitter', 'stopOn'] as const
const ATTEMPTS_MAX = 1_000_000

type Given = Readonly<Record<string, unknown>>

export interface StepSettings {
  /** null: not said. */
  readonly retry: RetryPolicy | null
  readonly timeoutMs: number | null
}

const NONE: StepSettings = { retry: null, timeoutMs: null }

export function readStepOptions(options: unknown, where: string): StepSettings {
  if (options === undefined) return NONE
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, STEP_OPTIONS)
  const given = options as Given
  return { retry: readRetry(given, where), timeoutMs: readTimeout(given.timeout, where) }
}

export function readTimeout(timeout: unknown, where: string): number | null {
  if (timeout === undefined) return null
  const ms = durationMs(timeout as Duration)
  if (ms === 0) throw optionInvalid('timeout', where, timeout, 'longer than 0')
  return ms
}

/** `retry`, or `retries` with an optional fixed `retryDelay`; null if none is given. */
export function readRetry(given: Given, where: string): RetryPolicy | null {
  const { retry, retries, retryDelay } = given
  if (retry !== undefined) {
    if (retries !== undefined || retryDelay !== undefined) throw bothSpellings(where)
    return typeof retry === 'number'
      ? { ...NO_RETRY, attempts: count('retry', retry, where) }
      : readPolicy(retry, where)
  }
  if (retryDelay !== undefined && retries === undefined) {
    throw optionInvalid('retryDelay', where, retryDelay, 'given together with "retries"')
  }
  if (retries === undefined) return null
  const attempts = count('retries', retries, where)
  if (retryDelay === undefined) return { ...NO_RETRY, attempts }
  return { ...NO_RETRY, attempts, delayMs: durationMs(retryDelay as Duration), backoff: 'fixed' }
}

function readPolicy(retry: unknown, where: string): RetryPolicy {
  if (typeof retry !== 'object' || retry === null || Array.isArray(retry)) {
    throw optionInvalid('retry', where, retry, 'a number of retries or { attempts, delay, … }')
  }
  checkOptions(retry, `retry of ${where}`, RETRY_FIELDS)
  const { attempts = 0, delay, backoff = 'exponential', maxDelay, jitter = false } = retry as Given
  if (backoff !== 'fixed' && backoff !== 'exponential') {
    throw optionInvalid('retry.backoff', where, backoff, "'fixed' or 'exponential'")
  }
  if (typeof jitter !== 'boolean') {
    throw optionInvalid('retry.jitter', where, jitter, 'true or false')
  }
  return {
    attempts: count('retry.attempts', attempts, where),
    delayMs: delay === undefined ? NO_RETRY.delayMs : durationMs(delay as Duration),
    backoff,
    maxDelayMs: maxDelay === undefined ? NO_RETRY.maxDelayMs : durationMs(maxDelay as Duration),
    jitter,
    stopOn: readStopOn((retry as Given).stopOn, where),
  }
}

/** Names or classes of errors; a class counts by its name, so that the rule is data. */
function readStopOn(stopOn: unknown, where: string): readonly string[] {
  if (stopOn === undefined) return []
  if (!Array.isArray(stopOn)) {
    throw optionInvalid('retry.stopOn', where, stopOn, 'a list of error names or classes')
  }
  return stopOn.map((entry: unknown) => {
    const name = typeof entry === 'function' ? entry.name : entry
    if (typeof name !== 'string' || name === '') {
      throw optionInvalid('retry.stopOn', where, entry, 'a list of error names or classes')
    }
    return name
  })
}

function count(option: string, value: unknown, where: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= ATTEMPTS_MAX) {
    return value
  }
  throw optionInvalid(option, where, value, 'a whole number of retries, 0 or more')
}

function bothSpellings(where: string): PerdureError {
  return new PerdureError('OPTION_INVALID', `Both "retry" and "retries" are given in ${where}.`, {
    hint: 'keep one: retry: { attempts, delay, … }, or retries with an optional retryDelay',
  })
}
