// Where a machine waits: what it wishes for there, where a transition leads it from there, and what an event does that needs
// nobody else.

import { decode, encode, encodeAround, Part } from '../../model/codec.js'
import type { Uid } from '../../model/ids.js'
import type { Due, Reaction, Round, Wish } from '../../model/program.js'
import type { Instant, Stored } from '../../model/run.js'
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
  const until = lateAt(place, enteredAt, lateFrom)
  const names = hasFailed ? [...namesAt(place), RETRY] : namesAt(place)
  const children = family.children.map(({ uid, callback }) => ({ uid, as: callback ?? CHILD }))
  return { names, until, place: place.name, isAnsweredLater: true, children }
}

function lateAt(place: Place, enteredAt: Instant, lateFrom: number): Due | null {
  const late = place.late[lateFrom]
  return late ? { at: enteredAt + late.afterMs } : null
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

/** With what of it is written already. */
type Written<T> = {
  -readonly [K in keyof T]: K extends 'state' | 'fields' | 'family' ? Part : T[K]
}

/** Where the next round begins, behind a transition that has left this. */
export function atMoved<A extends At | Written<At>>(
  from: A,
  left: Pick<A, 'place' | 'state' | 'fields'> & Pick<Left, 'isStaying' | 'next' | 'output'>,
  { enteredAt, lateFrom, family }: Omit<Since, 'family'> & Pick<A, 'family'>,
): A {
  const { place, state, fields, next } = left
  const output = left.output ?? from.output
  const at = { place, state, fields, version: from.version + 1, family } as Writable<A>
  if (left.isStaying) Object.assign(at, { enteredAt, lateFrom })
  if (next !== undefined) at.next = next
  if (output) at.output = output
  return at
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Nothing has changed. `isResting`: nothing runs there by itself. */
export function atStayed<A extends At | Written<At>>(
  from: A,
  { enteredAt, lateFrom, family }: Omit<Since, 'family'> & Pick<A, 'family'>,
  isResting: boolean,
): A {
  const { next: _, ...stayed } = from
  return { ...stayed, family, enteredAt, lateFrom, ...(isResting && { next: null }) } as A
}

export function roundAt({ made }: Scene, at: At): Round {
  const children = at.family.children.map(({ uid }) => uid)
  return { done: false, children, value: encode(at, `where machine "${made.name}" is`) }
}

/** The wish of an event machine knows what events do there, as long as they keep inside the context. */
export function reactiveWish(scene: Scene, place: Place, from: At, since: Since): Wish {
  const state = Part.of(from.state)
  const fields = Part.of(from.fields)
  const family = Part.of(since.family)
  const wish = wishAt(place, since, false)
  if (!state || !fields || !family) return wish
  const { children = [] } = wish
  const same = { scene, children, uids: since.family.children.map(({ uid }) => uid) }
  const { enteredAt, lateFrom } = since
  const at: Standing = {
    from: { ...from, state: STATE, fields, family },
    since: { enteredAt, lateFrom, family },
    state: state.text,
  }
  return new Waiting(same, place, at)
}

/** What stays as it is while events keep inside the context. */
interface Same {
  readonly scene: Scene
  readonly children: NonNullable<Wish['children']>
  readonly uids: readonly Uid[]
}

interface Standing {
  readonly from: Written<At>
  readonly since: Omit<Since, 'family'> & Pick<Written<At>, 'family'>
  readonly state: Stored
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
  private readonly here: Place
  private readonly at: Standing

  constructor(same: Same, here: Place, at: Standing) {
    const { enteredAt, lateFrom } = at.since
    this.names = namesAt(here)
    this.until = lateAt(here, enteredAt, lateFrom)
    this.place = here.name
    this.children = same.children
    this.same = same
    this.here = here
    this.at = at
  }

  /** Whatever goes wrong with it: the step says what. */
  react(name: string, payload: Stored | null, now: Instant): Reaction | null {
    try {
      return this.reaction(name, payload, now)
    } catch {
      return null
    }
  }

  private reaction(step: string, payload: Stored | null, now: Instant): Reaction | null {
    const { here, same, at } = this
    const { around, machine } = same.scene
    const given = payload === null ? undefined : (decode(payload) as unknown)
    const moved = here.waiting.get(step)?.now?.({ state: decode(at.state), payload: given })
    if (!moved) return null
    const { moves, isStaying } = moved
    if (moves.length === 0) return this.unmoved(step)
    const to = machine.places.get(moved.place)
    const state = Part.of(moved.state, around.valueBytesMax)?.text
    const part = payload === null ? null : Part.stored(payload, given)
    if (!to || to.isFinal || state === undefined || (payload !== null && !part)) return null
    const place = to.name
    const { fields, family } = at.from
    const done: Done = { isMoved: true, isDone: false, place, state: STATE, fields, moves }
    if (isStaying) done.isStaying = true
    if (part) done.payload = part
    const left = isStaying
      ? { place, state: STATE, fields, isStaying }
      : { place, state: STATE, fields }
    const from = atMoved(at.from, left, at.since)
    const since = isStaying ? at.since : { enteredAt: now, lateFrom: 0, family }
    return this.told(step, done, { here: to, at: { from, since, state }, place })
  }

  /** None of its rules applies. */
  private unmoved(step: string): Reaction | null {
    const { here, at } = this
    const { fields } = at.from
    const done = {
      isMoved: false,
      isDone: false,
      place: here.name,
      state: STATE,
      fields,
      moves: [],
    }
    const from = atStayed(at.from, at.since, true)
    return this.told(step, done, { here, at: { ...at, from }, place: null })
  }

  /** `place`: what people see of it; null: nothing new, and no checkpoint. */
  private told(
    step: string,
    done: Done,
    {
      here,
      at,
      place,
    }: { readonly here: Place; readonly at: Standing; readonly place: string | null },
  ): Reaction | null {
    const { scene, uids: children } = this.same
    const { from, state } = at
    const value = encodeAround(done, state.length, scene.around.valueBytesMax)
    const left = encodeAround(from, state.length)
    if (value === null || left === null) return null
    const checkpoint = place === null ? null : from.version
    const wish = new Waiting(this.same, here, at)
    return { step, label: LABEL, checkpoint, state, value, left, children, place, wish }
  }
}

/** The value of the step. */
type Done = Written<Left>
