// What may be done to a test engine while a scenario runs on it. The engine asks at each of these places; without a
// troublemaker nothing happens there.

import type { Execution } from '../kernel/attempt.js'
import type { Delta } from '../kernel/store.js'
import type { Attempt, Effect } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import type { CommitPlan } from './commits.js'

export interface Trouble {
  readonly atCommit: CommitPlan
  saw(delta: Delta): void
  /** Stands around the code of every step. */
  execute(called: Called): Promise<Effect>
  /** Stands around the function of every run, and around each of its replays. */
  body<T>(run: RunFacts, work: () => Promise<T>): Promise<T>
  isAskedTwice(what: string): boolean
}

/** The code of a step that is about to run. */
export interface Called {
  readonly execution: Execution
  /** Of a task the step that it is comes second. */
  readonly names: readonly StepName[]
  /** A function of the test stands in its place. */
  readonly isStub: boolean
  readonly code: (attempt: Attempt) => Promise<Effect>
  /** Ends the life that executes it. */
  readonly die: () => Promise<never>
}

export interface StepName {
  readonly name: string
  readonly occurrence: number
}
