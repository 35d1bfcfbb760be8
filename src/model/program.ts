// The seam: all that the kernel knows of a style, and all that a style knows of the kernel.
//
// A Program never sees the journal or the mailbox. It asks; the kernel answers from the journal, or makes
// the answer true, records it, and then answers. Replay is the same loop as the first time.

import type { Limits } from './admission.js'
import type { RunId, Uid } from './ids.js'
import type {
  Instant,
  Message,
  NewDocument,
  RetryPolicy,
  RunFacts,
  Shown,
  Stored,
  TaskOrder,
} from './run.js'

export interface Program {
  readonly name: string
  readonly version: string
  readonly style: 'function' | 'machine' | 'graph' | 'task'
  /** null, or left out: as many as there are. */
  readonly limits?: Limits | null
  /** It is not of this process's code: it was learnt of, and its limits are stored with it. */
  readonly isStored?: boolean
  /**
   * Asks through `turn`; given the same answers it must ask the same questions. Resolves with the output,
   * or rejects (with the `Failure` of the question that ended it, where it was one) and the run fails.
   * It never returns in order to wait: an unanswered question stays pending, and no catch can swallow that.
   */
  body(turn: Turn): Promise<Stored>
}

/** A moment, as a style may name one: so long after the question was asked, or an instant. */
export type Due = { readonly afterMs: number } | { readonly at: Instant }

export interface Turn {
  readonly run: RunFacts
  /** What the names asked here begin with: '' outside of every scope. */
  readonly path: string
  /** Aborts on cancel, on the deadline, and when this worker has lost the run. */
  readonly stopping: AbortSignal
  /** True while the answers come from the journal: what was said then is not said again. */
  readonly replaying: boolean
  /** Database time of the last answer; the same on every replay. */
  now(): Instant
  /** User code, executed until it has one recorded outcome. Rejects with the recorded Failure. */
  step(name: string, order: StepOrder): Promise<Stored>
  sleep(name: string, due: Due): Promise<void>
  /** The oldest message that fits; null if `wish.until` came first. */
  receive(name: string, wish: Wish): Promise<Message | null>
  /** A run of its own, awaited. Rejects with the child's Failure. */
  child(name: string, order: ChildOrder): Promise<Stored>
  /** A fact without user code, recorded with the next answer. */
  record(name: string, effect: Effect): Promise<Stored>
  /**
   * Questions that belong together. When it settles, what it has left open is withdrawn and its children are cancelled;
   * if it rejects, its steps have been undone before. Names inside begin with its own.
   */
  scope(
    name: string,
    order: { readonly until: Due | null },
    body: (inner: Turn) => Promise<Stored>,
  ): Promise<Stored>
  /** The first branch to settle decides; the others are withdrawn, and undone. */
  race(
    name: string,
    branches: ReadonlyMap<string, (inner: Turn) => Promise<Stored>>,
  ): Promise<{ readonly winner: string; readonly value: Stored }>
  /** Rounds, each a scope, from the state that the one before has left. Replay begins with the current one. */
  loop(
    name: string,
    initial: Stored,
    round: (inner: Turn, state: Stored) => Promise<Round>,
  ): Promise<Stored>
  /** Is this change part of the run's history? Synchronous; recorded with the next answer. */
  mark(id: string): boolean
  /** What people see of the run from its next commit on. No question: silent while it is replayed. */
  show(shown: Shown): void
  /** Past that moment the run has timed out, until another is named; null: it may wait. Said again on every replay. */
  expires(at: Instant | null): void
  /** Ends the run as cancelled from inside. Never settles, so no catch can swallow it. */
  stop(reason: string): Promise<never>
}

/** What a round gives back: the state of the next one, or the result of the loop. */
export interface Round {
  readonly done: boolean
  readonly value: Stored
  /** Those that its steps, or steps of rounds before it, have started (Effect.child), and that have not ended. */
  readonly children?: readonly Uid[]
}

export interface StepOrder {
  /** `inline` or `transaction`: what people see; part of the divergence check. */
  readonly label: string
  readonly retry: RetryPolicy
  /** Per attempt; counts execution only. */
  readonly timeoutMs: number | null
  /** User code; may run more than once. */
  execute(attempt: Attempt): Promise<Effect>
  /** What is written with a failed attempt. `isLast`: it is not tried again by itself. */
  onFailure?(failure: Failure, end: { readonly attempt: number; readonly isLast: boolean }): Kept
  /** What it fails with when its time is over. */
  timedOut?(ms: number): Error
  /** Messages whose senders wait for its first outcome (Wish.isAnsweredLater). */
  readonly answers?: readonly number[]
  /** It may begin before what came before it is stored, and waits for that itself where it matters (Attempt.past). */
  readonly isEarly?: boolean
  /** User code that undoes it, tried as the step itself is. */
  undo?(value: Stored, attempt: Attempt): Promise<Effect>
}

export interface Attempt {
  /** The step as people see it. */
  readonly step: string
  /** The database's time, as nearly as it is known here. */
  now(): Instant
  /** 1-based. */
  readonly number: number
  /** The same for all attempts of this step, different for every other step of every run. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
  /** What the attempt before it has left; null: it is the first, or that left nothing. */
  readonly kept: Stored | null
  /** Resolves when all that was answered before the step is stored: nothing may reach outside of the run before that. */
  past(): Promise<void>
  /** Those of the run that nothing has replaced, in order. */
  documents(): Promise<readonly DocumentRow[]>
  /** Other runs. */
  readonly outside: Outside
  /** For who follows the run; no part of its history. Stored soon, and before the outcome of the step. Throws STREAM_FULL. */
  publish(value: Stored): void
  /** Runs `work` in a database transaction that commits together with the step's answer, or not at all. */
  transaction<T>(limitMs: number, work: (sql: Transaction) => Promise<T>): Promise<T>
}

/** What a step does to other runs. Repeated under the same id it changes nothing. */
export interface Outside {
  /** `isOurs`: by this very step, at this attempt or an earlier one. */
  start(
    run: OutsideRun,
  ): Promise<{ readonly uid: Uid; readonly id: RunId; readonly isOurs: boolean }>
  signal(to: RunAddress, name: string, payload: Stored, id: string): Promise<void>
  cancel(to: RunAddress, reason: string, id: string): Promise<void>
  /** The definition of a run; null: there is none. */
  look(to: RunAddress): Promise<string | null>
}

export interface RunAddress {
  readonly workspace: string
  readonly id: RunId
}

export interface OutsideRun extends RunAddress {
  readonly definition: string
  readonly version: string | null
  readonly input: Stored
  readonly timeoutMs: number | null
  readonly tags: Readonly<Record<string, string>>
  /** null: it outlives whoever starts it. `startedBy`: the key of the step that does. */
  readonly parent: { readonly uid: Uid; readonly id: RunId; readonly startedBy: string } | null
}

/** The user's side of a step's transaction. */
export interface Transaction {
  query(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
}

/** All that one answer means; written in the same commit as the answer, or not at all. */
export interface Effect {
  readonly value: Stored
  readonly events?: readonly EmittedEvent[]
  readonly documents?: readonly NewDocument[]
  readonly shown?: Shown
  /** It is a checkpoint, with this number. */
  readonly checkpoint?: number
  /** It has started this child: told to stop when the run ends, until a wait has heard of its end. */
  readonly child?: Uid
}

/** What stays of an attempt that failed. */
export interface Kept {
  /** For the next attempt. */
  readonly value?: Stored
  readonly documents?: readonly NewDocument[]
  readonly shown?: Shown
}

/** A document that is stored. */
export interface DocumentRow extends NewDocument {
  /** The step that wrote it, and at which attempt. */
  readonly step: string
  readonly attempt: number
  readonly at: Instant
  /** The entry that wrote it, and the one that replaced it. */
  readonly seq: number
  readonly untilSeq: number | null
}

/** For every run of the workspace that waits for it. `keys`: what a wait may match. */
export interface EmittedEvent {
  readonly name: string
  readonly keys: readonly string[]
  readonly payload: Stored
}

export interface Wish {
  readonly names: readonly string[]
  /** Where the run is while it waits, for people. */
  readonly place?: string
  readonly until: Due | null
  /** Children whose end is told as a message of that name. */
  readonly children?: readonly AwaitedChild[]
  /** Who sent the message waits on, for the first outcome of the step that `answers` it. */
  readonly isAnsweredLater?: boolean
  /** No message to this run is wished for: something that happens elsewhere. */
  readonly heard?: Heard
  /** What a message does, in a round of a loop, if that needs nobody else: then the body need not be asked. null: it is. */
  react?(name: string, payload: Stored | null, at: Instant): Reaction | null
}

/** What a round would have come to, and where the next one waits. */
export interface Reaction {
  /** The one step of the round. It answers the message. */
  readonly step: string
  readonly label: string
  /** It is a checkpoint, with this number; null: it is none. */
  readonly checkpoint: number | null
  /** The state behind it: what stands where U+001A is in the value of the step and in what the round leaves (HOLE). */
  readonly state: Stored
  readonly value: string
  readonly left: string
  /** As of a Round. */
  readonly children: readonly Uid[]
  /** Where it is from then on, for people; null: nothing has changed. */
  readonly place: string | null
  /** The first that the next round asks for. */
  readonly wish: Wish
}

/** Its end comes as a message with its uid and status in `meta`, its output or error as payload. */
export interface AwaitedChild {
  readonly uid: Uid
  readonly as: string
}

/** The next event of the workspace that has all of `match`, or the end of a run. */
export type Heard =
  | { readonly event: string; readonly match: readonly string[] }
  | { readonly run: RunId }

export interface ChildOrder {
  readonly definition: string
  /** null: not known here; pinned by the worker that first claims it. */
  readonly version: string | null
  readonly input: Stored
  /** It runs already, started under this uid. */
  readonly adopts?: Uid
  /** Told of its uid when it is started. */
  readonly startedAs?: (uid: Uid) => void
  /** Work of the run itself, done elsewhere. */
  readonly isTask: boolean
  /** For a task: how its one step is tried. */
  readonly order: TaskOrder | null
  /** For a workflow: each retry is a new child run. */
  readonly retry: RetryPolicy
  /** Of the whole child run, from its start on. */
  readonly timeoutMs: number | null
  /** User code that undoes what the child has done. */
  undo?(value: Stored, attempt: Attempt): Promise<Effect>
}

/** The recorded failure of a question, or of a body. `error` is what the codec made of it. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly error: Stored
  /** The question that failed; null when the body threw by itself. */
  readonly question: { readonly name: string; readonly occurrence: number } | null
  /** Asked for by user code: no further retry, or not before so many milliseconds. */
  readonly fatal: boolean
  readonly retryAfterMs: number | null
  /** It ends the run at once: nothing more is undone. */
  readonly isFinal: boolean
  /** What its last attempt has left. */
  readonly kept: Stored | null

  constructor(
    error: Stored,
    more: {
      readonly message?: string
      readonly question?: { readonly name: string; readonly occurrence: number }
      readonly fatal?: boolean
      readonly retryAfterMs?: number
      readonly isFinal?: boolean
      readonly kept?: Stored | null
    } = {},
  ) {
    super(more.message ?? 'a question of the run failed')
    this.error = error
    this.question = more.question ?? null
    this.fatal = more.fatal ?? false
    this.retryAfterMs = more.retryAfterMs ?? null
    this.isFinal = more.isFinal ?? false
    this.kept = more.kept ?? null
  }
}
