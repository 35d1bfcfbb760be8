// The public types of runs: what they are, their handles, and how they are started and read.

import type { StoredDocument } from '../authoring/document-types.js'
import type { Sent } from '../authoring/machine/types.js'
import type {
  Args,
  Definition,
  Dict,
  InputNotDeclared,
  Instant,
  Key,
  OpenTransaction,
  Opt,
  RunRef,
  Types,
} from '../authoring/types.js'
import type { Status, WaitReason } from '../model/run.js'
import type { Duration } from '../model/time.js'

// ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────

export type { WaitReason }
export type StoredError = Readonly<{
  name: string
  message: string
  code?: string
  /** What to do, where whoever threw it says so. */
  hint?: string
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
  /** Of its schema. */
  title: string | null
  description: string | null
}>
/** What the run has asked for and not heard of yet. */
export type OpenQuestion = Readonly<{
  kind: 'step' | 'timer' | 'wait' | 'child'
  name: string
  /** Asked for, or last tried. */
  since: Date
  /** When it is due, or tried again. */
  until: Date | null
  /** Of a wait: the signals that it takes, or the event. */
  names: readonly string[]
  event: string | null
  /** The child, or the run whose end it waits for. */
  runId: string | null
  /** So many attempts have failed, the last one with that error. */
  attempt: number
  error: StoredError | null
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
  /** Steps that are tried again, timers, waits, children; by its newest entries. A short step leaves no trace before it ends. */
  open: readonly OpenQuestion[]
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
      /** The signals that it waits for. */
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
    ...args: Args<T['sends'][K], Opt<{ id: string; transaction: OpenTransaction }>>
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
  /** What its steps publish, behind offset `after` (0): what is stored, then each value as it is stored; until it has ended. */
  stream(
    options?: Opt<{ after: number; signal: AbortSignal }>,
  ): AsyncIterable<Published<T['stream']>>
}

/** What a step has published. */
export type Published<X = unknown> = Readonly<{
  /** 1, 2, … in the run. */
  offset: number
  step: string
  attempt: number
  /** With this value an execution of the step begins: what it has published before was of one that was abandoned. */
  isFirst: boolean
  value: X
  at: Date
}>

/** What has been committed to a run. */
export type Change = Readonly<
  | {
      /** changes({ after: cursor }) goes on behind it, in every process. */
      cursor: string
      /** Something may be missing before it: what is listed from now on is continued by what follows. Also the first of all. */
      isReload: true
    }
  | {
      cursor: string
      isReload: false
      runId: string
      workflow: string
      workspace: string
      /** As they are when this is told. */
      status: Status
      reason: WaitReason | null
      /** The entry of its journal; null: paused, resumed, or given back, of which there is none. */
      kind: string | null
      seq: number | null
      /** The step, wait or timer of the entry. */
      name: string | null
      at: Date
    }
>

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
  /** Of a stored graph: a version before the current one. */
  version: number
  /** Of an event machine, in the place of an input: it goes on from there. */
  snapshot: Sent['snapshot']
}>
/** What a caller passes as input; nothing to a definition that declares none. */
export type Given<I> = [I] extends [InputNotDeclared | undefined] ? undefined : I
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
    /** Part of the run id, or of the value of a tag. */
    text: string
    kind: Definition['kind']
  }>
export type Page<E> = Readonly<{ items: readonly E[]; next: string | null }>
/** `await` gives a page, `for await` gives everything. */
export type Paged<E> = Promise<Page<E>> & AsyncIterable<E>
