// The public types of the engine: its calls, its options, its events.

import type { Content, Doc, StoredDocument } from '../authoring/document-types.js'
import type { Sent } from '../authoring/machine/types.js'
import type {
  Args,
  Definition,
  Dict,
  Emitted,
  EventName,
  Nothing,
  OpenTransaction,
  Opt,
  PgClient,
  Target,
  TypesOf,
} from '../authoring/types.js'
import type { WaitReason } from '../model/run.js'
import type { Description } from './describe-types.js'
import type { HasGraphs } from './graph-types.js'
import type { HasInsight } from './insight-types.js'
import type { LimitInfo, LimitRuns } from './limit-types.js'
import type { LoggedNode } from './logged-node.js'
import type {
  Change,
  Checkpoint,
  Explanation,
  Filter,
  Given,
  JournalEntry,
  MessageOptions,
  Outcome,
  Paged,
  PageOptions,
  RunHandle,
  RunInfo,
  StartItem,
  StartOptions,
  StoredError,
  TriggerOptions,
} from './run-types.js'
import type { HasSchedules } from './schedule-types.js'
import type {
  EngineInfo,
  EngineMetrics,
  NodeTypeInfo,
  RunCount,
  WorkerInfo,
} from './system-types.js'
import type { Webhooks } from './webhook-types.js'

export type * from './describe-types.js'
export type * from './graph-types.js'
export type * from './insight-types.js'
export type * from './limit-types.js'
export type * from './run-types.js'
export type * from './schedule-types.js'
export type * from './system-types.js'
export type * from './webhook-types.js'

type Fact<P = Nothing> = Readonly<
  { id: string; runId: string; workflow: string; workspace: string; at: Date } & P
>
export interface EngineEvents {
  'workflow.created': Fact
  /** One for each, in order. `event`: the transition, or the type of the event. */
  'workflow.transition': Fact<{ from: string; to: string; event: string; payload: unknown }>
  /** A machine has been at `state` for as long as it may. */
  'workflow.timeout.triggered': Fact<{ state: string }>
  'run.completed': Fact<{ output: unknown }>
  'run.failed': Fact<{ error: StoredError }>
  'run.cancelled': Fact<{ reason: string }>
  'run.timed_out': Fact
  'run.waiting': Fact<{ reason: WaitReason }>
  'run.resumed': Fact<{ after: string; stepsDone: number }>
  'step.completed': Fact<{ step: string; attempt: number }>
  'step.failed': Fact<{ step: string; attempt: number; error: StoredError; retryAt: Date | null }>
}

/** All that can be done from outside. */
export interface Client<W = unknown> extends HasSchedules<W>, HasGraphs, HasInsight<W> {
  start<D extends Target<W>>(
    target: D,
    ...args: Args<TypesOf<D, W>['input'], StartOptions<TypesOf<D, W>> & { transaction?: undefined }>
  ): Promise<RunHandle<TypesOf<D, W>>>
  /** In the caller's transaction there is nothing to await before COMMIT: only the id comes back. */
  start<D extends Target<W>>(
    target: D,
    input: Given<TypesOf<D, W>['input']>,
    options: StartOptions<TypesOf<D, W>> & { transaction: OpenTransaction },
  ): Promise<{ readonly id: string }>
  /** Thousands of starts in one call; the handles are in the order of the items. */
  startMany<D extends Target<W>>(
    target: D,
    items: readonly StartItem<TypesOf<D, W>>[],
  ): Promise<RunHandle<TypesOf<D, W>>[]>
  /** Start and wait for the end; does not throw, look at `status`. `stateless`: in memory, writes nothing. */
  run<D extends Target<W>>(
    target: D,
    ...args: Args<TypesOf<D, W>['input'], StartOptions<TypesOf<D, W>> & Opt<{ stateless: boolean }>>
  ): Promise<Outcome<TypesOf<D, W>['output']>>
  /** The typed handle of a run, by its id. Asks nothing of the database. */
  handle<D extends Target<W>>(target: D, id: string): RunHandle<TypesOf<D, W>>
  signal(
    runId: string,
    name: string,
    payload?: unknown,
    options?: MessageOptions & Opt<{ transaction: OpenTransaction }>,
  ): Promise<void>
  trigger(
    runId: string,
    name: string,
    payload?: unknown,
    options?: TriggerOptions,
  ): Promise<RunInfo>
  /** An event for an event machine, which the first one creates; resolves when it is at rest again, and that is stored. */
  send<D extends Target<W>>(
    target: D,
    id: string,
    event: TypesOf<D, W>['event'],
    options?: MessageOptions,
  ): Promise<
    Sent<D extends { '~place': infer S extends string } ? S : string, TypesOf<D, W>['state']>
  >
  /** To every run of the workspace that waits for it now. The same id again changes nothing. */
  emit<K extends EventName>(
    event: K,
    payload: Emitted<K>,
    options?: MessageOptions & Opt<{ transaction: OpenTransaction }>,
  ): Promise<void>
  /** `force` ends a run without undoing anything, also one whose undos cannot run. */
  cancel(
    runId: string,
    reason?: string,
    options?: MessageOptions & Opt<{ force: boolean }>,
  ): Promise<void>
  retry(runId: string, options?: Opt<{ expectedAttempt: number; workspace: string }>): Promise<void>
  /** It makes no progress until it is resumed: what runs may finish, nothing new starts; timers and mail are kept. */
  pause(runId: string): Promise<void>
  resume(runId: string): Promise<void>
  /**
   * A new run that goes on from a point of another, which is not touched. `from`: before the step of that name, or behind the
   * entry of that number; left out: from the beginning. `outputs` replaces recorded results, by the names of their steps.
   * `version`: behind that checkpoint of a machine, with another `state` if one is given.
   */
  fork(
    runId: string,
    options?: Opt<{
      from: string | number
      version: number
      state: unknown
      input: unknown
      outputs: Dict<unknown>
      id: string
      workspace: string
    }>,
  ): Promise<RunHandle>
  /** What a definition is made of, for people and for the tools that draw it. Throws DEFINITION_UNKNOWN. */
  describe(target: Target<W>): Description
  /** null if there is no such run; every other call throws RUN_NOT_FOUND. */
  get(runId: string): Promise<RunInfo | null>
  list<D extends Target<W> = Definition>(filter?: Filter<D>): Paged<RunInfo<TypesOf<D, W>>>
  history(runId: string, page?: PageOptions): Paged<JournalEntry>
  checkpoints(runId: string, page?: PageOptions): Paged<Checkpoint>
  /** What the run shows to people, in order; hidden and replaced ones are not there. */
  documents<D extends Doc>(runId: string, type?: D): Promise<StoredDocument<Content<D>>[]>
  /** What has become of each node of a run of a graph: input, output, times, error, and the variables after it. */
  nodes(runId: string): Promise<LoggedNode[]>
  /** Why is it not moving? */
  explain(runId: string): Promise<Explanation>
  /**
   * Every committed change of the runs of the workspace, once, those of a run in order, whoever has committed it: for lists that stay
   * current. Never ends by itself. The first is a reload: list runs then.
   */
  changes(options?: Opt<{ after: string; signal: AbortSignal }>): AsyncIterable<Change>
  /** After commit, at least once somewhere (dedupe by `id`). Gives back the way to stop. */
  on<K extends keyof EngineEvents>(
    event: K,
    listener: (event: EngineEvents[K]) => unknown,
  ): () => void
  /** The same, confined to one workspace. */
  workspace(name: string): Client<W>
}

export interface Engine<W = unknown> extends Client<W>, AsyncDisposable {
  /** A transaction on the engine's database; the only way with the embedded one. Wakes workers after COMMIT. */
  transaction<O>(fn: (tx: PgClient) => Promise<O>): Promise<O>
  readonly webhooks: Webhooks
  /** What this engine has the code of, by name. */
  definitions(): readonly Description[]
  /** The processes that are there, oldest first. */
  workers(): Promise<readonly WorkerInfo[]>
  /** How many runs there are, by definition and status; in all workspaces, or in one. Counts them all: not for every second. */
  stats(options?: Opt<{ workspace: string }>): Promise<readonly RunCount[]>
  /** What this process has done, in numbers for graphs and alarms. */
  metrics(): Promise<EngineMetrics>
  /** All limits: what is allowed, how many have a slot, how many ask for one. */
  limits(): Promise<readonly LimitInfo[]>
  /** Who has a slot and who waits for one, at a limit as `limits()` gives it. */
  limitRuns(of: Pick<LimitInfo, 'kind' | 'workflow' | 'name'>): Promise<LimitRuns>
  /** The types of nodes that graphs of this engine may have. */
  nodeTypes(): readonly NodeTypeInfo[]
  about(): EngineInfo
  /**
   * Runs as lines of JSON, which `perdure import` takes into another database. Those that have not ended are paused here when the
   * last one is read, all of them or none; not with `copy`.
   */
  export(
    options?: Opt<{
      /** Left out: of all. */
      workspace: string
      workflow: string
      ids: readonly string[]
      copy: boolean
      /** Those that have ended are left out. */
      unfinished: boolean
    }>,
  ): AsyncIterable<string>
  /** Drains, gives its runs back at once. */
  close(): Promise<void>
  /** Never there at run time. */
  readonly '~defs': W
}
