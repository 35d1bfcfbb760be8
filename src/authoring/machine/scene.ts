// What the parts of the interpreter tell each other.

import type { Instant, Stored } from '../../model/run.js'
import type { Made, Surroundings } from '../definition.js'
import type { Machine, Move, Transition } from './description.js'
import type { Family, Group, Starting } from './family.js'

export type MachineMade = Extract<Made, { kind: 'machine' }>

/** What all transitions of a run share. */
export interface Scene {
  readonly made: MachineMade
  readonly machine: Machine
  readonly around: Surroundings
  readonly input: unknown
}

/** A transition that is to run. */
export interface Firing {
  readonly transition: Transition
  readonly place: string
  readonly payload: Stored | null
  readonly at: At
  readonly fields: At['fields']
  /** Messages whose senders wait for it. */
  readonly answers: readonly number[]
  /** Its guard is asked where it runs. */
  readonly isGuarded: boolean
  /** Once, whatever its policy says. */
  readonly isManual: boolean
}

/** What a transition left: the value of its step. */
export interface Left {
  /** false: its guard, or its rules, said no. */
  readonly isMoved: boolean
  /** The run ends there. */
  readonly isDone: boolean
  readonly place: string
  readonly state: unknown
  readonly fields: At['fields']
  readonly moves: readonly Move[]
  readonly isStaying?: boolean
  readonly payload?: unknown
  readonly next?: string | null
  readonly output?: { readonly value: unknown }
  readonly starts?: readonly Starting[]
  readonly groups?: readonly Group[]
}

/** What a round leaves to the next. */
export interface At {
  readonly place: string
  readonly state: unknown
  /** What transitions have assigned to `this`. */
  readonly fields: Readonly<Record<string, unknown>>
  /** How many transitions have succeeded. */
  readonly version: number
  /** What runs next by itself; null: nothing; absent: its guards are to be asked. */
  readonly next?: string | null
  readonly output?: { readonly value: unknown }
  readonly family: Family
  /** If no place was entered: since when it is there, and how many of its late transitions have been tried. */
  readonly enteredAt?: Instant
  readonly lateFrom?: number
  /** Begun elsewhere: the first place was entered there. */
  readonly hasBegun?: boolean
}

/** What an attempt is made of. */
export interface Attempted {
  readonly state: unknown
  readonly fields: At['fields']
  readonly place: string
  readonly name: string
  readonly payload?: Stored | null
}
