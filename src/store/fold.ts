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
  let turn = 0
  for (const delta of turns) {
    turn += 1
    const { entries } = delta
    const states = isFolded(delta) ? delta.brings?.reactions : null
    const each = states ? KINDS.length : 1
    for (let last = each - 1; last < entries.length; last += each) {
      const state = states?.[(last + 1) / each - 1] ?? null
      const folded = states ? foldedText(entries, last, state) : null
      const entry = entries[last]
      if (entry) rows.add(turn, last + 1, entry, folded)
    }
  }
  return rows.columns()
}

class Rows {
  private readonly turn = new List()
  private readonly no = new List()
  private readonly occurrence = new List()
  private readonly attempt = new List()
  private readonly at = new List()
  private readonly kind = new List()
  private readonly names: string[] = []
  private readonly metas: (string | null)[] = []
  private readonly payloads: (string | null)[] = []
  private readonly folded: (string | null)[] = []

  add(turn: number, no: number, entry: NewEntry, folded: string | null): void {
    this.turn.add(turn)
    this.no.add(no)
    this.occurrence.add(entry.occurrence)
    this.attempt.add(entry.attempt)
    this.at.add(entry.at)
    this.kind.add(entry.kind)
    this.names.push(entry.name)
    this.metas.push(metaText(entry.meta))
    this.payloads.push(entry.payload)
    this.folded.push(folded)
  }

  columns(): SqlValue[] {
    const { turn, no, occurrence, attempt, at, kind, metas, payloads, folded } = this
    const numbers = [turn, no, occurrence, attempt, at, kind].map(String)
    return [...numbers, pack(this.names), ...[metas, payloads, folded].map(packSparse)]
  }
}

/** Those before the last one of four. */
function foldedText(entries: readonly NewEntry[], last: number, state: Stored | null): string {
  let text = state ?? NULL
  for (let i = last - KINDS.length + 1; i < last; i += 1) {
    const entry = entries[i]
    if (!entry) continue
    const { kind, name, occurrence, attempt, meta, payload } = entry
    const value = payload === null ? NULL : state === null ? payload : payload.replace(state, HOLE)
    text += `${FIELD}${kind}${FIELD}${name}${FIELD}${occurrence}${FIELD}${attempt}${FIELD}${metaText(meta) ?? NULL}${FIELD}${value}`
  }
  return text
}
