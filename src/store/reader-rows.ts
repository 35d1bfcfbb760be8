// Rows of SQL as runs and entries.

import type { RunView } from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import type { Entry, EntryKind, Status, Stop, StoredReason } from '../model/run.js'
import type { Row } from './driver.js'
import { metaOf, numberOf, numberOfOrNull, tagsOf, textOf, textOrNull } from './wire.js'

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

export function viewOf(row: Row): RunView {
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
