// The public types of the engine: runs, handles, reading, events.

import type { Content, Doc, StoredDocument } from '../authoring/document-types.js'
import type { Sent } from '../authoring/machine/types.js'
import type {
  Args,
  Definition,
  Dict,
  Emitted,
  ErrorClass,
  EventName,
  InputNotDeclared,
  Instant,
  Key,
  Log,
  Nothing,
  Opt,
  PgClient,
  RunRef,
  Schema,
  Target,
  Tx,
  Types,
  TypesOf,
} from '../authoring/types.js'
import type { Status, WaitReason } from '../model/run.js'
import type { Duration } from '../model/time.js'
import type { DescribedTransition, Description } from './describe-types.js'
import type { LimitInfo } from './limit-types.js'

// ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────

export type { DescribedTransition, Description, LimitInfo, WaitReason }
export type StoredError = Readonly<{
  name: string
  message: string
  code?: string
  stack?: string
  step?: string
  attempt?: number
}>
/** A child that has not ended. */
export type OpenChild = Readonly<{ id: string; workflow: string; status: Status }>

/** A step that can be undone, and what has become of that. */
export type UndoState = Readonly<{
  step: string
  state: 'planned' | 'done' | 'failed' | 'skipped'
}>
/** What the run can take now. */
export type Offer = Readonly<{
  kind: 'signal' | 'transition' | 'event'
  name: string
  schema: object | null
}>

export type RunInfo<T extends Types = Types> = RunRef & RunDetails<T> & RunStanding<T>

export type RunDetails<T extends Types = Types> = Readonly<{
  kind: Definition['kind']
  input: T['parsed']
  /** What wf.setState said last; of a machine, its state. */
  state: T['state']
  /** Where a machine is. */
  place: string | null
  /** Of a machine that goes on: its last attempt to leave that place has failed. */
  hasError: boolean
  error: StoredError | null
  tags: Dict<string>
  /** 1 + re-openings. */
  attempt: number
  /** In get(): what can be undone, in the order in which it was done. Of a completed run nothing is undone any more. */
  undo: readonly UndoState[]
  updatedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
}>

/** What depends on the status. */
export type RunStanding<T extends Types = Types> = Readonly<
  | { status: 'pending' | 'running'; output?: undefined }
  | {
      status: 'waiting'
      reason: WaitReason
      until: Date | null
      /** In get(): the signals that it waits for. */
      available: readonly Offer[]
      /** With reason `child`, in get(): what it waits for. */
      children?: readonly OpenChild[]
      output?: undefined
    }
  | { status: 'completed'; output: T['output'] }
  | { status: 'failed'; error: StoredError; retryable: boolean; output?: undefined }
  | { status: 'cancelled' | 'timed_out'; error: StoredError; output?: undefined }
>

export type Outcome<O = unknown> = Readonly<{
  id: string
  /** What the run shows to people. */
  documents: readonly StoredDocument[]
}> &
  Readonly<
    | { status: 'completed'; output: O }
    | { status: 'failed' | 'cancelled' | 'timed_out'; error: StoredError; output?: undefined }
    /** Only of a stateless run: it came to wait for the outside. */
    | { status: 'waiting'; output?: undefined }
  >

export interface RunHandle<T extends Types = Types> {
  readonly id: string
  /**
   * The output; or throws WORKFLOW_FAILED, WORKFLOW_CANCELLED, WORKFLOW_TIMED_OUT with the recorded error as
   * `cause`. Past `timeout`: WAIT_TIMED_OUT, and the run goes on.
   */
  result(options?: Opt<{ timeout: Duration; signal: AbortSignal }>): Promise<T['output']>
  status(): Promise<Status>
  /** The run as it is now. */
  get(): Promise<RunInfo<T>>
  /** Mail: stored, kept until the run takes it. */
  signal<K extends Key<T>>(
    name: K,
    ...args: Args<T['sends'][K], Opt<{ id: string; transaction: PgClient }>>
  ): Promise<void>
  /**
   * A call: refused with NOT_AVAILABLE unless the run can take it now, or `within` a time; resolves when it has taken it, with
   * the run as it is then.
   */
  trigger<K extends Key<T>>(
    name: K,
    ...args: Args<T['sends'][K], Opt<{ id: string; within: Duration }>>
  ): Promise<RunInfo<T>>
  cancel(reason?: string): Promise<void>
  retry(): Promise<void>
  /** It makes no progress until it is resumed: what runs may finish, nothing new starts; timers and mail are kept. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Its entries behind number `after` (0), stored ones and then each as it is stored, whoever executes it; until it has ended. */
  events(options?: Opt<{ after: number; signal: AbortSignal }>): AsyncIterable<JournalEntry>
}

export type JournalEntry = Readonly<{
  seq: number
  kind: string
  /** The step, wait or timer it belongs to (`name#2` from the second use on); '' for facts of the run itself. */
  name: string
  at: Date
  attempt?: number
  input?: unknown
  output?: unknown
  error?: StoredError
  /** Of a machine, in order; `input` is their payload. */
  transitions?: readonly Readonly<{ from: string; to: string; event: string }>[]
  /** Steps: when the code asked for it, and when it began. `at` is when it ended. */
  askedAt?: Date
  startedAt?: Date
  /** When it is due, or tried again. */
  until?: Date
  /** Children: which definition and run. */
  workflow?: string
  runId?: string
}>

/** Where a machine was, and what was shown then. */
export type Checkpoint = Readonly<{
  /** 1 for the first transition that has succeeded. */
  version: number
  seq: number
  place: string
  state: unknown
  documentIds: readonly string[]
  at: Date
}>

export type Explanation = Readonly<{
  sentence: string
  reason: WaitReason | Status
  since: Date
  until: Date | null
  next: readonly { text: string; command: string }[]
}>

// ── engine ──────────────────────────────────────────────────────────────────────────────────────────────────

export type StartOptions<T extends Types = Types> = Opt<{
  /** Also the idempotency key: the same id gives the same run; with another input or definition: ID_TAKEN. */
  id: string
  workspace: string
  tags: Dict<string>
  delay: Duration
  timeout: Duration
  /** 0–9, higher first, default 5. */
  priority: number
  /** A first signal in the same commit; also delivered when the run exists already. */
  message: { [K in Key<T>]: { name: K; payload: T['sends'][K]; id?: string } }[Key<T>]
  /** Begins when nobody has started it under this key for that long, with the last input; all of them are one run. */
  debounce: Readonly<{ key: string; for: Duration }>
  /** Of an event machine, in the place of an input: it goes on from there. */
  snapshot: Sent['snapshot']
}>
/** What a caller passes as input; nothing to a definition that declares none. */
type Given<I> = [I] extends [InputNotDeclared | undefined] ? undefined : I
export type StartItem<T extends Types = Types> = Readonly<
  undefined extends Given<T['input']> ? { input?: Given<T['input']> } : { input: Given<T['input']> }
> & { readonly options?: StartOptions<T> | undefined }
/** `id` of the message: the second one with the same id changes nothing. */
export type MessageOptions = Opt<{ id: string; workspace: string }>
export type TriggerOptions = MessageOptions & Opt<{ within: Duration }>
export type PageOptions = Opt<{ limit: number; after: string; order: 'newest' | 'oldest' }>
export type Filter<D = string> = PageOptions &
  Opt<{
    workflow: D
    status: Status | 'canceled' | readonly (Status | 'canceled')[]
    reason: WaitReason
    workspace: string
    tags: Dict<string>
    parentId: string
    createdAfter: Instant
    createdBefore: Instant
    /** Part of the run id. */
    text: string
  }>
export type Page<E> = Readonly<{ items: readonly E[]; next: string | null }>
/** `await` gives a page, `for await` gives everything. */
export type Paged<E> = Promise<Page<E>> & AsyncIterable<E>

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
export interface Client<W = unknown> {
  start<D extends Target<W>>(
    target: D,
    ...args: Args<TypesOf<D, W>['input'], StartOptions<TypesOf<D, W>> & { transaction?: undefined }>
  ): Promise<RunHandle<TypesOf<D, W>>>
  /** In the caller's transaction there is nothing to await before COMMIT: only the id comes back. */
  start<D extends Target<W>>(
    target: D,
    input: Given<TypesOf<D, W>['input']>,
    options: StartOptions<TypesOf<D, W>> & { transaction: PgClient },
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
    options?: MessageOptions & Opt<{ transaction: PgClient }>,
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
    options?: MessageOptions & Opt<{ transaction: PgClient }>,
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
  /** Why is it not moving? */
  explain(runId: string): Promise<Explanation>
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
  /** All limits: what is allowed, how many have a slot, how many ask for one. */
  limits(): Promise<readonly LimitInfo[]>
  /** Drains, gives its runs back at once. */
  close(): Promise<void>
  /** Never there at run time. */
  readonly '~defs': W
}

export type EngineOptions<W> = Opt<{
  /** 'postgres://…', 'file:<dir>', 'memory:' or a pg.Pool. Default: PERDURE_DATABASE_URL, DATABASE_URL, else 'file:.perdure/data'. */
  database:
    | string
    | { query: (...args: never[]) => unknown; connect: (...args: never[]) => unknown }
  /** Of the database. Default 'perdure'. */
  schema: string
  workflows: W
  /** false: this process starts, signals and reads, and executes nothing. */
  worker: boolean | Opt<{ concurrency: number; lease: Duration }>
  /** Classes of errors that come back as themselves, so that instanceof holds on every replay. */
  errors: readonly ErrorClass[]
  /** Schemas of events, by name. Say so in Register: { events: typeof events }. */
  events: Dict<Schema>
  /** Makes the user's ORM of a client, for wf.transaction. Say what it is in Register: { tx: MyTx }. */
  tx: (client: PgClient) => Tx
  /** Names this deploy, for divergence and missing code. */
  build: string
  /** How long finished runs are kept; false: for ever. Default '30 days'. */
  retention: Duration | false
  maxValueBytes: number
  allowEmbeddedInProduction: boolean
  log: Log
}>
