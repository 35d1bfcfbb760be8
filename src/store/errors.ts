// What the database's errors mean to the kernel.

import { setTimeout as sleep } from 'node:timers/promises'
import { StoreRefused, StoreUnavailable } from '../kernel/store.js'
import { DriverError } from './driver.js'

/** A lost race of the database itself: the whole call again. */
const AGAIN = new Set(['40001', '40P01', '57014', '55P03'])
/** A value of the batch. */
const REFUSED = /^(22|23|54)/
const TRIES_MAX = 10

export function isLockTimeout(error: unknown): boolean {
  return error instanceof DriverError && error.sqlState === '55P03'
}

export function isLostRace(error: unknown): boolean {
  return error instanceof DriverError && (AGAIN.has(error.sqlState) || isCopy(error))
}

/**
 * A turn that was sent again has met its original, which was not committed when the fence was read (0002, C7); or two have
 * published to one run (0011, P2).
 */
function isCopy({ sqlState, message }: DriverError): boolean {
  return sqlState === '23505' && /journal_pkey|chunks_pkey/.test(message)
}

/**
 * Runs a whole call, again (with jitter) where the database asks for it. `lockTimeout: 'throw'` leaves 55P03 to the
 * caller, who can divide what it sends.
 */
export async function withRetries<T>(
  call: () => Promise<T>,
  lockTimeout: 'again' | 'throw' = 'again',
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (lockTimeout === 'throw' && isLockTimeout(error)) throw error
      if (!isLostRace(error) || tries >= TRIES_MAX) throw asStoreError(error)
      await sleep(Math.random() * 5 * 2 ** Math.min(tries, 5))
    }
  }
}

/** Only a refused value is the batch's own; all else says nothing about it, so it is sent again. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof DriverError)) return error
  if (error.connection || isLostRace(error)) {
    return new StoreUnavailable(error.message, { cause: error })
  }
  if (REFUSED.test(error.sqlState)) {
    return new StoreRefused(error.message, error.sqlState, { cause: error })
  }
  return error
}
