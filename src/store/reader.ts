// Reading runs. Never half a run: each answer is one statement.

import type { RunFilter, RunReader, WorkerView } from '../kernel/store.js'
import type { WorkerId } from '../model/ids.js'
import type { Status } from '../model/run.js'
import { documentOf } from './documents.js'
import type { Driver, Row, SqlValue } from './driver.js'
import { withRetries } from './errors.js'
import { sqlInsight } from './insight.js'
import { sqlLimitReader } from './limits.js'
import { entryOf, viewOf } from './reader-rows.js'
import type { Sql } from './sql.js'
import { list, numberOf, onlyRow, pack, textOf } from './wire.js'

export function sqlReader(driver: Driver, sql: Sql): RunReader {
  const query = (text: string, params: readonly SqlValue[]) =>
    withRetries(() => driver.query('read', text, params))
  return {
    ...sqlLimitReader(query, sql),
    ...sqlInsight(query, sql),
    async get(workspace, id) {
      const [row] = await query(sql.getRun, [workspace, id])
      return row === undefined ? null : viewOf(row)
    },
    async list(filter) {
      const text = filter.newestFirst ? sql.listNewest : sql.listOldest
      return (await query(text, filterParams(filter))).map(viewOf)
    },
    async history(uid, { after, limit, newestFirst }) {
      const text = newestFirst ? sql.historyNewest : sql.historyOldest
      return (await query(text, [uid, after, limit])).map(entryOf)
    },
    async checkpoints(uid, { after, limit, newestFirst }) {
      const text = newestFirst ? sql.checkpointsNewest : sql.checkpointsOldest
      return (await query(text, [uid, after, limit])).map(entryOf)
    },
    async documents(uid) {
      return (await query(sql.documents, [uid])).map(documentOf)
    },
    async openChildren(uid) {
      return (await query(sql.openChildren, [uid])).map(viewOf)
    },
    async liveDefinitions() {
      const rows = await query(sql.liveDefinitions, [])
      return [...new Set(rows.flatMap((row) => definitionsOf(textOf(row, 'definitions'))))].sort()
    },
    async workers() {
      return (await query(sql.workers, [])).map(workerOf)
    },
    async counts(workspace) {
      return (await query(sql.counts, [workspace])).map((row) => ({
        definition: textOf(row, 'def'),
        status: textOf(row, 'status') as Status,
        runs: numberOf(row, 'runs'),
      }))
    },
    async dueLagMs() {
      return numberOf(onlyRow(await query(sql.dueLag, [])), 'lag_ms')
    },
  }
}

/** As `workers.definitions` keeps them. */
export function definitionsText(
  definitions: readonly { readonly name: string; readonly version: string }[],
): string {
  return JSON.stringify(definitions.map(({ name, version }) => `${name}@${version}`))
}

function definitionsOf(text: string): string[] {
  return JSON.parse(text) as string[]
}

function workerOf(row: Row): WorkerView {
  return {
    id: textOf(row, 'id') as WorkerId,
    build: textOf(row, 'build'),
    startedAt: numberOf(row, 'started_at'),
    leaseUntil: numberOf(row, 'lease_until'),
    isAlive: row.is_alive === true,
    definitions: definitionsOf(textOf(row, 'definitions')),
    runs: numberOf(row, 'runs'),
  }
}

function filterParams(filter: RunFilter): SqlValue[] {
  return [
    filter.workspace,
    filter.definition,
    filter.statuses === null ? null : list(filter.statuses),
    filter.reason,
    filter.parentId,
    filter.createdAfter,
    filter.createdBefore,
    filter.text,
    pack(Object.keys(filter.tags)),
    pack(Object.values(filter.tags)),
    filter.after,
    filter.limit,
    filter.kind?.is ?? null,
    pack([...(filter.kind?.known.keys() ?? [])]),
    pack([...(filter.kind?.known.values() ?? [])]),
  ]
}
