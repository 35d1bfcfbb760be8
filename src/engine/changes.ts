// engine.changes(): what is committed to all runs, as it is committed. A cursor is a place in the order that the database has of it,
// so it means the same in every process.

import type { Cursor, Change as StoredChange } from '../kernel/store.js'
import { optionInvalid } from '../model/errors.js'
import { shownName } from '../model/ids.js'
import { FOLLOWED_MS } from '../model/limits.js'
import { beforeRead, type Core } from './core.js'
import { rest, signalOf } from './follow.js'
import { optionsObject } from './paged.js'
import type { Change } from './types.js'

const WHERE = 'engine.changes'
/** It is said so often that somebody follows. */
const RENEW_MS = FOLLOWED_MS / 10
const BEGIN_AGAIN_MS = 20
/** Under load many changes come at once, and nobody reads faster. */
const PACE_MS = 100
const IDLE_MS = 1_000

export async function* changes(
  core: Core,
  workspace: string | null,
  options: unknown,
): AsyncGenerator<Change> {
  const { after, signal: given } = optionsObject(options, WHERE, ['after', 'signal'])
  const signal = signalOf(given, WHERE)
  const { streams } = core.kernel
  let cursor = after === undefined ? null : cursorOf(after)
  let saidAt = Number.NEGATIVE_INFINITY
  let waitMs = PACE_MS
  for (;;) {
    signal?.throwIfAborted()
    beforeRead(core)
    if (cursor === null || performance.now() - saidAt > RENEW_MS) {
      const begin = await streams.follow()
      saidAt = performance.now()
      if (cursor === null && begin === null) {
        await rest(BEGIN_AGAIN_MS, signal)
        continue
      }
      if (cursor === null && begin !== null) {
        cursor = begin
        yield { cursor: cursorText(begin), isReload: true }
      }
    }
    const page: Awaited<ReturnType<typeof streams.changes>> =
      cursor && (await streams.changes(workspace, cursor))
    cursor = page?.next ?? null
    if (page === null) continue
    for (const change of page.changes) yield shown(change)
    waitMs = page.changes.length > 0 ? PACE_MS : Math.min(waitMs * 2, IDLE_MS)
    await rest(waitMs, signal)
  }
}

function shown({ cursor, definition, entry, at, ...run }: StoredChange): Change {
  return {
    cursor: cursorText(cursor),
    isReload: false,
    ...run,
    workflow: definition,
    kind: entry?.kind ?? null,
    seq: entry?.seq ?? null,
    name: entry ? shownName(entry.name, entry.occurrence) : null,
    at: new Date(at),
  }
}

const cursorText = ({ key, id, place }: Cursor): string => `${key}-${id}-${place}`

const CURSOR = /^(\d{1,19})-(\d{1,18})-(\d{1,9})$/

function cursorOf(text: unknown): Cursor {
  const [, key, id, place] = (typeof text === 'string' && CURSOR.exec(text)) || []
  if (key === undefined || id === undefined) {
    throw optionInvalid('after', WHERE, text, 'the cursor of a change')
  }
  return { key, id, place: Number(place) }
}
