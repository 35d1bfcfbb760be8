// The public types of a simulation.

import type { AnyClass } from '../authoring/types.js'
import type { Definition, InputOf } from '../index.js'
import type { Fault } from './seed-plan.js'
import type { TestEngine, TestEngineOptions } from './types.js'

export interface SimulateOptions<
  D extends Definition | AnyClass = Definition,
  W extends readonly (Definition | AnyClass)[] = readonly [],
> {
  /** What the run is started with. Not with a scenario: that starts what it wants. */
  input?: InputOf<D> | undefined
  /** The tasks and workflows that it calls. */
  workflows?: W | undefined
  /** How many lives chance makes, behind the crash points; or exactly these seeds. Default 100. */
  seeds?: number | readonly number[] | undefined
  /**
   * 'every-step', the default: one life for every point at which a worker can die, then several crashes at random.
   * 'random': only those. false: none.
   */
  crash?: 'every-step' | 'random' | false | undefined
  /** What else goes wrong, at random. Default: all of it. */
  faults?: readonly Fault[] | undefined
  /** Steps, tasks and effects that may happen any number of times. true: all steps that call no `effect`. */
  repeatable?: readonly string[] | true | undefined
  /** Before each life, undisturbed: tables and stubs. */
  setup?: ((engine: TestEngine<readonly [D, ...W]>) => unknown) | undefined
  /** In each life; what it returns must not change. Default: the run is started, and time passes until it has ended. */
  scenario?: ((engine: TestEngine<readonly [D, ...W]>) => Promise<unknown>) | undefined
  /** Further options of createTestEngine. Nothing is logged unless a log is given. */
  engine?: Omit<TestEngineOptions<W>, 'workflows' | 'seed'> | undefined
}

export interface Finding {
  /**
   * - `repeated`: an effect happened twice for one step, without a key
   * - `other-key`: … with another key the second time
   * - `unkeyed-step`: a step that does not ask for its key ran twice
   * - `outside-step`: an effect was called by the function of the workflow itself
   * - `diverged`: the code asked something else when it was replayed
   * - `outcome`: the scenario ended in another way
   * - `unstable`: … although nothing went wrong
   */
  readonly kind:
    | 'repeated'
    | 'other-key'
    | 'unkeyed-step'
    | 'outside-step'
    | 'diverged'
    | 'outcome'
    | 'unstable'
  /** 0: the life in which nothing goes wrong. */
  readonly seed: number
  readonly workflow: string
  readonly runId: string | null
  readonly step: string | null
  readonly attempt: number | null
  readonly effect: string | null
  /** What happened, in a sentence, and one thing after the other. */
  readonly message: string
  readonly trace: readonly string[]
  /** What to do. */
  readonly hint: string
  /** The call that shows it again. */
  readonly repeat: string
}

export interface SimulationReport {
  readonly ok: boolean
  /** How many lives there were, with seeds of their own. */
  readonly seeds: number
  /** Points at which a worker died in a life of its own. */
  readonly crashPoints: number
  /** Workers that died, in all lives. */
  readonly crashes: number
  /** How often each of the faults came, in all lives. */
  readonly faults: Readonly<Record<Fault, number>>
  /** What the scenario returned when nothing went wrong. Without a scenario: how the run ended. */
  readonly outcome: unknown
  /** The first one; nothing was tried after it. */
  readonly finding: Finding | null
  /** All of it, for people. */
  readonly text: string
  /** This report; throws SIMULATION_FAILED if there is a finding. */
  orThrow(): SimulationReport
}
