// A step's own transaction: the user's statements, then the run's delta, then COMMIT, on one connection.

import type { Committed, StepTransaction, TurnDelta, Worker } from '../kernel/store.js'
import { PerdureError } from '../model/errors.js'
import { type Call, commitOnce } from './commit.js'
import { DriverError, type DriverTransaction, type Row } from './driver.js'
import { asStoreError, isLostRace } from './errors.js'
import type { Sql } from './sql.js'

interface Opened {
  readonly transaction: DriverTransaction
  readonly sql: Sql
  readonly by: Worker
  readonly mailboxMax: number
  /** Database time, asked on another connection. */
  now(): Promise<number>
}

export async function openStepTransaction(opened: Opened): Promise<StepTransaction> {
  const { transaction, sql, by, mailboxMax } = opened
  const call: Call = async (params) => (await transaction.query(sql.commit, params)).rows as Row[]
  const xact = await transactionId(transaction, sql)
  return {
    query: (text, params) =>
      transaction.query(text, params).catch((error: unknown) => {
        // The rest is for user code, as its own client would throw it.
        throw error instanceof DriverError && error.connection ? asStoreError(error) : error
      }),
    rollback: () => transaction.rollback(),
    inside: (work) => transaction.inside?.(work) ?? work(),
    async close(delta: TurnDelta, { feed }): Promise<Committed> {
      let committed: Committed
      try {
        committed = await commitOnce(call, by, [delta], {
          resent: false,
          feed,
          feedInto: null,
          inTransaction: xact,
          mailboxMax,
        })
      } catch (error) {
        await transaction.rollback()
        const driverError = asDriverError(error)
        // A lost race of the database: the step is executed again, and that is no attempt.
        if (isLostRace(driverError)) {
          return {
            now: await opened.now(),
            answers: BUSY,
            claimed: [],
            feedId: null,
            isAsking: false,
          }
        }
        throw invalidTransaction(driverError) ?? asStoreError(driverError)
      }
      if (committed.answers[0]?.kind !== 'done') {
        await transaction.rollback()
        return committed
      }
      try {
        await transaction.commit()
      } catch (error) {
        const driverError = asDriverError(error)
        if (isLostRace(driverError)) return { ...committed, answers: BUSY, claimed: [] }
        throw asStoreError(driverError)
      }
      return committed
    },
  }
}

const BUSY = [{ kind: 'busy' }] as const

export async function transactionId(transaction: DriverTransaction, sql: Sql): Promise<string> {
  try {
    const { rows } = await transaction.query(sql.transaction)
    return String(rows[0]?.xact)
  } catch (error) {
    await transaction.rollback()
    throw asStoreError(asDriverError(error))
  }
}

/** The user's transaction throws what their client throws. */
export function asDriverError(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code
  if (error instanceof DriverError || !(error instanceof Error) || typeof code !== 'string') {
    return error
  }
  return new DriverError(error.message, code, false, { cause: error })
}

/** PD001: ended by a statement of the user. 25P02: one of their statements failed and they went on. */
export function invalidTransaction(error: unknown, whose = 'this step'): PerdureError | null {
  if (!(error instanceof DriverError)) return null
  const ended = error.sqlState === 'PD001'
  if (!ended && error.sqlState !== '25P02') return null
  const message = ended
    ? `The transaction of ${whose} was ended by a statement of its own (commit or rollback).`
    : `A statement in the transaction of ${whose} had failed, so it cannot be committed.`
  return new PerdureError('TRANSACTION_INVALID', message, {
    hint: ended
      ? 'leave commit and rollback to the engine: return to commit, throw to roll back'
      : 'let the error of the statement leave the function, or use a savepoint around it',
    cause: error,
  })
}
