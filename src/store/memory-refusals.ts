// What the database would not store: the batch is refused before anything of it is applied, with the same SQLSTATE.

import { type Delta, type NewRun, type StartDelta, StoreRefused } from '../kernel/store.js'
import type { Uid } from '../model/ids.js'
import type { NewEntry, NewMessage } from '../model/run.js'
import { idKey } from './memory-run.js'

/** The ids and uids that are taken. */
interface Known {
  readonly byId: ReadonlyMap<string, Uid>
  readonly runs: ReadonlyMap<Uid, unknown>
}

export function refuseUnstorable(deltas: readonly Delta[], known: Known): void {
  for (const delta of deltas) {
    if (delta.kind === 'start') checkRun(delta.run)
    else if (delta.kind === 'message') {
      checkTexts(delta.to.workspace, delta.to.id)
      checkMessage(delta.message)
    } else {
      for (const entry of delta.entries) checkEntry(entry)
      for (const { run } of delta.starts) checkRun(run)
      for (const { message } of delta.messages) checkMessage(message)
      for (const message of delta.brings?.messages ?? []) checkMessage(message)
      if (delta.next.kind === 'park') checkTexts(delta.next.divergedBuild)
    }
  }
  checkUids(
    deltas.filter((delta) => delta.kind === 'start'),
    known,
  )
}

export function checkEntry({ name, payload }: NewEntry): void {
  checkTexts(name, payload)
}

function checkMessage({ id, name, payload }: NewMessage): void {
  checkTexts(id, name, payload)
}

function checkRun(run: NewRun): void {
  checkTexts(run.workspace, run.id, run.definition, run.version, run.input, run.parent?.id ?? null)
  const { priority } = run
  if (Number.isInteger(priority) && priority >= 0 && priority <= 9) return
  throw new StoreRefused(`the priority ${priority} is not a whole number from 0 to 9`, '23514')
}

// U+001D to U+001F part texts on their way to a database, and no database stores U+0000.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
const UNSTORABLE = /[\u0000\u001d-\u001f]/

function checkTexts(...texts: readonly (string | null)[]): void {
  for (const text of texts) {
    if (text === null || !UNSTORABLE.test(text)) continue
    throw new StoreRefused('a text contains U+0000 or one of U+001D to U+001F', '22021')
  }
}

/** A uid belongs to one id: a start under another id is a mistake, not a repetition. */
function checkUids(starts: readonly StartDelta[], { byId, runs }: Known): void {
  const ids = new Set<string>()
  const uids = new Set<Uid>()
  for (const { run } of starts) {
    const key = idKey(run.workspace, run.id)
    if (byId.has(key) || ids.has(key)) continue
    if (runs.has(run.uid) || uids.has(run.uid)) {
      throw new StoreRefused(`the uid of ${run.id} is taken`, '23505')
    }
    ids.add(key)
    uids.add(run.uid)
  }
}
