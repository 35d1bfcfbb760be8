// What a seed means. 0 is the life in which nothing goes wrong; it also says where the others can be cut off. With
// crash: 'every-step' the next ones are those points, one crash each and nothing else, so that the simplest cause is
// found first. All others throw the dice: several crashes, and some of the faults.
//
// Chance is asked by the name of the place, not by the order in which the places come: a step that takes a moment longer
// does not change what happens to the next one.

import { generatorOf } from '../model/random.js'
import type { CommitFate } from './commits.js'

export type Fault = 'duplicates' | 'delays' | 'lost-answers' | 'pauses'
export const FAULTS: readonly Fault[] = ['duplicates', 'delays', 'lost-answers', 'pauses']

/** Where a life can be ended: beside a commit, or when the code of a step has run and nothing of it is recorded. */
export type Point =
  | { readonly at: 'commit'; readonly number: number; readonly end: 'before' | 'after' }
  | { readonly at: 'step'; readonly place: string }

export interface StepFate {
  /** Turns of the event loop before it and behind it. */
  readonly delays: readonly [before: number, after: number]
  /** The worker is stopped before the code runs; it goes on with it when another has taken its place. */
  readonly isPaused: boolean
  readonly isEnd: boolean
}

/** When a stopped worker goes on: before the next step, when its own step has been done by another, or at the end. */
export type Wakes = 'next' | 'done' | 'end'

export interface SeedPlan {
  commit(place: string, number: number, isStart: boolean): CommitFate
  step(place: string): StepFate
  wakes(place: string): Wakes
  isAskedTwice(place: string): boolean
}

export interface World {
  readonly crash: 'every-step' | 'random' | false
  readonly faults: readonly Fault[]
  /** Of the life in which nothing goes wrong. */
  readonly points: readonly Point[]
}

/** A run that loses its worker five times in a row without getting on fails, and that would be another outcome. */
const ENDS_MAX = 4
const DELAY_MAX = 6
const NO_DELAYS = [0, 0] as const

export function planOf(seed: number, world: World): SeedPlan {
  if (seed === 0) return onePoint(null)
  const point = world.crash === 'every-step' ? world.points[seed - 1] : undefined
  return point ? onePoint(point) : byChance(seed, world)
}

function onePoint(point: Point | null): SeedPlan {
  return {
    commit: (_place, number) => {
      return { end: point?.at === 'commit' && point.number === number ? point.end : null }
    },
    step: (place) => {
      const isEnd = point?.at === 'step' && point.place === place
      return { delays: NO_DELAYS, isPaused: false, isEnd }
    },
    wakes: () => 'end',
    isAskedTwice: () => false,
  }
}

function byChance(seed: number, { crash, faults, points }: World): SeedPlan {
  const dice = (place: string): number => generatorOf(`simulate ${seed} ${place}`).fraction()
  /** Some seeds have a fault often, some seldom, some not at all. */
  const rates = new Map(
    faults.map((fault) => [fault, Math.max(0, dice(`rate of ${fault}`) * 0.8 - 0.25)]),
  )
  const meets = (fault: Fault, place: string): boolean =>
    dice(`${fault} at ${place}`) < (rates.get(fault) ?? 0)
  const crashes = crash === false ? 0 : 1 + Math.floor(dice('crashes') * ENDS_MAX)
  const rate = crashes / Math.max(1, points.length)
  let ends = 0
  const mayEnd = (isDue: boolean): boolean => {
    if (!isDue || ends >= ENDS_MAX) return false
    ends += 1
    return true
  }
  const delayOf = (place: string): number =>
    meets('delays', place) ? 1 + Math.floor(dice(`length at ${place}`) * DELAY_MAX) : 0
  return {
    commit: (place, _number, isStart) => {
      const isDue = (when: string): boolean => dice(`crash ${when} ${place}`) < rate
      const end = !isStart && mayEnd(isDue('before')) ? 'before' : null
      const last = end ?? (mayEnd(isDue('after')) ? 'after' : null)
      return { end: last, isLost: meets('lost-answers', place), delay: delayOf(place) }
    },
    step: (place) => {
      const isPaused = mayEnd(meets('pauses', place))
      const isEnd = !isPaused && mayEnd(dice(`crash after ${place}`) < rate)
      const delays = [delayOf(place), delayOf(`the end of ${place}`)] as const
      return { delays, isPaused, isEnd }
    },
    wakes: (place) => WAKES[Math.floor(dice(`waking at ${place}`) * WAKES.length)] ?? 'end',
    isAskedTwice: (place) => meets('duplicates', place),
  }
}

const WAKES: readonly Wakes[] = ['next', 'done', 'end']
