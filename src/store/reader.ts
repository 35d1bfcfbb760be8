// Reading runs. Never half a run: each answer is one statement.

import type { RunFilter, RunReader, RunView, WorkerView } from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import type { Entry, EntryKind, Status, Stop, StoredReason } from '../model/run.js'
import { documentOf } from './documents.js'
import type { Driver, Row, SqlValue } from './driver.js'
import { withRetries } from './errors.js'
import { sqlLimitReader } from './limits.js'
import type { Sql } from './sql.js'
import { list, metaOf, numberOf, numberOfOrNull, pack, tagsOf, textOf, textOrNull } from './wire.js'

export function sqlReader(driver: Driver, sql: Sql): RunReader {
  const query = (text: string, params: readonly SqlValue[]) =>
    withRetries(() => driver.query('read', text, params))
  return {
    ...sqlLimitReader(query, sql),
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
  ]
}

export function entryOf(row: Row): Entry {
  return {
    seq: numberOf(row, 'seq'),
    kind: textOf(row, 'kind') as EntryKind,
    name: textOf(row, 'name'),
    occurrence: numberOf(row, 'occurrence'),
    attempt: numberOf(row, 'attempt'),
    at: numberOf(row, 'at'),
    meta: metaOf(textOrNull(row, 'meta')),
    payload: textOrNull(row, 'payload'),
  }
}

function viewOf(row: Row): RunView {
  return {
    uid: textOf(row, 'uid') as Uid,
    id: textOf(row, 'id') as RunId,
    workspace: textOf(row, 'workspace'),
    definition: textOf(row, 'def'),
    version: textOrNull(row, 'version'),
    status: textOf(row, 'status') as Status,
    reason: textOrNull(row, 'reason') as StoredReason | null,
    stop: textOrNull(row, 'stop') as Stop | null,
    dueAt: numberOfOrNull(row, 'due_at'),
    slot: typeof row.slot === 'boolean' ? row.slot : null,
    limits:
      typeof row.slot === 'boolean'
        ? { workspace: textOf(row, 'limit_workspace'), key: textOf(row, 'limit_key') }
        : null,
    owner: textOrNull(row, 'owner') as WorkerId | null,
    seq: numberOf(row, 'seq'),
    attempt: numberOf(row, 'attempt'),
    crashes: numberOf(row, 'crashes'),
    undoOpen: numberOf(row, 'undo_open'),
    state: textOrNull(row, 'state'),
    place: textOrNull(row, 'place'),
    error: textOrNull(row, 'error'),
    tags: tagsOf(textOf(row, 'tags')),
    parentUid: textOrNull(row, 'parent_uid') as Uid | null,
    parentId: textOrNull(row, 'parent_id') as RunId | null,
    createdAt: numberOf(row, 'created_at'),
    updatedAt: numberOf(row, 'updated_at'),
    startedAt: numberOfOrNull(row, 'started_at'),
    finishedAt: numberOfOrNull(row, 'finished_at'),
    deadlineAt: numberOfOrNull(row, 'deadline_at'),
    input: textOf(row, 'input'),
    end: textOrNull(row, 'end_kind') === null ? null : endOf(row),
  }
}

function endOf(row: Row): Entry {
  return {
    seq: numberOf(row, 'seq'),
    kind: textOf(row, 'end_kind') as EntryKind,
    name: textOf(row, 'end_name'),
    occurrence: numberOf(row, 'end_occurrence'),
    attempt: numberOf(row, 'end_attempt'),
    at: numberOf(row, 'end_at'),
    meta: metaOf(textOrNull(row, 'end_meta')),
    payload: textOrNull(row, 'end_payload'),
  }
}
