// The public types of machines.

import type { Documents } from '../documents.js'
import type { Duration } from '../../model/time.js'
import type { Args, Emitted, EventName, InputOf, Opt, Step, Target, Tasks, Tx } from '../types.js'

/** What the code of a transition is given, beside its state and its payload. */
export interface TransitionContext<I = unknown> extends Step {
  readonly input: I
  readonly place: string
  readonly documents: Documents
  /** What is written through `tx` commits with the transition, even though this returns earlier; or not at all. */
  transaction<O>(fn: (tx: Tx) => Promise<O>): Promise<O>
  /** The child exists only if this transition commits. `callback`: the wait transition, or event, that gets its Outcome. */
  start<D extends Target<Tasks>>(
    child: D,
    ...args: Args<InputOf<D>, Opt<{ id: string; callback: string; timeout: Duration }>>
  ): Promise<{ readonly id: string }>
  /** Goes out only if this transition commits. */
  emit<K extends EventName>(event: K, payload: Emitted<K>): void
  /** A result before the end. */
  setOutput(output: unknown): void
}

/** What became of an event. */
export type Sent<S = string, C = unknown> = Readonly<{
  id: string
  state: S
  /** How many transitions it has led to. */
  transitions: number
  done: boolean
  snapshot: Readonly<{
    schema: 'durable-workflow-snapshot'
    version: 1
    engine: string
    state: S
    status: 'active' | 'done' | 'error'
    context: C
  }>
}>
