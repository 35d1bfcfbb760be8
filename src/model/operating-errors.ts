// What is said when people, or their own transactions, ask for what cannot be done.

import { PerdureError } from './error.js'

const FOREIGN = {
  none: [
    'The client given as `transaction` is not inside a transaction.',
    'send "begin" on it first (a pool is no transaction), or use engine.transaction',
  ],
  elsewhere: [
    'The client given as `transaction` is not on the database of this engine.',
    'use a client of the database and schema that createEngine was given, or engine.transaction',
  ],
  embedded: [
    'The embedded database has no transactions but those of engine.transaction.',
    'call it inside engine.transaction(async (tx) => …), with { transaction: tx }',
  ],
  redis: [
    'Redis as the database has no transactions: wf.transaction, ctx.transaction(), engine.transaction and { transaction } are refused.',
    'use wf.do with an idempotency key, or PostgreSQL as the database',
  ],
} as const

/** `none`: no transaction at all. */
export const transactionForeign = (why: keyof typeof FOREIGN, cause?: unknown): PerdureError => {
  const [message, hint] = FOREIGN[why]
  return new PerdureError('TRANSACTION_INVALID', message, { hint, cause })
}

/** `names`: what there is. */
export const pointUnknown = (
  option: string,
  name: string,
  names: readonly string[],
): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    `Option "${option}" in engine.fork names ${JSON.stringify(name)}, of which the run has ${
      option === 'from' ? 'nothing in its history' : 'no result before that point'
    }.`,
    {
      hint:
        names.length === 0
          ? 'there is none yet: leave it out'
          : `there is ${names
              .slice(0, 10)
              .map((one) => JSON.stringify(one))
              .join(', ')}${names.length > 10 ? ', …' : ''}`,
      details: { option, names },
    },
  )

export const outcomeOfTransactionUnknown = (cause: unknown): PerdureError =>
  new PerdureError(
    'OUTCOME_UNKNOWN',
    'The database did not say whether it has committed the transaction of engine.transaction.',
    { hint: 'look for what it wrote; a start with an id of your own may be repeated', cause },
  )

/** `available`: what the run takes now. */
export const notAvailable = (
  runId: string,
  name: string,
  available: readonly string[],
): PerdureError => {
  const listed = available.map((one) => `"${one}"`).join(', ')
  const takes = available.length === 0 ? 'it takes nothing now' : `it takes ${listed}`
  return new PerdureError('NOT_AVAILABLE', `Run ${runId} cannot take "${name}" now: ${takes}.`, {
    hint: "wait for it with { within: '5s' }, or send it with signal, which is kept until the run takes it",
    runId,
    details: { available },
  })
}

export const notTakenYet = (runId: string, name: string): PerdureError =>
  new PerdureError(
    'OUTCOME_UNKNOWN',
    `Run ${runId} has neither taken nor refused "${name}" so far: no worker has come to it.`,
    {
      hint: 'ask engine.explain for the reason; the same trigger again with the same { id } is applied once',
      runId,
    },
  )
