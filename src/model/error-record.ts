// Thrown things as text. Always succeeds: a failure that cannot be recorded would be a second failure.
//
// The text is a record that people can read and SQL can query, in plain JSON unless a field needs more. What
// cannot be stored is left out, what is long is cut, and the same error twice in a chain of causes ends it.

import { decode, encode } from './codec.js'
import { type ErrorClasses, fillError, isError, isErrorShape, readError } from './error-shape.js'
import { shown, textForeign } from './errors.js'
import {
  ERROR_BYTES_MAX,
  ERROR_CAUSES_MAX,
  ERROR_FIELDS_BYTES_MAX,
  ERROR_NAME_MAX,
  ERROR_TEXT_MAX,
} from './limits.js'
import { fatal, marksOf } from './marks.js'
import type { Stored } from './run.js'

/** As stored. A cause that is an Error is a record too; any other is a value. */
interface ErrorRecord {
  readonly name: string
  readonly message: string
  readonly code?: unknown
  readonly stack?: string
  readonly cause?: ErrorRecord
  readonly causeValue?: unknown
  readonly fields?: object
  readonly className?: string
  readonly perdure?: true
  /** Whoever threw it said that no retry helps. */
  readonly fatal?: true
}

/** What people are shown of a failure. */
export interface ErrorSummary {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly hint?: string
  readonly stack?: string
}

/** How much is kept: all, all but the causes, or only what says what happened. */
const KEEPS = ['all', 'no causes', 'only the message'] as const
type Keep = (typeof KEEPS)[number]

export function encodeError(error: unknown, where: string): Stored {
  for (const keep of KEEPS) {
    try {
      return encode(recordOf(error, keep, []), where, ERROR_BYTES_MAX)
    } catch {
      // Too large, or hostile: less of it is tried next.
    }
  }
  const message = `Something that cannot be read was thrown in ${cut(where, ERROR_NAME_MAX)}.`
  return encode({ name: NON_ERROR, message }, where)
}

/**
 * The Error that was recorded. With its name in `classes` it is an instance of that class (its constructor is
 * not called); a PerdureError is one again; all others are plain Errors that have the recorded name.
 */
export function decodeError(stored: Stored, classes?: ErrorClasses): Error {
  return errorOf(decode(stored), classes)
}

export function errorRecord(stored: Stored): ErrorSummary {
  const record = decode(stored)
  if (!isErrorShape(record)) throw textForeign(undefined)
  const { name, message, code, stack, fields } = record
  const { hint } = (fields ?? {}) as { readonly hint?: unknown }
  return {
    name,
    message,
    ...((typeof code === 'string' || typeof code === 'number') && { code: String(code) }),
    ...(typeof hint === 'string' && hint !== '' && { hint }),
    ...(stack !== undefined && { stack }),
  }
}

/** Whether it was thrown as fatal(): that holds for whoever would try the whole again. */
export function isFatalRecord(stored: Stored): boolean {
  return (decode(stored) as { fatal?: unknown } | null)?.fatal === true
}

function errorOf(record: unknown, classes: ErrorClasses | undefined): Error {
  if (!isErrorShape(record)) throw textForeign(undefined)
  const { cause, causeValue, ...shape } = record as ErrorRecord
  const causes = cause !== undefined ? { cause: errorOf(cause, classes) } : { cause: causeValue }
  const hasCause = Object.hasOwn(record, 'cause') || Object.hasOwn(record, 'causeValue')
  const error = fillError(new Error(), { ...shape, ...(hasCause && causes) }, classes)
  return shape.fatal ? fatal(error) : error
}

// ── what is kept ────────────────────────────────────────────────────────────────────────────────────────────

const NON_ERROR = 'NonError'

function recordOf(thrown: unknown, keep: Keep, above: readonly unknown[]): ErrorRecord {
  const error = typeof thrown === 'object' && thrown !== null && isError(thrown) ? thrown : null
  if (error === null) return recordOfNonError(thrown)
  const { name, message, stack, code, cause, fields, className, perdure } = readError(error)
  const bare = keep === 'only the message'
  return {
    name: cut(name, ERROR_NAME_MAX),
    message: cut(message, ERROR_TEXT_MAX),
    ...(storable(code?.value, ERROR_NAME_MAX) && { code: code?.value }),
    ...(stack !== undefined && !bare && { stack: cut(stack, ERROR_TEXT_MAX) }),
    ...(cause && keep === 'all' && causeOf(cause.value, [...above, error])),
    ...(fields && !bare && fieldsOf(fields)),
    ...(className !== undefined && { className: cut(className, ERROR_NAME_MAX) }),
    ...(perdure && { perdure }),
    ...(marksOf(error).fatal && { fatal: true as const }),
  }
}

/** `throw 'no funds'`: the text is the message. The thing itself is in `thrown`, if it can be stored. */
function recordOfNonError(thrown: unknown): ErrorRecord {
  const { message, code } = Object(thrown) as { message?: unknown; code?: unknown }
  const text = typeof thrown === 'string' ? thrown : typeof message === 'string' ? message : null
  return {
    name: NON_ERROR,
    message: cut(text ?? summary(thrown), ERROR_TEXT_MAX),
    ...(storable(code, ERROR_NAME_MAX) && { code }),
    ...fieldsOf({ thrown }),
  }
}

/** `shown` has no limit on what it reads, and a thrown thing may be anything. */
function summary(thrown: unknown): string {
  return typeof thrown !== 'object' || storable(thrown, ERROR_FIELDS_BYTES_MAX)
    ? shown(thrown)
    : Object.prototype.toString.call(thrown)
}

function causeOf(
  cause: unknown,
  above: readonly unknown[],
): Pick<ErrorRecord, 'cause' | 'causeValue'> {
  if (typeof cause === 'object' && cause !== null && isError(cause)) {
    if (above.includes(cause) || above.length > ERROR_CAUSES_MAX) return {}
    return { cause: recordOf(cause, 'all', above) }
  }
  return storable(cause, ERROR_FIELDS_BYTES_MAX) ? { causeValue: cause } : {}
}

function fieldsOf(found: object): Pick<ErrorRecord, 'fields'> {
  const fields = {}
  let room = ERROR_FIELDS_BYTES_MAX
  for (const key of Object.keys(found)) {
    try {
      const value = (found as Record<string, unknown>)[key]
      if (value === undefined) continue
      const text = encode({ [key]: value }, '', room)
      room -= text.length
      // Decoded: read once, so it is still what was checked when the whole record is encoded.
      const copy = (decode(text) as Record<string, unknown>)[key]
      Object.defineProperty(fields, key, { value: copy, enumerable: true })
    } catch {
      // It cannot be stored, or does not fit: the error is told without it.
    }
  }
  return Object.keys(fields).length > 0 ? { fields } : {}
}

function storable(value: unknown, bytesMax: number): boolean {
  if (value === undefined) return false
  try {
    encode(value, '', bytesMax)
    return true
  } catch {
    return false
  }
}

/** At most so many UTF-16 units, and no half of a character at the end. */
function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  const end = /[\ud800-\udbff]/.test(text.charAt(lengthMax - 2)) ? lengthMax - 2 : lengthMax - 1
  return `${text.slice(0, end)}…`
}
