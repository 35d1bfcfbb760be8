// What PGlite throws, as the port wants it.

import type { PerdureError } from '../../model/errors.js'
import { DriverError } from '../driver.js'

/** Classes of SQLSTATE that speak of the connection or the server, not of the statement. */
const OF_THE_CONNECTION = /^(08|53|57P|25006)/

export function asDriverError(error: unknown): DriverError {
  if (error instanceof DriverError) return error
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = typeof message === 'string' ? message : String(error)
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    return new DriverError(text, code, OF_THE_CONNECTION.test(code), { cause: error })
  }
  if (/^PGlite is clos/.test(text)) return closedError()
  return new DriverError(text, 'XX000', false, { cause: error })
}

/** What node-postgres tells; PGlite adds the statement and its parameters, which belong into no journal. */
const TOLD = ['severity', 'code', 'detail', 'hint', 'schema', 'table', 'column', 'constraint']

/** User code sees what its client would throw, with the SQLSTATE as `code`; only a lost connection is ours to name. */
export function asUserSees(error: unknown): unknown {
  const { cause, connection, message } = asDriverError(error)
  if (connection || !(cause instanceof Error)) return error
  const told = Object.entries(cause).filter(([key, value]) => TOLD.includes(key) && value)
  return Object.assign(new Error(message), { name: 'error' }, Object.fromEntries(told))
}

export const closedError = (): DriverError =>
  new DriverError('The embedded database is closed.', '08003', true)

/** F0001 is lock_file_exists. Trying again cannot help: the cause says what can. */
export const lostError = (lost: PerdureError): DriverError =>
  new DriverError(lost.message, 'F0001', true, { cause: lost })

export const overLimitError = (limitMs: number): DriverError =>
  new DriverError(
    `The transaction was rolled back: it was open for more than ${limitMs} ms.`,
    '25P04',
    false,
  )

export const endedError = (how: string): DriverError =>
  new DriverError(`The transaction has already been ${how}.`, '25P01', false)

export const endedBySqlError = (): DriverError =>
  new DriverError(
    'The transaction was ended by a statement of its own (commit or rollback); leave that to the engine.',
    '2D000',
    false,
  )

export const abortedError = (): DriverError =>
  new DriverError(
    'The transaction was rolled back instead of committed: one of its statements had failed.',
    '25P02',
    false,
  )
