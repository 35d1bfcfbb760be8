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

/** Throws what a question was rejected with as user code gets it. */
export type ThrowRecorded = (reason: unknown) => never

interface Reading {
  /** Made once for an engine, and not for every step. */
  readonly throwRecorded: ThrowRecorded
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
  around: Reading,
  read?: (value: T) => unknown,
): Promise<unknown> {
  const given = answer.then(read, around.throwRecorded)
  // A forgotten await must not end the process: the failure is in the journal.
  given.catch(ignore)
  return given
}

// Not made anew for every step.
const ignore = (): void => {}

/** Errors of these classes come back as themselves. */
export function throwRecordedAs(classes: ErrorClasses): ThrowRecorded {
  return (reason) => {
    throw reason instanceof Failure ? recordedError(reason, classes) : reason
  }
}

export function decoded(answer: Promise<Stored>, around: Reading): Promise<unknown> {
  return answered(answer, around, decode)
}

function recordedError(failure: Failure, classes: ErrorClasses): Error {
  const error = decodeError(failure.error, classes)
  failures.set(error, failure)
  return error
}

/** A recorded error, as user code gets it. */
export function recordedIn(payload: Stored, around: Reading): Error {
  try {
    return around.throwRecorded(new Failure(payload))
  } catch (error) {
    return error as Error
  }
}

/** The same answer; its failure is thrown as another error, and is still the failure of its question. */
export function failedAs(answer: Promise<unknown>, as: (cause: Error) => Error): Promise<unknown> {
  const given = answer.catch((cause: Error) => {
    const error = as(cause)
    const failure = failures.get(cause)
    if (failure) failures.set(error, failure)
    throw error
  })
  given.catch(ignore)
  return given
}

/** What a body rejects with: the very failure of the question whose error it let escape, or a new one. */
export function failureOf(error: unknown, where: string): Failure {
  if (error instanceof Failure) return error
  const known = error instanceof Error ? failures.get(error) : undefined
  if (known) return known
  const { retryAfterMs } = marksOf(error)
  return new Failure(encodeError(error, where), {
    message: messageOf(error),
    ...(retryAfterMs !== null && { retryAfterMs }),
  })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

interface Kept {
  readonly name: string
  readonly valueBytesMax: number
  /** What the code did is rolled back when its result cannot be kept. */
  readonly undone: boolean
}

interface Executed extends Kept {
  /** Names of errors that are not retried. */
  readonly stopOn: readonly string[]
  /** The run that its code could ask something of; null if it cannot. */
  readonly run: Executing | null
}

/** One execution of user code: its result as it is stored, or its failure. */
export async function executed<G>(
  code: (given: G) => unknown,
  given: G,
  step: Executed,
): Promise<Effect> {
  const { run } = step
  let result: unknown
  if (run) run.executing += 1
  try {
    result = await code(given)
  } catch (error) {
    throw thrown(error, step)
  } finally {
    if (run) run.executing -= 1
  }
  return effectOf(result, step)
}
calledByStep(executed)

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

export function effectOf(result: unknown, step: Kept): Effect {
  try {
    return { value: encode(result, `the result of step "${step.name}"`, step.valueBytesMax) }
  } catch (error) {
    throw unstorable(error, step)
  }
}

/** The code has run and gave back what cannot be kept. Running it again would do it again. */
function unstorable(error: unknown, step: Kept): Failure {
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
