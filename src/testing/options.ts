// The options of createTestEngine that createEngine does not have.

import { optionInvalid, PerdureError } from '../model/errors.js'
import { type Duration, durationMs } from '../model/time.js'

/** Beyond this there is no Date. */
export const INSTANT_MAX_MS = 8.64e15
const WHERE = 'createTestEngine'
const PATIENCE_MS = 2_000
/** The same for all engines of a process: what crashEverywhere opens again and again has the same times. */
const LOADED_AT = Date.now()

export interface TestSettings {
  readonly nowMs: number
  readonly seed: number
  readonly patienceMs: number
  /** Those of createEngine. */
  readonly engineOptions: object
}

export function readTestOptions(options: unknown): TestSettings {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', WHERE, options, 'an object')
  }
  const { now, seed, patience, ...engineOptions } = options as Record<string, unknown>
  for (const option of ['database', 'listen', 'transport', 'schema']) {
    if (engineOptions[option] !== undefined) throw hasItsOwn(option)
  }
  return {
    nowMs: readNow(now),
    seed: readSeed(seed),
    patienceMs: readPatience(patience),
    engineOptions,
  }
}

function readNow(now: unknown): number {
  if (now === undefined) return LOADED_AT
  if (now instanceof Date && !Number.isNaN(now.getTime())) return now.getTime()
  throw optionInvalid('now', WHERE, now instanceof Date ? 'an invalid Date' : now, 'a valid Date')
}

function readSeed(seed: unknown): number {
  if (seed === undefined) return 1
  if (typeof seed === 'number' && Number.isFinite(seed)) return seed
  throw optionInvalid('seed', WHERE, seed, 'a number')
}

function readPatience(patience: unknown): number {
  return patience === undefined ? PATIENCE_MS : durationMs(patience as Duration)
}

function hasItsOwn(option: string): PerdureError {
  return new PerdureError(
    'OPTION_UNKNOWN',
    `Unknown option "${option}" in ${WHERE}: each test engine has a database of its own.`,
    { hint: `leave "${option}" out`, details: { option } },
  )
}
