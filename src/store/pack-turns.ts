// What all turns have, as parameters: their entries, and what people see of their runs.

import type { TurnDelta } from '../kernel/store.js'
import type { EntryKind, NewEntry, Shown } from '../model/run.js'
import type { SqlValue } from './driver.js'
import { List, metaText, pack, packSparse } from './wire.js'

export interface Placed<D> {
  readonly delta: D
  readonly place: number
}

/** A recorded outcome is progress: the run did not crash on it. */
const OUTCOMES: ReadonlySet<EntryKind> = new Set<EntryKind>([
  'step.completed',
  'step.failed',
  'timer.fired',
  'message.taken',
  'child.ended',
  'undo.completed',
  'undo.failed',
])

export function isOutcome({ kind }: NewEntry): boolean {
  return OUTCOMES.has(kind)
}

/** One walk: there is one entry for every step of every run. The last two columns are the messages that were taken. */
export function entryColumns(turns: readonly Placed<TurnDelta>[]): SqlValue[] {
  const turn = new List()
  const no = new List()
  const occurrence = new List()
  const attempt = new List()
  const at = new List()
  const kind = new List()
  const names: string[] = []
  const metas: (string | null)[] = []
  const payloads: (string | null)[] = []
  const takenTurn = new List()
  const takenNo = new List()
  let place = 0
  for (const { delta } of turns) {
    place += 1
    let number = 0
    for (const entry of delta.entries) {
      number += 1
      turn.add(place)
      no.add(number)
      occurrence.add(entry.occurrence)
      attempt.add(entry.attempt)
      at.add(entry.at)
      kind.add(entry.kind)
      names.push(entry.name)
      metas.push(metaText(entry.meta))
      payloads.push(entry.payload)
    }
    for (const message of delta.taken) {
      takenTurn.add(place)
      takenNo.add(message)
    }
    for (const message of delta.refused) {
      takenTurn.add(place)
      takenNo.add(-message)
    }
  }
  const numbers = [turn, no, occurrence, attempt, at, kind].map(String)
  const texts = [pack(names), packSparse(metas), packSparse(payloads)]
  return [...numbers, ...texts, String(takenTurn), String(takenNo)]
}

export function packStates(turns: readonly Placed<TurnDelta>[]): string {
  if (turns.every(({ delta }) => delta.shown === null)) return ''
  return pack(turns.map(({ delta }) => delta.shown && shownText(delta.shown)))
}

/** Place, error, state, parted by U+001C: none of them has control characters in it. */
function shownText({ at, state }: Shown): string {
  return [at?.place ?? '', at?.error ?? '', state ?? ''].join('\u001c')
}
