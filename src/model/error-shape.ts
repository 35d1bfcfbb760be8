// What is kept of an Error, and how it is made again. Pure shape: what its parts may be is the caller's to say.

import { CODES, ERROR_BRAND, type ErrorCode, PerdureError, shown } from './errors.js'

export interface ErrorShape {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly code?: unknown
  readonly cause?: unknown
  /** Own enumerable properties that are none of the above. */
  readonly fields?: object
  /** The name of its class, where its own name is another. */
  readonly className?: string
  /** One of ours: comes back as PerdureError. */
  readonly perdure?: true
}

/** Present or not is one question, undefined or not another. */
interface Found {
  readonly value: unknown
}

export interface ErrorParts {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly code?: Found
  readonly cause?: Found
  readonly fields?: object
  readonly className?: string
  readonly perdure?: true
}

/** Classes by their names. */
export type ErrorClasses = ReadonlyMap<string, { readonly prototype: object }>

/** Errors of any realm, and those that only inherit from Error, such as DOMException. */
export function isError(value: object): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
}

/**
 * The name that is recorded, shown and compared with `stopOn`. `class CardDeclined extends Error {}` does not
 * set its name, but means it; Node's own NodeError does not mean it.
 */
export function errorName(error: object): string {
  const { name, constructor: made } = error as { name?: unknown; constructor?: { name?: unknown } }
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name
  return meantName(made) ?? 'Error'
}

/** The name of a class, if somebody has given it one to be told by. */
function meantName(made: { name?: unknown } | undefined): string | null {
  const name = made?.name
  return typeof name === 'string' && name !== '' && name !== 'NodeError' ? name : null
}

const CLASSES_MAX = 20

/** The names of the classes of an error, its own first: what `instanceof` would look through. */
export function classNames(error: object): readonly string[] {
  const names: string[] = []
  let at = Object.getPrototypeOf(error)
  while (at !== null && names.length < CLASSES_MAX) {
    const name = meantName((at as { constructor?: { name?: unknown } }).constructor)
    if (name === null || name === 'Error' || name === 'Object') break
    names.push(name)
    at = Object.getPrototypeOf(at)
  }
  return names
}

const OWN_PLACE = new Set(['name', 'message', 'stack', 'code', 'cause'])

export function readError(error: object): ErrorParts {
  const { message, stack, code } = error as { message: unknown; stack: unknown; code?: unknown }
  const cause = Object.hasOwn(error, 'cause')
  const name = errorName(error)
  const [className] = classNames(error)
  const fields: Record<string, unknown> = {}
  for (const key of Object.keys(error)) if (!OWN_PLACE.has(key)) linkProperty(fields, error, key)
  // Of an AggregateError, and not enumerable there.
  if (Object.hasOwn(error, 'errors')) linkProperty(fields, error, 'errors')
  return {
    name,
    message: typeof message === 'string' ? message : shown(message),
    ...(typeof stack === 'string' && { stack }),
    ...((code !== undefined || Object.hasOwn(error, 'code')) && { code: { value: code } }),
    ...(cause && { cause: { value: (error as { cause: unknown }).cause } }),
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(className !== undefined && className !== name && { className }),
    ...(PerdureError.is(error) && { perdure: true as const }),
  }
}

/** Reads through to the error later, when whoever reads knows what to do if that throws. */
function linkProperty(fields: object, error: object, key: string): void {
  const get = (): unknown => (error as Record<string, unknown>)[key]
  Object.defineProperty(fields, key, { get, enumerable: true, configurable: true })
}

export function isErrorShape(value: unknown): value is ErrorShape {
  if (typeof value !== 'object' || value === null) return false
  const { name, message, stack, fields, className } = value as Record<string, unknown>
  return (
    typeof name === 'string' &&
    typeof message === 'string' &&
    (stack === undefined || typeof stack === 'string') &&
    (className === undefined || typeof className === 'string') &&
    (fields === undefined || (typeof fields === 'object' && fields !== null))
  )
}

/** Makes an empty Error into the recorded one. No constructor of a user's class is called. */
export function fillError(error: Error, shape: ErrorShape, classes?: ErrorClasses): Error {
  const prototype = shape.perdure
    ? PerdureError.prototype
    : (classes?.get(shape.className ?? shape.name)?.prototype ?? null)
  if (prototype !== null) Object.setPrototypeOf(error, prototype)
  hide(error, 'message', shape.message)
  hide(error, 'name', shape.name)
  // Without a recorded stack it has none: that of the decoding would point at us.
  hide(error, 'stack', shape.stack)
  if (Object.hasOwn(shape, 'cause')) hide(error, 'cause', shape.cause)
  if (Object.hasOwn(shape, 'code')) show(error, 'code', shape.code)
  const fields = (shape.fields ?? {}) as Record<string, unknown>
  for (const key of Object.keys(fields)) show(error, key, fields[key])
  if (shape.perdure) completePerdure(error, shape)
  return error
}

/** What a PerdureError always has, also when the record had to be cut down to its message. */
function completePerdure(error: Error, { code }: ErrorShape): void {
  hide(error, ERROR_BRAND, true)
  const known = typeof code === 'string' && Object.hasOwn(CODES, code)
  const retryable = known && CODES[code as ErrorCode].retryable
  for (const [key, value] of Object.entries({ hint: '', retryable, details: {} })) {
    if (!Object.hasOwn(error, key)) show(error, key, value)
  }
}

function hide(error: Error, key: string | symbol, value: unknown): void {
  Object.defineProperty(error, key, {
    value,
    enumerable: false,
    writable: true,
    configurable: true,
  })
}

function show(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true })
}
