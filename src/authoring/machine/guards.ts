// Which automatic transition runs: the first that its guard allows.
//
// Mostly that is settled by the transition before, in its own step: what it says is recorded with what it did. Where a guard
// has to be awaited, or throws, a step of its own asks.

import { decode, encode } from '../../model/codec.js'
import { PerdureError } from '../../model/errors.js'
import type { Attempt, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import { thrown } from '../recorded.js'
import { attempted } from './attempted.js'
import type { Call, Place, Transition } from './description.js'
import { asBoolean } from './guard.js'
import type { Attempted, Scene } from './scene.js'

interface Chosen {
  readonly transition: Transition
  /** Its guard threw: it is asked again where it runs, and what it throws is its failure. */
  readonly isDoubtful: boolean
}

export async function choose(
  scene: Scene,
  turn: Turn,
  place: Place,
  with_: Pick<Attempted, 'state' | 'fields'>,
): Promise<Chosen | null> {
  const name = `guards of ${place.name}`
  const execute = async (attempt: Attempt) => {
    try {
      const { call } = await attempted(scene, turn, attempt, { ...with_, place: place.name, name })
      const said = await first(place, call)
      if (said === null && isStuck(place)) throw stuck(scene, place)
      return { value: encode(said, name) }
    } catch (error) {
      throw thrown(error, { name, stopOn: [] })
    }
  }
  const timeoutMs = scene.around.transitionTimeoutMs
  const order = { label: 'guard', retry: NO_RETRY, timeoutMs, execute }
  const said = decode(await turn.step(name, order)) as Said | null
  const transition = place.automatic.find((one) => one.name === said?.name)
  return transition && said ? { transition, isDoubtful: said.isDoubtful } : null
}

interface Said {
  readonly name: string
  readonly isDoubtful: boolean
}

async function first(place: Place, call: Call): Promise<Said | null> {
  for (const { name, guard } of place.automatic) {
    try {
      const allowed = guard === null || asBoolean(await guard(call), guardOf(name))
      if (allowed) return { name, isDoubtful: false }
    } catch {
      return { name, isDoubtful: true }
    }
  }
  return null
}

/** Without waiting: undefined if that cannot be said. */
export function firstNow(place: Place, call: Call): string | null | undefined {
  for (const { name, guard } of place.automatic) {
    if (guard === null) return name
    try {
      const said = guard(call)
      if (said instanceof Promise) {
        said.catch(() => {})
        return undefined
      }
      if (asBoolean(said, guardOf(name))) return name
    } catch {
      return undefined
    }
  }
  return isStuck(place) ? undefined : null
}

export async function isAllowed({ name, guard }: Transition, call: Call): Promise<boolean> {
  return guard === null || asBoolean(await guard(call), guardOf(name))
}

const guardOf = (name: string): string => `the guard of transition '${name}'`

const isStuck = ({ waiting, late, isFinal }: Place): boolean =>
  waiting.size === 0 && late.length === 0 && !isFinal

const stuck = ({ made }: Scene, place: Place): PerdureError =>
  new PerdureError(
    'TRANSITION_UNAVAILABLE',
    `No transition of machine "${made.name}" may leave place "${place.name}": every guard says no.`,
    {
      hint: 'add a transition without a guard, or one that waits; a retry asks the guards again',
      details: { place: place.name, available: [] },
    },
  )
