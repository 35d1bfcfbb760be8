// What a message has done to a run that waits, without its body: four facts at one time. Most of what they say is the same, so they
// are kept as one record until somebody asks for them. Pure.

import type { Uid } from './ids.js'
import type { EntryMeta, Instant, Message, NewEntry, Shown, Stored } from './run.js'

/** Stands in a text where another text belongs. The codec's JSON has no control characters. */
export const HOLE = '\u001a'

export interface Reacted {
  readonly message: Pick<Message, 'no' | 'id' | 'name' | 'payload'>
  readonly at: Instant
  /** The names of the wait that has taken it, of the step, of the round that ends, and of the wait behind. */
  readonly wait: string
  readonly step: string
  readonly round: string
  readonly next: string
  /** Of the step, as people see it. */
  readonly label: string
  readonly checkpoint: number | null
  /** What the end of a round says: children that have not ended, and the entries that are behind. */
  readonly children: readonly Uid[]
  readonly behind: readonly number[]
  /** What the wait behind says of itself. */
  readonly opened: EntryMeta
  /** What the run has behind it, and where that is missing: the value of the step, and what the round leaves. */
  readonly state: Stored
  readonly value: string
  readonly left: string
  /** What people see from then on; null: nothing has changed. */
  readonly shown: Shown | null
}

/** So many entries come of one. */
export const ENTRIES_OF_REACTED = 4
/** The one that answers the message. */
export const ANSWER_OF_REACTED = 2

export function filled(text: string, state: Stored): Stored {
  const at = text.indexOf(HOLE)
  return at < 0 ? text : text.slice(0, at) + state + text.slice(at + 1)
}

export const takenMeta = ({ message: { no, id, name } }: Reacted): EntryMeta => ({
  no,
  id,
  message: name,
})

export function doneMeta({ label: target, checkpoint }: Reacted): EntryMeta {
  const meta: EntryMeta = { target, askedAgo: 0, startedAgo: 0 }
  return checkpoint === null ? meta : { ...meta, checkpoint }
}

export const endedMeta = ({ children, behind }: Reacted): EntryMeta =>
  children.length > 0 ? { children, behind } : { behind }

/** Taken, done, the end of the round, the next wait: as if the body had been heard to do it. */
export function entriesOfReacted(reacted: Reacted): readonly NewEntry[] {
  const { message, at, wait, step, round, next, opened, state, value, left } = reacted
  const one = { occurrence: 1, attempt: 0, at }
  const { payload } = message
  return [
    { ...one, kind: 'message.taken', name: wait, meta: takenMeta(reacted), payload },
    {
      ...one,
      ...{ kind: 'step.completed', name: step, attempt: 1 },
      ...{ meta: doneMeta(reacted), payload: filled(value, state) },
    },
    {
      ...one,
      ...{ kind: 'round.ended', name: round },
      ...{ meta: endedMeta(reacted), payload: filled(left, state) },
    },
    { ...one, kind: 'wait.opened', name: next, meta: opened, payload: null },
  ]
}
