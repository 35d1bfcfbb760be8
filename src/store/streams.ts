// What steps publish, and what has changed in all runs, on SQL.

import type { Change, Chunk, Standing, StreamStore } from '../kernel/store.js'
import type { RunId, Uid } from '../model/ids.js'
import { FOLLOWED_MS } from '../model/limits.js'
import type { EntryKind, Status, StoredReason } from '../model/run.js'
import type { Driver, Row, SqlValue } from './driver.js'
import { withRetries } from './errors.js'
import type { Sql } from './sql.js'
import { list, numberOf, onlyRow, pack, textOf, textOrNull } from './wire.js'

/** Rows of changes in one page. One may have hundreds of entries. */
const PAGE = 20
/** By so much the database's clock may step back without a gap. */
const CLOCK_STEP_MS = 60_000

export function sqlStreams(driver: Driver, sql: Sql): StreamStore {
  const rows = (text: string, params: readonly SqlValue[]) =>
    withRetries(() => driver.query('read', text, params))
  return {
    async publish(by, chunks) {
      if (chunks.length === 0) return
      // Not on a commit connection: steps that publish much hold nobody up.
      await rows(sql.publish, [
        by,
        list(chunks.map(({ uid }) => uid)),
        list(chunks.map(({ epoch }) => epoch)),
        list(chunks.map(({ sent }) => sent)),
        list(chunks.map(({ attempt }) => attempt)),
        list(chunks.map(({ isFirst }) => isFirst)),
        pack(chunks.map(({ step }) => step)),
        pack(chunks.map(({ value }) => value)),
      ])
    },
    async standings(uids) {
      const found = await rows(sql.standings, [list(uids)])
      return new Map(found.map((row) => [textOf(row, 'uid') as Uid, standingOf(row)]))
    },
    async chunks(uid, after, limit) {
      return (await rows(sql.chunks, [uid, after, limit])).map(chunkOf)
    },
    async follow() {
      const row = onlyRow(await rows(sql.follow, [FOLLOWED_MS, CLOCK_STEP_MS]))
      const [begun, horizon] = [textOrNull(row, 'begun'), textOrNull(row, 'horizon')]
      if (begun === null || horizon === null || BigInt(horizon) < BigInt(begun)) return null
      return { key: horizon, id: '0', place: 0 }
    },
    async changes(workspace, { key, id, place }) {
      const found = await rows(sql.changes, [key, id, place, workspace, PAGE])
      const end = found.at(-1)
      if (end?.is_whole !== true) return null
      return { changes: found.slice(0, -1).map(changeOf), next: cursorOf(end) }
    },
  }
}

const standingOf = (row: Row): Standing => ({
  seq: numberOf(row, 'seq'),
  published: numberOf(row, 'published'),
  isFinal: row.is_final === true,
})

function chunkOf(row: Row): Chunk {
  return {
    no: numberOf(row, 'no'),
    step: textOf(row, 'step'),
    attempt: numberOf(row, 'attempt'),
    isFirst: row.is_first === true,
    value: textOf(row, 'value'),
    at: numberOf(row, 'at'),
  }
}

const cursorOf = (row: Row) => ({
  key: textOf(row, 'key'),
  id: textOf(row, 'id'),
  place: numberOf(row, 'place'),
})

function changeOf(row: Row): Change {
  const kind = textOrNull(row, 'kind') as EntryKind | null
  const seq = numberOf(row, 'seq')
  const name = textOf(row, 'name')
  return {
    cursor: cursorOf(row),
    runId: textOf(row, 'run') as RunId,
    workspace: textOf(row, 'workspace'),
    definition: textOf(row, 'def'),
    status: textOf(row, 'status') as Status,
    reason: textOrNull(row, 'reason') as StoredReason | null,
    entry: kind === null ? null : { seq, kind, name, occurrence: numberOf(row, 'occurrence') },
    at: numberOf(row, 'at'),
  }
}
