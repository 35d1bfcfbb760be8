// A machine, however it was written: as a decorated class, as an object of transitions, or as states and events. The
// interpreter (program.ts) knows only this.

import type { RetryPolicy } from '../../model/run.js'
import type { Construct, Schema } from '../types.js'
import type { TransitionContext } from './types.js'

export interface Machine {
  readonly initial: string
  readonly places: ReadonlyMap<string, Place>
  /** Runs once, before anything else. */
  readonly begins?: Transition
  /** Of the state, checked before it is stored; null: it is not checked. */
  readonly state: Schema | null
  /** Of what the run gives back at its end. */
  readonly output: Schema | null
  /** The state that a run begins with, a new one for each. */
  begin(input: unknown): unknown
  /** Whose method a transition is, a new one for each attempt; null: nobody's. */
  self(construct?: Construct): object | null | Promise<object>
  /** What the run gives back if its last transition gave nothing. */
  end(place: string, state: unknown): unknown
  /** It takes events (send): one that fails leaves it where it was, and its sender is told. */
  readonly takesEvents: boolean
}

export interface Place {
  readonly name: string
  readonly isFinal: boolean
  /** Run at once, the first that its guard allows, in this order. */
  readonly automatic: readonly Transition[]
  /** Run by a message, under their names. */
  readonly waiting: ReadonlyMap<string, Transition>
  /** Run when the run has been here for so long; earliest first. */
  readonly late: readonly { readonly afterMs: number; readonly transition: Transition }[]
}

export interface Transition {
  /** The method; of an event machine, the type of the event. */
  readonly name: string
  /** May it run? Asked of automatic ones before, of waiting ones with their payload. null: always. */
  readonly guard: Guard | null
  /** Of its payload, checked where it is sent. */
  readonly schema: Schema | null
  readonly retry: RetryPolicy
  /** Where the run goes when it has failed for good; null: it stays, and fails. */
  readonly errorPlace: string | null
  /** undefined: as usual; null: none. */
  readonly timeoutMs: number | null | undefined
  /** Where it leads, for people: an event may lead to several places. */
  readonly targets: readonly string[]
  /** User code, once. */
  run(call: Call): Promise<Moved>
  /** The same at once, on a draft; null: it has to be run. */
  now?(call: Pick<Call, 'state' | 'payload'>): Moved | null
}

export type Guard = (call: Call) => unknown

/** All that one execution of a transition is given. */
export interface Call {
  readonly self: object | null
  /** A draft: nothing of it counts if the transition fails. */
  readonly state: unknown
  readonly payload: unknown
  readonly context: TransitionContext
  /** Resolves when all that came before is stored (Attempt.past). */
  past(): Promise<void>
}

export interface Moved {
  readonly place: string
  readonly state: unknown
  /** What a transition into the last place gave back. */
  readonly output?: { readonly value: unknown }
  /** In order. None: nothing has changed. */
  readonly moves: readonly Move[]
  /** No place was entered: the time in this one goes on. */
  readonly isStaying?: boolean
}

export interface Move {
  readonly from: string
  readonly to: string
  /** The transition, or the type of the event. */
  readonly event: string
}
