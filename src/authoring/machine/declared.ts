// Transitions as a class or an object declares them: what each says, read once.

import { checkOptions, optionInvalid, PerdureError, shown } from '../../model/errors.js'
import { isStepName } from '../../model/ids.js'
import { NO_RETRY } from '../../model/retry.js'
import type { RetryPolicy } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { notASchema } from '../definition.js'
import { readRetry } from '../options.js'
import { isSchema } from '../schema.js'
import type { Schema } from '../types.js'
import type { Call, Guard } from './description.js'

export const START = 'start'
export const END = 'end'

export const TRANSITION_OPTIONS = [
  'from',
  'to',
  'wait',
  'priority',
  'schema',
  'retry',
  'timeout',
  'after',
] as const

type Given = Readonly<Record<string, unknown>>

export interface TransitionSettings {
  readonly from: readonly string[]
  readonly to: string
  readonly wait: boolean
  readonly priority: number
  readonly schema: Schema | null
  readonly retry: RetryPolicy
  readonly errorPlace: string | null
  readonly timeoutMs: number | null | undefined
  readonly afterMs: number | null
}

/** One transition of a method, with the code that it runs. */
export interface Declared {
  readonly name: string
  readonly settings: TransitionSettings
  readonly guard: Guard | null
  readonly code: (call: Call) => unknown
}

export type ArgumentsOf = (call: Call) => readonly unknown[]

/** A transition that waits has a payload. */
export function argumentsOf(wait: boolean): ArgumentsOf {
  return wait
    ? ({ state, payload, context }) => [state, payload, context]
    : ({ state, context }) => [state, context]
}

/** How people find what is spoken of. */
export interface Spelling {
  /** 'class Review', 'machine("review")' */
  readonly about: string
  /** 'Method' or 'Transition' */
  readonly noun: string
}

export const sayOf = ({ about, noun }: Spelling, name: string): string =>
  `${noun} ${name} of ${about}`

export const invalid = (message: string, hint: string): PerdureError =>
  new PerdureError('DEFINITION_INVALID', message, { hint })

/** Names that begin with a bracket are the engine's own: (retry), (begin). */
export function checkName(what: string, name: string): void {
  if (isStepName(name) && !name.startsWith('(')) return
  throw new PerdureError('NAME_INVALID', `${shown(name)} cannot be the name of ${what}.`, {
    hint: 'use a text of 1 to 256 bytes without control characters, without spaces at its ends and without a bracket at its beginning',
  })
}

/** `what`: "Method approve of class Review". */
export function readTransition(options: unknown, what: string): TransitionSettings {
  const where = `the transition of ${what[0]?.toLowerCase()}${what.slice(1)}`
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', where, options, "an object, as { from: 'here', to: 'there' }")
  }
  checkOptions(options, where, TRANSITION_OPTIONS)
  const given = options as Given
  const wait = given.wait ?? false
  if (typeof wait !== 'boolean') throw optionInvalid('wait', where, wait, 'true or false')
  const { schema } = given
  if (schema !== undefined && !isSchema(schema)) throw notASchema('schema', where, schema)
  if (schema !== undefined && !wait) {
    throw invalid(
      `${what} has a schema, and takes no payload.`,
      'add wait: true, or leave the schema out',
    )
  }
  return {
    from: readFrom(given.from, where),
    to: readPlace('to', given.to, where),
    wait,
    priority: readPriority(given.priority, where),
    schema: schema ?? null,
    ...readErrors(given.retry, where, what),
    timeoutMs: readTimeout(given.timeout),
    afterMs: readAfter(given.after, wait, what),
  }
}

function readFrom(from: unknown, where: string): readonly string[] {
  if (from === undefined) return [START]
  if (!Array.isArray(from)) return [readPlace('from', from, where)]
  if (from.length === 0) throw optionInvalid('from', where, from, 'one place or more')
  return from.map((place: unknown) => readPlace('from', place, where))
}

function readPlace(option: string, place: unknown, where: string): string {
  if (typeof place !== 'string') throw optionInvalid(option, where, place, 'the name of a place')
  checkName(`a place, in ${where}`, place)
  return place
}

function readPriority(priority: unknown, where: string): number {
  if (priority === undefined) return 0
  if (typeof priority === 'number' && Number.isFinite(priority)) return priority
  throw optionInvalid('priority', where, priority, 'a number; the highest goes first')
}

/** 0 is none; undefined is as usual. */
function readTimeout(timeout: unknown): number | null | undefined {
  if (timeout === undefined) return undefined
  return durationMs(timeout as Duration) || null
}

function readAfter(after: unknown, wait: boolean, what: string): number | null {
  if (after === undefined) return null
  if (!wait) return durationMs(after as Duration)
  throw invalid(
    `${what} has both "after" and "wait".`,
    'a transition waits for a message or for a time: keep one of them',
  )
}

/** Nothing said, and attempts: -1, mean that a person tries it again. */
function readErrors(
  retry: unknown,
  where: string,
  what: string,
): Pick<TransitionSettings, 'retry' | 'errorPlace'> {
  if (retry === undefined || retry === -1) return { retry: NO_RETRY, errorPlace: null }
  const isPolicy = typeof retry === 'object' && retry !== null && !Array.isArray(retry)
  if (!isPolicy) return { retry: readRetry({ retry }, where) ?? NO_RETRY, errorPlace: null }
  const { place, ...given } = retry as Given
  if (given.attempts === -1 && place !== undefined) {
    throw invalid(
      `${what} has retry.attempts -1, and retry.place: a person is to try it again, and it is to go elsewhere.`,
      'keep one of them: attempts: 0 goes to the place at the first failure',
    )
  }
  const policy = given.attempts === -1 ? { ...given, attempts: 0 } : given
  return {
    retry: readRetry({ retry: policy }, where) ?? NO_RETRY,
    errorPlace: place === undefined ? null : readPlace('retry.place', place, where),
  }
}
