// What a message has done to a run that waits, without its body: four facts at one time. Most of what they say is the same, so they
// are kept as one record until somebody asks for them. Pure.

import { HOLE } from './codec.js'
import type { MessageId } from './ids.js'
import type { Reaction } from './program.js'
import type { EntryMeta, Instant, NewEntry, Shown, Stored } from './run.js'

export interface Reacted {
  /** Of the message. */
  readonly no: number
  readonly id: MessageId
  readonly name: string
  readonly payload: Stored | null
  readonly at: Instant
  /** The round that ends: `m@` and 7; and how its wait is called, and that of the next one. */
  readonly loop: string
  readonly round: number
  readonly wait: string
  readonly done: Reaction
  /** What the end of the round says of the entries that are behind. */
  readonly behind: readonly number[]
  /** What the wait behind says of itself. */
  readonly opened: EntryMeta
}

/** So many entries come of one. */
export const ENTRIES_OF_REACTED = 4
/** The one that answers the message. */
export const ANSWER_OF_REACTED = 2

export function filled(text: string, state: Stored): Stored {
  const at = text.indexOf(HOLE)
  return at < 0 ? text : text.slice(0, at) + state + text.slice(at + 1)
}

export const roundOf = ({ loop, round }: Reacted): string => loop + round
export const nextWaitOf = ({ loop, round, wait }: Reacted): string => `${loop}${round + 1}/${wait}`

export const takenMeta = ({ no, id, name }: Reacted): EntryMeta => ({ no, id, message: name })

export function doneMeta({ done: { label: target, checkpoint } }: Reacted): EntryMeta {
  return checkpoint === null
    ? { target, askedAgo: 0, startedAgo: 0 }
    : { target, askedAgo: 0, startedAgo: 0, checkpoint }
}

export const endedMeta = ({ done: { children }, behind }: Reacted): EntryMeta =>
  children.length > 0 ? { children, behind } : { behind }

/** As far as texts go, with what is written around them. */
export function bytesOfReacted({ payload, done: { state, value, left } }: Reacted): number {
  return 400 + 2 * state.length + value.length + left.length + 2 * (payload?.length ?? 0)
}

/** What people see from then on; null: nothing has changed. */
export const shownBy = ({ done: { state, place } }: Reacted): Shown | null =>
  place === null ? null : { state, at: { place, error: null } }

/** Taken, done, the end of the round, the next wait: as if the body had been heard to do it. */
export function entriesOfReacted(reacted: Reacted): readonly NewEntry[] {
  const { at, wait, opened, payload, done } = reacted
  const one = { occurrence: 1, attempt: 0, at }
  const round = roundOf(reacted)
  return [
    { ...one, kind: 'message.taken', name: `${round}/${wait}`, meta: takenMeta(reacted), payload },
    {
      ...one,
      ...{ kind: 'step.completed', name: `${round}/${done.step}`, attempt: 1 },
      ...{ meta: doneMeta(reacted), payload: filled(done.value, done.state) },
    },
    {
      ...one,
      ...{ kind: 'round.ended', name: round },
      ...{ meta: endedMeta(reacted), payload: filled(done.left, done.state) },
    },
    { ...one, kind: 'wait.opened', name: nextWaitOf(reacted), meta: opened, payload: null },
  ]
}
