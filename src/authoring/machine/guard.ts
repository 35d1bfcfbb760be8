// What a guard may say: true or false, and nothing that only looks like it.

import { PerdureError, shown } from '../../model/errors.js'

/** What a guard said, after awaiting. An object, or a promise that nobody awaited, must not count as true. */
export function asBoolean(said: unknown, where: string): boolean {
  if (typeof said === 'boolean') return said
  throw guardInvalid(said, where)
}

/** The same of a guard that cannot be awaited. */
export function asBooleanNow(said: unknown, where: string): boolean {
  if (said instanceof Promise) {
    said.catch(() => {})
    throw guardInvalid('a promise', where, 'a promise')
  }
  return asBoolean(said, where)
}

const guardInvalid = (said: unknown, where: string, text = shown(said)): PerdureError =>
  new PerdureError('GUARD_INVALID', `${where} gave ${text}: a guard says true or false.`, {
    hint:
      text === 'a promise'
        ? 'a guard here is synchronous: look things up in an action, and keep them in the context'
        : 'compare, as in count > 0, or write Boolean(…)',
  })
