// The children of a machine that have not ended, and what is known of those that are awaited together. Pure: it is part of
// what a round leaves to the next.

import { decode } from '../../model/codec.js'
import { errorRecord } from '../../model/error-record.js'
import type { Uid } from '../../model/ids.js'
import type { FinalStatus, Stored } from '../../model/run.js'

/** A child that is to be started when its transition has committed. */
export interface Starting {
  readonly definition: string
  readonly version: string | null
  readonly input: Stored
  readonly id: string
  readonly timeoutMs: number | null
  /** Who hears of its end; null: nobody. */
  readonly callback: string | null
  readonly group?: InGroup
}

/** `all`: until each has completed or one has not. `allSettled`: until each has ended. `sequence`: one after the other. */
export type Together = 'all' | 'allSettled' | 'sequence'

export interface InGroup {
  readonly key: string
  readonly place: number
}

export interface Group {
  readonly key: string
  readonly callback: string
  readonly together: Together
  /** By their places; null: not yet. */
  readonly outcomes: readonly (ChildOutcome | null)[]
  /** Those that are not started yet. */
  readonly queue: readonly Starting[]
}

export interface Child {
  readonly uid: Uid
  readonly id: string
  readonly callback: string | null
  readonly group?: InGroup
}

/** As engine.run would tell it. */
export type ChildOutcome =
  | { readonly id: string; readonly status: 'completed'; readonly output: unknown }
  | {
      readonly id: string
      readonly status: Exclude<FinalStatus, 'completed'>
      readonly error: object
    }

/** An end that is to be told to the transition or event `callback`, where a place takes it. */
export interface Arrived {
  readonly callback: string
  readonly outcome: unknown
}

export interface Family {
  readonly children: readonly Child[]
  readonly groups: readonly Group[]
  readonly arrived: readonly Arrived[]
}

export const NO_FAMILY: Family = { children: [], groups: [], arrived: [] }

export interface Ended {
  readonly family: Family
  /** The next of a sequence. */
  readonly start: Starting | null
  /** Those of `all` that are not wanted any more. */
  readonly unwanted: readonly Child[]
}

export function childEnded(
  family: Family,
  uid: Uid,
  status: FinalStatus,
  payload: Stored | null,
): Ended {
  const child = family.children.find((one) => one.uid === uid)
  const children = family.children.filter((one) => one !== child)
  const nothing = { start: null, unwanted: [] }
  if (!child) return { family, ...nothing }
  const outcome = outcomeOf(child.id, status, payload)
  if (!child.group) {
    const arrived = child.callback === null ? [] : [{ callback: child.callback, outcome }]
    return { family: { ...family, children, arrived: [...family.arrived, ...arrived] }, ...nothing }
  }
  const { key, place } = child.group
  const group = family.groups.find((one) => one.key === key)
  if (!group) return { family: { ...family, children }, ...nothing }
  const outcomes = group.outcomes.map((one, i) => (i === place ? outcome : one))
  return regrouped({ ...family, children }, { ...group, outcomes }, outcome)
}

function regrouped(family: Family, group: Group, last: ChildOutcome): Ended {
  const others = family.groups.filter((one) => one.key !== group.key)
  const isBroken = last.status !== 'completed' && group.together !== 'allSettled'
  if (isBroken || !group.outcomes.includes(null)) {
    const outcome = isBroken
      ? last
      : { status: 'completed', output: group.outcomes.map(shownOf(group)) }
    const arrived = [...family.arrived, { callback: group.callback, outcome }]
    const unwanted = family.children.filter((one) => one.group?.key === group.key)
    const children = family.children.filter((one) => !unwanted.includes(one))
    return { family: { children, groups: others, arrived }, start: null, unwanted }
  }
  const [start = null, ...queue] = group.queue
  return { family: { ...family, groups: [...others, { ...group, queue }] }, start, unwanted: [] }
}

/** Of what has completed, what it gave back; of what has ended, how. */
const shownOf =
  ({ together }: Group) =>
  (outcome: ChildOutcome | null): unknown =>
    together === 'allSettled' || outcome?.status !== 'completed' ? outcome : outcome.output

function outcomeOf(id: string, status: FinalStatus, payload: Stored | null): ChildOutcome {
  if (status === 'completed') {
    return { id, status, output: payload === null ? undefined : decode(payload) }
  }
  const error = payload === null ? { name: 'Error', message: status } : errorRecord(payload)
  return { id, status, error }
}
