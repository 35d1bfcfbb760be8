// Where a machine waits: what it wishes for there, where a transition leads it from there, and what an event does that needs
// nobody else.

import { decode, encode, encodeWith, Part } from '../../model/codec.js'
import type { Due, Reaction, Round, Wish } from '../../model/program.js'
import type { Instant, Message, Stored } from '../../model/run.js'
import type { Place } from './description.js'
import type { Family } from './family.js'
import { leaving, unmoved } from './fire.js'
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
export function atMoved(from: At, left: Left, { enteredAt, lateFrom, family }: Since): At {
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

/** What it is made of has been measured where it was written. */
export function roundAt({ made }: Scene, at: At, parts: object | null = null): Round {
  const children = at.family.children.map(({ uid }) => uid)
  return { done: false, children, value: encodeWith(parts, at, `where machine "${made.name}" is`) }
}

/** The wish of an event machine knows what events do there, as long as they keep inside the context. */
export function reactiveWish(scene: Scene, place: Place, from: At, since: Since): Wish {
  const state = encode(from.state, 'the state')
  const [fields, family] = [Part.of(from.fields), Part.of(since.family)]
  const same = fields && family && { fields, family }
  return reactive(scene, { place, from: { ...from, state: null }, since, state, same })
}

interface Waits {
  readonly place: Place
  /** Without its state. */
  readonly from: At
  /** That of `from`. */
  readonly state: Stored
  readonly since: Since
  /** What stays as it is while events keep inside the context. */
  readonly same: { readonly fields: Part; readonly family: Part } | null
}

function reactive(scene: Scene, waits: Waits): Wish {
  const react = (message: Message, now: Instant): Reaction | null => {
    try {
      return reaction(scene, waits, message, now)
    } catch {
      // The step says what is wrong.
      return null
    }
  }
  return { ...wishAt(waits.place, waits.since, false), react }
}

function reaction(
  scene: Scene,
  waits: Waits,
  { name: step, payload }: Message,
  now: Instant,
): Reaction | null {
  const { place, from, since, same } = waits
  const given = payload ? (decode(payload) as unknown) : undefined
  const draft = decode(waits.state)
  const moved = place.waiting.get(step)?.now?.({ state: draft, payload: given })
  if (!moved) return null
  const label = 'transition'
  if (moved.moves.length === 0) {
    const before = { ...from, state: decode(waits.state) }
    const effect = unmoved({ place: place.name, at: before, fields: from.fields })
    const at = atStayed(before, since, true)
    const wish = reactive(scene, { ...waits, from: { ...at, state: null } })
    return { step, label, effect, round: roundAt(scene, at), wish }
  }
  const to = scene.machine.places.get(moved.place)
  if (!to || to.isFinal) return null
  const { state, moves } = moved
  const { fields } = from
  const left: Writable<Left> = {
    isMoved: true,
    isDone: false,
    place: to.name,
    state,
    fields,
    moves,
  }
  if (moved.isStaying) left.isStaying = true
  if (given !== undefined) left.payload = given
  const part = Part.of(state, scene.around.valueBytesMax)
  const inner = part && same && { state: part, fields: same.fields }
  const effect = leaving(scene, step, left, from, inner)
  const at = atMoved(from, left, since)
  const round = roundAt(scene, at, inner && { ...at, ...inner, family: same?.family })
  const next = moved.isStaying ? since : { enteredAt: now, lateFrom: 0, family: since.family }
  const then = { from: { ...at, state: null }, state: effect.shown.state, since: next, same }
  return { step, label, effect, round, wish: reactive(scene, { ...then, place: to }) }
}
