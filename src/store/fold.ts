// Entries of one row: what an event has done to a machine without its body is written as the last of four entries, with the other three
// folded into it (0018_folded.sql; told apart again by entries_v1).

import type { TurnDelta } from '../kernel/store.js'
import type { EntryKind, NewEntry, Stored } from '../model/run.js'
import type { SqlValue } from './driver.js'
import { List, metaText, pack, packSparse } from './wire.js'

const KINDS: readonly EntryKind[] = [
  'message.taken',
  'step.completed',
  'round.ended',
  'wait.opened',
]
/** Parts the fields; the codec's JSON has no control characters. */
const FIELD = '\u001c'
const NULL = '\u001b'
/** Stands where a value has in it what the run shows. */
const HOLE = '\u001a'

/** Its entries are four for each message, at one time. */
export function isFolded({ entries, brings }: TurnDelta): boolean {
  const count = brings?.reactions?.length
  if (!count || entries.length !== KINDS.length * count || entries.length === 0) return false
  const at = entries[0]?.at
  return entries.every((entry, i) => entry.kind === KINDS[i % KINDS.length] && entry.at === at)
}

/** The entries of turns that bring their own messages: as entryColumns, and what is folded into each. */
export function broughtEntries(turns: readonly TurnDelta[]): SqlValue[] {
  const rows = new Rows()
  for (const [i, delta] of turns.entries()) {
    const states = isFolded(delta) ? delta.brings?.reactions : null
    for (const [at, entry] of delta.entries.entries()) {
      const isLast = at % KINDS.length === KINDS.length - 1
      if (!states) rows.add(i + 1, at + 1, entry, null)
      else if (isLast) {
        const first = at - (KINDS.length - 1)
        const state = states[first / KINDS.length] ?? null
        rows.add(i + 1, at + 1, entry, foldedText(delta.entries.slice(first, at), state))
      }
    }
  }
  return rows.columns()
}

class Rows {
  private readonly numbers = Array.from({ length: 6 }, () => new List())
  private readonly texts: [string[], ...(string | null)[][]] = [[], [], [], []]

  add(turn: number, no: number, entry: NewEntry, folded: string | null): void {
    const { occurrence, attempt, at, kind, name, meta, payload } = entry
    const values = [turn, no, occurrence, attempt, at, kind]
    for (const [i, list] of this.numbers.entries()) list.add(values[i] ?? null)
    const [names, metas, payloads, all] = this.texts
    names.push(name)
    metas?.push(metaText(meta))
    payloads?.push(payload)
    all?.push(folded)
  }

  columns(): SqlValue[] {
    const [names, ...texts] = this.texts
    return [...this.numbers.map(String), pack(names), ...texts.map(packSparse)]
  }
}

function foldedText(entries: readonly NewEntry[], state: Stored | null): string {
  let text = state ?? NULL
  for (const { kind, name, occurrence, attempt, meta, payload } of entries) {
    const value = payload === null ? NULL : state === null ? payload : payload.replace(state, HOLE)
    text += ['', kind, name, occurrence, attempt, metaText(meta) ?? NULL, value].join(FIELD)
  }
  return text
}
