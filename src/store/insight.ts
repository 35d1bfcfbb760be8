// What people look at of many runs at once, on SQL.

import type { ActivityCount, InsightReader, RunReader, StepCount } from '../kernel/store.js'
import { firstUid, type Uid } from '../model/ids.js'
import { documentOf } from './documents.js'
import type { Row, SqlValue } from './driver.js'
import { entryOf, viewOf } from './reader-rows.js'
import type { Sql } from './sql.js'
import { list, numberOf, numberOfOrNull, textOf, textOrNull } from './wire.js'

export function sqlInsight(
  query: (text: string, params: readonly SqlValue[]) => Promise<readonly Row[]>,
  sql: Sql,
): InsightReader & Pick<RunReader, 'inbox'> {
  return {
    async activity({ workspace, definition, from, to, bucketMs }) {
      const times = [from, to, bucketMs, firstUid(from), firstUid(to)]
      return (await query(sql.activity, [workspace, definition, ...times])).map((row) => ({
        bucket: numberOf(row, 'bucket'),
        what: textOf(row, 'what') as ActivityCount['what'],
        runs: numberOf(row, 'runs'),
      }))
    },
    async inbox({ workspace, definition, after, limit }) {
      return (await query(sql.inbox, [workspace, definition, after, limit])).map(viewOf)
    },
    async recent(uids, limit) {
      return byRun(await query(sql.recent, [list(uids), limit]), entryOf)
    },
    async visible(uids, limit) {
      return byRun(await query(sql.visible, [list(uids), limit]), documentOf)
    },
    async stepCounts({ workspace, definition, from, runsMax, entriesMax, entriesOfAll }) {
      const first = from === null ? null : firstUid(from)
      const most = [runsMax, entriesMax, entriesOfAll]
      const rows = await query(sql.stepCounts, [workspace, definition, first, ...most])
      const [any] = rows
      return {
        runs: any ? numberOf(any, 'runs') : 0,
        isWhole: any?.is_whole === true,
        steps: rows.filter((row) => textOrNull(row, 'name') !== null).map(stepOf),
      }
    },
  }
}

function byRun<T>(rows: readonly Row[], itemOf: (row: Row) => T): ReadonlyMap<Uid, readonly T[]> {
  const items = new Map<Uid, T[]>()
  for (const row of rows) {
    const uid = textOf(row, 'uid') as Uid
    const known = items.get(uid)
    if (known) known.push(itemOf(row))
    else items.set(uid, [itemOf(row)])
  }
  return items
}

function stepOf(row: Row): StepCount {
  return {
    name: textOf(row, 'name'),
    executions: numberOf(row, 'executions'),
    failures: numberOf(row, 'failures'),
    retries: numberOf(row, 'retries'),
    p50Ms: numberOfOrNull(row, 'p50_ms'),
    p95Ms: numberOfOrNull(row, 'p95_ms'),
  }
}
