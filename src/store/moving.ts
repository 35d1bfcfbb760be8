// Runs as a whole, on SQL: read by tools, and put into another database.

import type { LiveRun, MovingStore, RunRecord } from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import {
  type Driver,
  DriverError,
  type DriverTransaction,
  type Row,
  type SqlValue,
} from './driver.js'
import { asStoreError, withRetries } from './errors.js'
import type { Sql } from './sql.js'
import {
  list,
  numberOf,
  numberOfOrNull,
  onlyRow,
  pack,
  tagsOf,
  textOf,
  textOrNull,
} from './wire.js'

/** So long may an import take: it is one transaction. */
const IMPORT_MS = 6 * 60 * 60 * 1000
/** So many runs whose ids are taken are looked for and named. */
const TAKEN_MAX = 10

export function sqlMoving(driver: Driver, sql: Sql): MovingStore {
  const read = (text: string, params: readonly SqlValue[]) =>
    withRetries(() => driver.query('read', text, params))
  return {
    async liveRuns({ workspace, after, limit }) {
      return (await read(sql.liveRuns, [workspace, after, limit])).map(liveOf)
    },
    async selectRuns({ workspace, definition, ids }) {
      const params = [workspace, definition, ids === null ? null : pack(ids)]
      return (await read(sql.selectRuns, params)).map((row) => ({
        uid: textOf(row, 'uid') as Uid,
        definition: textOf(row, 'def'),
        version: textOrNull(row, 'version'),
      }))
    },
    async runRecords(uids) {
      const rows = await read(sql.runRecords, [list(uids)])
      return rows.map((row) => JSON.parse(textOf(row, 'record')) as RunRecord)
    },
    async isMailUnderWay() {
      return onlyRow(await read(sql.isMailUnderWay, [])).is_so === true
    },
    async holdRuns(runs) {
      const rows = await withRetries(() =>
        driver.query('commit', sql.holdRuns, [
          list(runs.map(({ uid }) => uid)),
          list(runs.map(({ epoch }) => epoch)),
          list(runs.map(({ seq }) => seq)),
          list(runs.map(({ inbox }) => inbox)),
        ]),
      )
      return rows.map((row) => textOf(row, 'uid') as Uid)
    },
    async putRuns(pages, isSkipping) {
      const transaction = await driver.begin(IMPORT_MS, true).catch((error: unknown) => {
        throw asStoreError(error)
      })
      try {
        const answer = await putAll(transaction, sql, pages, isSkipping)
        await (answer.taken.length > 0 && !isSkipping
          ? transaction.rollback()
          : transaction.commit())
        return answer
      } catch (error) {
        await transaction.rollback()
        throw asStoreError(namedError(error))
      }
    },
  }
}

async function putAll(
  transaction: DriverTransaction,
  sql: Sql,
  pages: AsyncIterable<readonly RunRecord[]>,
  isSkipping: boolean,
) {
  let put = 0
  const taken: RunId[] = []
  for await (const page of pages) {
    const { rows } = await transaction.query(sql.takenRuns, [
      list(page.map(({ uid }) => uid)),
      pack(page.map(({ workspace }) => workspace)),
      pack(page.map(({ id }) => id)),
    ])
    const known = new Set(rows.map(({ uid }) => String(uid)))
    taken.push(...page.filter(({ uid }) => known.has(uid)).map(({ id }) => id))
    if (taken.length > 0 && !isSkipping) {
      if (taken.length >= TAKEN_MAX) break
      continue
    }
    const fresh = page.filter(({ uid }) => !known.has(uid))
    if (fresh.length === 0) continue
    const given = JSON.stringify(fresh)
    await transaction.query(sql.putFacts, [given])
    await transaction.query(sql.putRuns, [given])
    put += fresh.length
  }
  return taken.length > 0 && !isSkipping ? { put: 0, taken } : { put, taken }
}

/** Clients throw their own errors inside a transaction: what a file has that no run can have is a value that is refused. */
function namedError(error: unknown): unknown {
  const { code } = error as { readonly code?: unknown }
  if (error instanceof DriverError || typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code))
    return error
  return new DriverError((error as Error).message, code, false, { cause: error })
}

function liveOf(row: Row): LiveRun {
  return {
    uid: textOf(row, 'uid') as Uid,
    owner: textOrNull(row, 'owner') as WorkerId | null,
    epoch: numberOf(row, 'epoch'),
    seq: numberOf(row, 'seq'),
    id: textOf(row, 'id') as RunId,
    workspace: textOf(row, 'workspace'),
    definition: textOf(row, 'def'),
    version: textOrNull(row, 'version'),
    tags: tagsOf(textOf(row, 'tags')),
    parentUid: textOrNull(row, 'parent_uid') as Uid | null,
    parentId: textOrNull(row, 'parent_id') as RunId | null,
    createdAt: numberOf(row, 'created_at'),
    startedAt: numberOf(row, 'started_at'),
    deadlineAt: numberOfOrNull(row, 'deadline_at'),
  }
}
