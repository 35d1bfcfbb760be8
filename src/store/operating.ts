// The operating half of the store port on SQL. What happens inside a caller's transaction goes through their client.

import type {
  CallersTransaction,
  DefinitionStore,
  EventStore,
  ForkPlan,
  Letter,
  LoneAnswer,
  LoneStart,
  OperatingStore,
  PauseAnswer,
  ScheduleStore,
  WebhookStore,
  Within,
} from '../kernel/store.js'
import { outcomeOfTransactionUnknown, transactionForeign } from '../model/errors.js'
import type { MessageId, RunId, Uid } from '../model/ids.js'
import type { Status } from '../model/run.js'
import { sqlDefinitions } from './definitions.js'
import {
  type Driver,
  DriverError,
  type DriverTransaction,
  type Row,
  type SqlValue,
} from './driver.js'
import { asStoreError, withRetries } from './errors.js'
import { sqlEvents } from './events.js'
import { sqlSchedules } from './schedules.js'
import type { Sql } from './sql.js'
import { asDriverError, invalidTransaction, transactionId } from './step-transaction.js'
import { sqlWebhooks } from './webhooks.js'
import { list, metaText, numberOf, onlyRow, pack, textOf, textOrNull } from './wire.js'

const WHOSE = 'engine.transaction'
const FIRST_UID = '00000000-0000-0000-0000-000000000000'
/** Rows that one call of prune looks at, and runs that it deletes: milliseconds, whatever there is. */
const PRUNE_LOOK = 1_000
const PRUNE_MOST = 100

export function sqlOperating(
  driver: Driver,
  sql: Sql,
): Omit<OperatingStore, 'debounce'> & EventStore & ScheduleStore & DefinitionStore & WebhookStore {
  const write = (text: string, params: readonly SqlValue[]) =>
    withRetries(() => driver.query('commit', text, params))
  const through = async (within: Within, text: string, params: readonly SqlValue[]) => {
    if (driver.kind === 'embedded' && !within.isOurs) throw transactionForeign('embedded')
    return callersQuery(within, text, params, sql)
  }
  return {
    ...sqlEvents(sql, write, through),
    ...sqlSchedules(sql, write),
    ...sqlDefinitions(sql, write),
    ...sqlWebhooks(sql, write),
    begin: (limitMs) => begin(driver, sql, limitMs),
    async startAlone(start, within) {
      const params = startParams(start, within)
      const rows = await (within
        ? through(within, sql.startAlone, params)
        : write(sql.startAlone, params))
      return loneAnswer(onlyRow(rows))
    },
    async lookWithin(within, to) {
      const [row] = await through(within, sql.lookWithin, [to.workspace, to.id])
      if (row === undefined) return null
      return { definition: textOf(row, 'def'), status: textOf(row, 'status') as Status }
    },
    async post(within, { to, id, name, payload }) {
      await through(within, sql.post, [to.workspace, to.id, id, name, payload])
    },
    async letters(atMost) {
      return (await write(sql.letters, [atMost])).map(letterOf)
    },
    async burn(letters) {
      if (letters.length > 0) await write(sql.burn, [list(letters)])
    },
    async setPaused({ workspace, id }, isPaused) {
      return pauseAnswer(onlyRow(await write(sql.pause, [workspace, id, isPaused])))
    },
    async fork(plan) {
      const row = onlyRow(await write(sql.fork, forkParams(plan)))
      return row.kind === 'gone' ? { kind: 'gone' } : loneAnswer(row)
    },
    async prune(keepMs, after) {
      const params = [keepMs, after ?? FIRST_UID, PRUNE_LOOK, PRUNE_MOST]
      // Not on a commit connection: nobody waits for it.
      const row = onlyRow(await withRetries(() => driver.query('read', sql.prune, params)))
      if (row.is_ours !== true) return null
      return { pruned: numberOf(row, 'pruned'), next: textOrNull(row, 'next_uid') as Uid | null }
    },
  }
}

// ── callers' transactions ───────────────────────────────────────────────────────────────────────────────────

async function begin(driver: Driver, sql: Sql, limitMs: number): Promise<CallersTransaction> {
  const transaction = await driver.begin(limitMs).catch((error: unknown) => {
    throw asStoreError(error)
  })
  const xact = await transactionId(transaction, sql)
  return {
    query: (text, params) =>
      transaction.query(text, params).catch((error: unknown) => {
        // The rest is for the user, as their own client would throw it.
        throw endedBySql(error) ?? error
      }),
    inside: (work) => transaction.inside?.(work) ?? work(),
    rollback: () => transaction.rollback(),
    commit: () => commit(transaction, sql, xact),
  }
}

/** The embedded database notices at once. */
function endedBySql(error: unknown): Error | null {
  const isEnded = error instanceof DriverError && error.sqlState === '2D000'
  return isEnded ? invalidTransaction(new DriverError('ended', 'PD001', false), WHOSE) : null
}

async function commit(transaction: DriverTransaction, sql: Sql, xact: string): Promise<void> {
  let isSent = false
  try {
    // One that the user's own commit has ended was followed by another, or by none.
    const { rows } = await transaction.query(sql.transaction)
    if (String(rows[0]?.xact) !== xact) throw new DriverError('ended', 'PD001', false)
    isSent = true
    await transaction.commit()
  } catch (error) {
    if (!isSent) await transaction.rollback()
    const driverError = asDriverError(error)
    if (driverError instanceof DriverError && driverError.connection && isSent) {
      throw outcomeOfTransactionUnknown(driverError)
    }
    throw invalidTransaction(driverError, WHOSE) ?? asStoreError(driverError)
  }
}

/** 25P01: it is no transaction. 42883, 42P01, 3F000: our tables are not there. */
const FOREIGN: Readonly<Record<string, 'none' | 'elsewhere'>> = {
  '25P01': 'none',
  '42883': 'elsewhere',
  '42P01': 'elsewhere',
  '3F000': 'elsewhere',
}

async function callersQuery(
  { client, isOurs }: Within,
  text: string,
  params: readonly SqlValue[],
  sql: Sql,
): Promise<readonly Row[]> {
  try {
    // A statement that is its own transaction could not be rolled back.
    if (!isOurs) await client.query(sql.mustBeWithin)
    return (await client.query(text, [...params])).rows as Row[]
  } catch (error) {
    const driverError = asDriverError(error)
    if (!(driverError instanceof DriverError)) throw error
    const foreign = FOREIGN[driverError.sqlState]
    // What is left is for the user, as their own client throws it.
    throw foreign ? transactionForeign(foreign, error) : error
  }
}

// ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────

function startParams({ run, meta, message }: LoneStart, within: Within | null): SqlValue[] {
  return [
    run.uid,
    run.priority,
    run.delayMs,
    run.timeoutMs,
    run.workspace,
    run.id,
    run.definition,
    run.version,
    JSON.stringify(run.tags),
    metaText(meta),
    run.input,
    message?.id ?? null,
    message?.name ?? null,
    message?.payload ?? null,
    within !== null,
    run.limits?.workspace ?? null,
    run.limits?.key ?? null,
  ]
}

function forkParams(plan: ForkPlan): SqlValue[] {
  const { outputs } = plan
  return [
    plan.of,
    plan.upTo,
    plan.uid,
    plan.id,
    metaText(plan.meta),
    plan.input,
    list(outputs.map(({ seq }) => seq)),
    pack(outputs.map(({ payload }) => payload)),
    list(plan.forgetsChild),
  ]
}

function loneAnswer(row: Row): LoneAnswer {
  if (row.kind === 'done') return { kind: 'done' }
  const uid = textOf(row, 'uid') as Uid
  return { kind: 'exists', uid, definition: textOf(row, 'def'), same: row.is_same === true }
}

function letterOf(row: Row): Letter & { readonly no: number } {
  return {
    no: numberOf(row, 'no'),
    to: { workspace: textOf(row, 'workspace'), id: textOf(row, 'run') as RunId },
    id: textOf(row, 'id') as MessageId,
    name: textOf(row, 'name'),
    payload: textOrNull(row, 'payload'),
  }
}

function pauseAnswer(row: Row): PauseAnswer {
  const code = textOrNull(row, 'refusal')
  if (code === null) return { kind: 'done', uid: textOf(row, 'uid') as Uid }
  if (code === 'RUN_NOT_FOUND') return { kind: 'refused', code, status: null }
  return { kind: 'refused', code: 'RUN_FINISHED', status: textOf(row, 'status') as Status }
}
