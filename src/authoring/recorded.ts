// Between the seam's stored values and what user code sees: decoded results out, recorded errors both ways.

import { decode, encode } from '../model/codec.js'
import { decodeError, encodeError } from '../model/error-record.js'
import { classNames, type ErrorClasses } from '../model/error-shape.js'
import { PerdureError } from '../model/errors.js'
import { marksOf } from '../model/marks.js'
import { type Effect, Failure } from '../model/program.js'
import type { Stored } from '../model/run.js'
import { calledByStep, type Executing } from './nesting.js'

/** Which question a recorded error came from: user code may let it escape, and the kernel wants to know. */
const failures = new WeakMap<Error, Failure>()

interface Reading {
  readonly errors: ErrorClasses
}

/** Turns an answer into what user code gets: the decoded value, or the recorded error thrown. */
export function answered<T>(answer: Promise<T>, around: Reading): Promise<T>
export function answered<T, U>(
  answer: Promise<T>,
  around: Reading,
  read: (value: T) => U,
): Promise<U>
export function answered<T>(
  answer: Promise<T>,
  { errors }: Reading,
  read?: (value: T) => unknown,
): Promise<unknown> {
  const given = answer.then(read ?? ((value) => value), (reason: unknown) => {
    throw reason instanceof Failure ? recordedError(reason, errors) : reason
  })
  // A forgotten await must not end the process: the failure is in the journal.
  given.catch(() => {})
  return given
}

export function decoded(answer: Promise<Stored>, around: Reading): Promise<unknown> {
  return answered(answer, around, decode)
}

function recordedError(failure: Failure, errors: ErrorClasses): Error {
  const error = decodeError(failure.error, errors)
  failures.set(error, failure)
  return error
}

/** What a body rejects with: the very failure of the question whose error it let escape, or a new one. */
export function failureOf(error: unknown, where: string): Failure {
  if (error instanceof Failure) return error
  const known = error instanceof Error ? failures.get(error) : undefined
  return known ?? new Failure(encodeError(error, where), { message: messageOf(error) })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export interface Executed {
  readonly name: string
  readonly valueBytesMax: number
  /** What the code did is rolled back when its result cannot be kept. */
  readonly undone: boolean
  /** Names of errors that are not retried. */
  readonly stopOn: readonly string[]
  /** Of its run, where its code could ask something of it. */
  readonly executing?: Executing
}

/** One execution of user code: its result as it is stored, or its failure. */
export const executed = calledByStep(
  async (code: () => unknown, step: Executed): Promise<Effect> => {
    const { executing } = step
    let result: unknown
    if (executing) executing.count += 1
    try {
      result = await code()
    } catch (error) {
      throw thrown(error, step)
    } finally {
      if (executing) executing.count -= 1
    }
    return effectOf(result, step)
  },
)

/** What the code threw, as it is recorded, and what that says about trying it again. */
export function thrown(error: unknown, step: Pick<Executed, 'name' | 'stopOn'>): Failure {
  if (error instanceof Failure) return error
  const { fatal, retryAfterMs } = marksOf(error)
  return new Failure(encodeError(error, `the error of step "${step.name}"`), {
    message: messageOf(error),
    fatal: fatal || stops(error, step.stopOn),
    ...(retryAfterMs !== null && { retryAfterMs }),
  })
}

/** A class stops its subclasses too. (The kernel compares the recorded name, which may be another.) */
function stops(error: unknown, stopOn: readonly string[]): boolean {
  if (stopOn.length === 0 || typeof error !== 'object' || error === null) return false
  return classNames(error).some((name) => stopOn.includes(name))
}

export function effectOf(result: unknown, step: Omit<Executed, 'stopOn'>): Effect {
  try {
    return { value: encode(result, `the result of step "${step.name}"`, step.valueBytesMax) }
  } catch (error) {
    throw unstorable(error, step)
  }
}

/** The code has run and gave back what cannot be kept. Running it again would do it again. */
function unstorable(error: unknown, step: Omit<Executed, 'stopOn'>): Failure {
  const told = PerdureError.is(error, 'VALUE_UNSTORABLE', 'VALUE_TOO_LARGE')
    ? new PerdureError(
        error.code,
        step.undone
          ? `${error.message} The transaction was rolled back, and the step is not retried.`
          : `${error.message} The effect of the step has happened; it is not retried.`,
        {
          hint: `${error.hint}; return only what the workflow needs, or nothing: () => { … }`,
          step: step.name,
          details: error.details,
        },
      )
    : error
  return new Failure(encodeError(told, `the error of step "${step.name}"`), {
    message: messageOf(told),
    fatal: true,
  })
}
