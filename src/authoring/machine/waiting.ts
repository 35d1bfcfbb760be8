// Where a machine waits: what it wishes for there, where a transition leads it from there, and what an event does that needs
// nobody else.

import { decode, encode, encodeAround, Part } from '../../model/codec.js'
import type { Uid } from '../../model/ids.js'
import type { Due, Reaction, Round, Wish } from '../../model/program.js'
import type { Instant, Message, Stored } from '../../model/run.js'
import type { Place } from './description.js'
import type { Family } from './family.js'
import type { At, Left, Scene } from './scene.js'

/** The name of the message that tries the failed transition again. */
export const RETRY = '(retry)'
/** The end of a child that nobody waits for alone. */
const CHILD = '(child)'

/** How long it has been there, and with whom. */
export interface Since {
  readonly enteredAt: Instant
  /** So many of the late transitions have been tried. */
  readonly lateFrom: number
  readonly family: Family
}

/** `hasFailed`: a transition led to this place by failing, and can be tried again. */
export function wishAt(place: Place, since: Since, hasFailed: boolean): Wish {
  const { enteredAt, lateFrom, family } = since
  const late = place.late[lateFrom]
  const until: Due | null = late ? { at: enteredAt + late.afterMs } : null
  const names = hasFailed ? [...namesAt(place), RETRY] : namesAt(place)
  const children = family.children.map(({ uid, callback }) => ({ uid, as: callback ?? CHILD }))
  return { names, until, place: place.name, isAnsweredLater: true, children }
}

/** The same for every run that waits there. */
const waited = new WeakMap<Place, readonly string[]>()

function namesAt(place: Place): readonly string[] {
  const known = waited.get(place)
  if (known) return known
  const names = [...place.waiting.keys()]
  waited.set(place, names)
  return names
}

/** Where the next round begins, behind a transition that has left this. */
export function atMoved(
  from: At,
  left: Pick<Left, 'place' | 'state' | 'fields' | 'isStaying' | 'next' | 'output'>,
  { enteredAt, lateFrom, family }: Since,
): At {
  const { place, state, fields, next } = left
  const output = left.output ?? from.output
  const at: Writable<At> = { place, state, fields, version: from.version + 1, family }
  if (left.isStaying) Object.assign(at, { enteredAt, lateFrom })
  if (next !== undefined) at.next = next
  if (output) at.output = output
  return at
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Nothing has changed. `isResting`: nothing runs there by itself. */
export function atStayed(from: At, since: Since, isResting: boolean): At {
  const { enteredAt, lateFrom, family } = since
  const { next: _, ...stayed } = from
  return { ...stayed, family, enteredAt, lateFrom, ...(isResting && { next: null }) }
}

export function roundAt({ made }: Scene, at: At): Round {
  const children = at.family.children.map(({ uid }) => uid)
  return { done: false, children, value: encode(at, `where machine "${made.name}" is`) }
}

/** The wish of an event machine knows what events do there, as long as they keep inside the context. */
export function reactiveWish(scene: Scene, place: Place, from: At, since: Since): Wish {
  const [state, fields, family] = [from.state, from.fields, since.family].map((part) =>
    Part.of(part),
  )
  if (!state || !fields || !family) return wishAt(place, since, false)
  const same = { scene, fields, family, children: since.family.children.map(({ uid }) => uid) }
  return new Waiting(same, place, { ...from, state: null }, state.text, since)
}

/** What stays as it is while events keep inside the context. */
interface Same {
  readonly scene: Scene
  readonly fields: Part
  readonly family: Part
  readonly children: readonly Uid[]
}

const LABEL = 'transition'

/** Where the state belongs, once it is known. */
const STATE = Part.hole()

/** A wish that knows what events do. */
class Waiting implements Wish {
  readonly isAnsweredLater = true
  readonly names: readonly string[]
  readonly until: Due | null
  readonly place: string
  readonly children: NonNullable<Wish['children']>
  private readonly same: Same
  private readonly at: Place
  /** Without its state. */
  private readonly from: At
  private readonly state: Stored
  private readonly since: Since

  constructor(same: Same, at: Place, from: At, state: Stored, since: Since) {
    const { names, until, children } = wishAt(at, since, false)
    this.names = names
    this.until = until
    this.place = at.name
    this.children = children ?? []
    this.same = same
    this.at = at
    this.from = from
    this.state = state
    this.since = since
  }

  /** Whatever goes wrong with it: the step says what. */
  readonly react = (message: Message, now: Instant): Reaction | null => {
    try {
      return this.reaction(message, now)
    } catch {
      return null
    }
  }

  private reaction({ name: step, payload }: Message, now: Instant): Reaction | null {
    const { at, from, since, same } = this
    const { around, machine } = same.scene
    const given = payload === null ? undefined : (decode(payload) as unknown)
    const moved = at.waiting.get(step)?.now?.({ state: decode(this.state), payload: given })
    if (!moved) return null
    const { moves, isStaying } = moved
    if (moves.length === 0) return this.unmoved(step)
    const to = machine.places.get(moved.place)
    const state = Part.of(moved.state, around.valueBytesMax)?.text
    const part = payload === null ? null : Part.stored(payload)
    if (!to || to.isFinal || state === undefined || (payload !== null && !part)) return null
    const place = to.name
    const { fields } = same
    const done: Written = { isMoved: true, isDone: false, place, state: STATE, fields, moves }
    if (isStaying) done.isStaying = true
    if (part) done.payload = part
    const next = atMoved(
      from,
      { place, state: null, fields: from.fields, ...(isStaying && { isStaying }) },
      since,
    )
    const behind = isStaying ? since : { enteredAt: now, lateFrom: 0, family: since.family }
    const wish = new Waiting(same, to, next, state, behind)
    const shown = { state, at: { place, error: null } }
    return this.told(step, { done, next, state, checkpoint: next.version, shown, wish })
  }

  /** None of its rules applies. */
  private unmoved(step: string): Reaction | null {
    const { at, from, since, same, state } = this
    const { fields } = same
    const place = at.name
    const done = { isMoved: false, isDone: false, place, state: STATE, fields, moves: [] }
    const next = atStayed(from, since, true)
    const wish = new Waiting(same, at, next, state, since)
    return this.told(step, { done, next, state, checkpoint: null, shown: null, wish })
  }

  private told(step: string, about: About): Reaction | null {
    const { done, next, state, checkpoint, shown, wish } = about
    const { scene, fields, family, children } = this.same
    const value = encodeAround(done, state.length, scene.around.valueBytesMax)
    const left = encodeAround({ ...next, state: STATE, fields, family }, state.length)
    if (value === null || left === null) return null
    return { step, label: LABEL, checkpoint, state, value, left, children, shown, wish }
  }
}

interface About extends Pick<Reaction, 'state' | 'checkpoint' | 'shown' | 'wish'> {
  /** The value of the step: a Left, with what of it is written already. */
  readonly done: Written
  readonly next: At
}

type Written = { -readonly [K in keyof Left]: K extends 'fields' ? Part : Left[K] }
