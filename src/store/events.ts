// Events and the ends of runs that others wait for, on SQL.

import type { EventStore, EventWait, Hearing, NewEvent, Within } from '../kernel/store.js'
import type { RunId, Uid } from '../model/ids.js'
import { EVENTS_KEPT_MS } from '../model/limits.js'
import type { Row, SqlValue } from './driver.js'
import type { Sql } from './sql.js'
import { list, numberOf, pack, textOf, textOrNull } from './wire.js'

type Query = (text: string, params: readonly SqlValue[]) => Promise<readonly Row[]>

const FIRST_UID = '00000000-0000-0000-0000-000000000000'

export function sqlEvents(
  sql: Sql,
  write: Query,
  through: (within: Within, ...query: Parameters<Query>) => Promise<readonly Row[]>,
): EventStore {
  return {
    async emit(workspace, { id, name, keys, payload }, within) {
      const params = [workspace, id, name, JSON.stringify(keys), payload, within !== null]
      await (within ? through(within, sql.emit, params) : write(sql.emit, params))
    },
    async fanOut(atMost) {
      return (await write(sql.fanOut, [atMost, EVENTS_KEPT_MS])).map(hearingOf)
    },
    async awaited(after, atMost) {
      return (await write(sql.awaited, [after ?? FIRST_UID, atMost])).map(hearingOf)
    },
    async heard(waits) {
      const uids = list(waits.map(({ uid }) => uid))
      const names = pack(waits.map(({ name }) => name))
      await write(sql.heard, [uids, names, list(waits.map(({ occurrence }) => occurrence))])
    },
  }
}

function hearingOf(row: Row): Hearing {
  return {
    uid: textOf(row, 'uid') as Uid,
    to: { workspace: textOf(row, 'workspace'), id: textOf(row, 'run') as RunId },
    name: textOf(row, 'name'),
    occurrence: numberOf(row, 'occurrence'),
    message: textOrNull(row, 'message'),
    payload: textOrNull(row, 'payload'),
  }
}

/** As listen_v1 reads them; null: no turn has any. */
export function packWaits(turns: Placed<{ readonly waits: readonly EventWait[] | null }>) {
  if (!turns.some(({ delta }) => delta.waits !== null)) return null
  const said = turns.flatMap(({ delta: { waits } }, at) =>
    waits ? [[at + 1, waits.map(waitRow)]] : [],
  )
  return JSON.stringify(said)
}

/** Nearly always there is nothing to say, and there is a turn for every step of every run. */
type Placed<D> = readonly { readonly delta: D }[]

function waitRow({ name, occurrence, since, heard }: EventWait) {
  const [event, match, run] =
    'event' in heard ? [heard.event, heard.match, null] : [null, [], heard.run]
  return [name, occurrence, since, event, match, run]
}

export function packEvents(turns: Placed<{ readonly events: readonly NewEvent[] }>) {
  if (!turns.some(({ delta }) => delta.events.length > 0)) return null
  const said = turns.flatMap(({ delta: { events } }, at) =>
    events.map(({ id, name, keys, payload }) => [at + 1, id, name, keys, payload]),
  )
  return JSON.stringify(said)
}
