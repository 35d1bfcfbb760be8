// The rows of load_v1: a run that is still owned has at least one, with or without entries.

import type { Loaded } from '../kernel/store.js'
import type { MessageId, Uid } from '../model/ids.js'
import type { Entry, EntryKind, Message, MessageKind } from '../model/run.js'
import type { Row } from './driver.js'
import { metaOf, nullable, numberOf, records } from './wire.js'

export function loadedOf(uids: readonly Uid[], rows: readonly Row[]): readonly Loaded[] {
  const loaded = new Map<
    number,
    { uid: Uid; entries: Entry[]; messages: Message[]; taken: number }
  >()
  for (const row of rows) {
    const place = numberOf(row, 'place')
    const uid = uids[place - 1] as Uid
    const run = loaded.get(place) ?? { uid, entries: [], messages: [], taken: 0 }
    loaded.set(place, run)
    run.taken = Math.max(run.taken, Number(row.taken ?? 0))
    for (const fields of records(row.entries)) run.entries.push(entryOf(fields))
    for (const fields of records(row.mail)) run.messages.push(messageOf(fields))
  }
  return [...loaded.values()]
}

function entryOf(fields: readonly string[]): Entry {
  const [seq, at, kind, name = '', occurrence, attempt, meta, payload] = fields
  return {
    seq: Number(seq),
    kind: kind as EntryKind,
    name,
    occurrence: Number(occurrence),
    attempt: Number(attempt),
    at: Number(at),
    meta: metaOf(nullable(meta)),
    payload: nullable(payload),
  }
}

function messageOf(fields: readonly string[]): Message {
  const [no, at, id, kind, name = '', meta, payload] = fields
  return {
    no: Number(no),
    at: Number(at),
    id: id as MessageId,
    kind: kind as MessageKind,
    name,
    meta: metaOf(nullable(meta)),
    payload: nullable(payload),
  }
}
