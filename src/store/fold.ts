// Entries of one row: what an event has done to a machine without its body is written as the last of four entries, with the other three
// folded into it (0018_folded.sql; told apart again by entries_v1).

import type { TurnDelta } from '../kernel/store.js'
import { quoted } from '../model/json-text.js'
import {
  ENTRIES_OF_REACTED,
  endedMeta,
  nextWaitOf,
  type Reacted,
  roundOf,
} from '../model/reacted.js'
import type { EntryMeta, NewEntry } from '../model/run.js'
import type { SqlValue } from './driver.js'
import { List, metaText, pack, packSparse } from './wire.js'

/** Parts the fields; the codec's JSON has no control characters. */
const FIELD = '\u001c'
const NULL = '\u001b'

/** What its messages have done is all that there is to it. */
export function isFolded({ brings }: TurnDelta): boolean {
  return (brings?.reactions ?? null) !== null
}

/** How many entries it has. */
export function countOf(delta: TurnDelta): number {
  const { reactions } = delta.brings ?? {}
  return reactions ? reactions.length * ENTRIES_OF_REACTED : delta.entries.length
}

/** The entries of turns that bring their own messages: as entryColumns, and what is folded into each. */
export function broughtEntries(turns: readonly TurnDelta[]): SqlValue[] {
  const rows = new Rows()
  let turn = 0
  for (const delta of turns) {
    turn += 1
    const { reactions } = delta.brings ?? {}
    if (reactions) rows.fold(turn, reactions)
    else rows.add(turn, delta.entries)
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

  add(turn: number, entries: readonly NewEntry[]): void {
    let no = 0
    for (const entry of entries) {
      no += 1
      this.turn.add(turn)
      this.no.add(no)
      this.occurrence.add(entry.occurrence)
      this.attempt.add(entry.attempt)
      this.at.add(entry.at)
      this.kind.add(entry.kind)
      this.names.push(entry.name)
      this.metas.push(metaText(entry.meta))
      this.payloads.push(entry.payload)
      this.folded.push(null)
    }
  }

  /** Each is the last of four. */
  fold(turn: number, reactions: readonly Reacted[]): void {
    let no = 0
    for (const one of reactions) {
      no += ENTRIES_OF_REACTED
      this.turn.add(turn)
      this.no.add(no)
      this.occurrence.add(1)
      this.attempt.add(0)
      this.at.add(one.at)
      this.kind.add('wait.opened')
      this.names.push(nextWaitOf(one))
      this.metas.push(openedText(one.opened))
      this.payloads.push(null)
      this.folded.push(foldedText(one))
    }
  }

  columns(): SqlValue[] {
    const { turn, no, occurrence, attempt, at, kind, metas, payloads, folded } = this
    const numbers = [turn, no, occurrence, attempt, at, kind].map(String)
    return [...numbers, pack(this.names), ...[metas, payloads, folded].map(packSparse)]
  }
}

/** Many runs wait for the same, and say so in the same words. */
const openedTexts = new WeakMap<EntryMeta, string>()

export function openedText(opened: EntryMeta): string {
  const known = openedTexts.get(opened)
  if (known !== undefined) return known
  const text = JSON.stringify(opened)
  openedTexts.set(opened, text)
  return text
}

/** The entries before the last one: what the state is, then kind, name, occurrence, attempt, meta and value of each. */
export function foldedText(one: Reacted): string {
  const { wait, payload } = one
  const { step, state, value, left } = one.done
  const round = roundOf(one)
  // biome-ignore format: three entries, a line for each
  return [state,
    'message.taken', `${round}/${wait}`, '1', '0', takenText(one), payload ?? NULL,
    'step.completed', `${round}/${step}`, '1', '1', doneText(one), value,
    'round.ended', round, '1', '0', endedText(one), left].join(FIELD)
}

// The same as JSON.stringify makes of takenMeta, doneMeta and endedMeta (model/reacted.ts).

const takenText = ({ no, id, name }: Reacted): string =>
  `{"no":${no},"id":${quoted(id)},"message":${quoted(name)}}`

function doneText({ done: { label, checkpoint } }: Reacted): string {
  const text = `{"target":${quoted(label)},"askedAgo":0,"startedAgo":0`
  return checkpoint === null ? `${text}}` : `${text},"checkpoint":${checkpoint}}`
}

function endedText(one: Reacted): string {
  const { done, behind } = one
  if (done.children.length > 0) return JSON.stringify(endedMeta(one))
  return `{"behind":[${behind.join(',')}]}`
}
