// Between the seam's stored values and what user code sees: decoded results out, recorded errors both ways.

import { decode, encode } from '../model/codec.js'
import { decodeError, encodeError } from '../model/error-record.js'
import { PerdureError } from '../model/errors.js'
import { type Effect, Failure } from '../model/program.js'
import type { Stored } from '../model/run.js'

/** Which question a recorded error came from: user code may let it escape, and the kernel wants to know. */
const failures = new WeakMap<Error, Failure>()

/** Turns an answer into what user code gets: the decoded value, or the recorded error thrown. */
export function answered<T>(answer: Promise<T>): Promise<T>
export function answered<T, U>(answer: Promise<T>, read: (value: T) => U): Promise<U>
export function answered<T>(answer: Promise<T>, read?: (value: T) => unknown): Promise<unknown> {
  const given = answer.then(read, throwRecorded)
  // A forgotten await must not end the process: the failure is in the journal.
  given.catch(ignore)
  return given
}

// Not made anew for every step.
const ignore = (): void => {}
const throwRecorded = (reason: unknown): never => {
  throw reason instanceof Failure ? recordedError(reason) : reason
}

export function decoded(answer: Promise<Stored>): Promise<unknown> {
  return answered(answer, decode)
}

function recordedError(failure: Failure): Error {
  const error = decodeError(failure.error)
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

interface Executed {
  readonly name: string
  readonly valueBytesMax: number
  /** What the code did is rolled back when its result cannot be kept. */
  readonly undone: boolean
}

/** One execution of user code: its result as it is stored, or its failure. */
export async function executed<G>(
  code: (given: G) => unknown,
  given: G,
  step: Executed,
): Promise<Effect> {
  let result: unknown
  try {
    result = await code(given)
  } catch (error) {
    const where = `the error of step "${step.name}"`
    throw new Failure(encodeError(error, where), { message: messageOf(error) })
  }
  return effectOf(result, step)
}

export function effectOf(result: unknown, step: Executed): Effect {
  try {
    return { value: encode(result, `the result of step "${step.name}"`, step.valueBytesMax) }
  } catch (error) {
    throw unstorable(error, step)
  }
}

/** The code has run and gave back what cannot be kept. Running it again would do it again. */
function unstorable(error: unknown, step: Executed): Failure {
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
