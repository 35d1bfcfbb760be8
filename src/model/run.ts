// The nouns of the engine, and the facts that are kept of a run.
//
// Glossary (use these words and no synonyms)
//   definition  a registered workflow or task; has a name and a version
//   run         one execution of a definition; the only unit that is claimed, cancelled, retried
//   task        a definition that is a single function; a queue-based step is a child run of a task
//   step        a named unit of user code inside a run, with one recorded outcome
//   journal     the append-only facts of a run, numbered 1..n
//   message     something sent to a run from outside: signal, trigger, event, child result, cancel
//   turn        one stretch of executing a run, from being claimed until it parks or ends
//   worker      one engine process incarnation that claims runs; has a lease
//   workspace   the tenant a run belongs to

import type { MessageId, RunId, Uid } from './ids.js'

/** Milliseconds since 1970 by the database's clock. Node's own clock never decides anything. */
export type Instant = number

/** A value as it is stored: the text that the codec made of it. */
export type Stored = string

export const FINAL_STATUSES = ['completed', 'failed', 'cancelled', 'timed_out'] as const
export type FinalStatus = (typeof FINAL_STATUSES)[number]
export type Status = 'pending' | 'running' | 'waiting' | FinalStatus
/** Why a parked run waits. (`slot` and `missing-code` are computed when reading, never stored.) */
export type StoredReason = 'signal' | 'event' | 'timer' | 'retry' | 'child' | 'paused' | 'diverged'
/** As people see it. `slot`: it could go on, and waits for a free worker. `missing-code`: no live worker has its definition. */
export type WaitReason = StoredReason | 'slot' | 'missing-code'
export type Stop = 'cancel' | 'pause'

export function isFinal(status: Status): status is FinalStatus {
  return (FINAL_STATUSES as readonly string[]).includes(status)
}

/** The kinds of facts are a contract: stored for ever, in the past tense. */
export type EntryKind =
  | 'run.created'
  | 'run.completed'
  | 'run.failed'
  | 'run.cancelled'
  | 'run.timed_out'
  | 'run.reopened'
  | 'run.stopping'
  | 'run.diverged'
  | 'step.asked'
  | 'step.completed'
  | 'step.failed'
  | 'timer.set'
  | 'timer.fired'
  | 'wait.opened'
  | 'wait.withdrawn'
  | 'message.taken'
  | 'child.started'
  | 'child.ended'
  | 'undo.completed'
  | 'undo.failed'
  | 'mark'
  | 'record'
  | 'scope.ended'
  | 'round.ended'

/** What a fact says beside its value. Small, ours, JSON; absent fields are left out. */
export interface EntryMeta {
  /** run.created: how a task's one step is to be tried, given at the call. */
  readonly order?: TaskOrder
  /** run.created of a child under an id of its own: the key of the step that started it. */
  readonly startedBy?: string
  /** run.created: stored past the committer with so many entries; who executes it first tells of it. */
  readonly bornWith?: number
  /** run.created of a fork: the run it was made of, and the first of all, whose random numbers it repeats. */
  readonly forkOf?: Uid
  /** run.created, a message: the trace of whoever started or sent it. */
  readonly trace?: string
  readonly seed?: Uid
  /** step.asked: `inline` or `transaction`, outcomes of steps: if not inline; child.started: the definition. Part of the
   *  divergence check. */
  readonly target?: string
  /** timer.set, wait.opened (its limit), wait.withdrawn, timer.fired: when. */
  readonly dueAt?: Instant
  /** wait.opened, wait.withdrawn of a machine: where it is. */
  readonly place?: string
  /** wait.opened: the names it takes; or the event it waits for, or the run whose end it waits for. */
  readonly names?: readonly string[]
  readonly event?: string
  readonly run?: RunId
  /** A trigger: how long it waits to be taken, in milliseconds. */
  readonly within?: number
  /** step.failed, child.ended: when it is tried again. Absent: that was the last time. */
  readonly retryAt?: Instant
  /** run.failed, the end of a child: asked for by its error, if it is tried again. */
  readonly retryAfterMs?: number
  /** Outcomes of steps: how long before `at` it was asked for, and began. Milliseconds. */
  readonly askedAgo?: number
  readonly startedAgo?: number
  /** message.taken, child.ended: number, id and name of the message. */
  readonly no?: number
  readonly id?: string
  readonly message?: string
  /** child.started, child.ended, run.reopened, a step or message of a child: which child; child.ended: how it ended. */
  readonly uid?: Uid
  readonly status?: FinalStatus
  /** run.failed, run.reopened: the question whose failure it was. */
  readonly name?: string
  readonly occurrence?: number
  /** run.diverged: what the history has and what the code asks now, at which question. */
  readonly difference?: {
    readonly position: number
    readonly recorded: string
    readonly found: string
  }
  /** run.cancelled, run.stopping: why. run.failed: the crashes that led to it. */
  readonly reason?: string
  /** step.failed: what the next attempt is given again. */
  readonly kept?: Stored
  /** step.completed: the number of the checkpoint that it is. */
  readonly checkpoint?: number
  /** step.completed, child.ended: it can be undone. */
  readonly undoable?: boolean
  /** step.completed, child.ended of a fork: done by another run, whose it is to undo. */
  readonly inherited?: boolean
  /** round.ended: children of its steps that have not ended. */
  readonly children?: readonly Uid[]
  /** round.ended: it was the last. */
  readonly done?: boolean
  /** round.ended, run.reopened: entries that no replay needs any more, as first, last, first, last, … */
  readonly behind?: readonly number[]
  /** run.stopping: what stops it. */
  readonly cause?: 'cancel' | 'deadline' | 'failed'
  /** A cancel that undoes nothing. */
  readonly force?: boolean
  /** The end of a run: what was undone, and what was not. */
  readonly undone?: boolean
  readonly skipped?: readonly string[]
}

/** A fact about to be appended. Its `seq` follows from its place in the delta. */
export interface NewEntry {
  readonly kind: EntryKind
  /** The question it belongs to; '' for facts of the run itself. */
  readonly name: string
  /** 1 for the first use of the name in the run. 0 for facts of the run itself. */
  readonly occurrence: number
  /** 1-based; 0 where it has no meaning. */
  readonly attempt: number
  /** When it happened, by the owner's clock, which is anchored to the database's answers. */
  readonly at: Instant
  readonly meta: EntryMeta | null
  readonly payload: Stored | null
}

export interface Entry extends NewEntry {
  readonly seq: number
}

export type MessageKind = 'signal' | 'trigger' | 'event' | 'child' | 'cancel'

export interface NewMessage {
  readonly id: MessageId
  readonly kind: MessageKind
  /** signal, trigger: its name. event: the event, or how a run ended (`name` and `occurrence` of the wait in meta). */
  readonly name: string
  readonly meta: EntryMeta | null
  readonly payload: Stored | null
}

export interface Message extends NewMessage {
  /** Per run, in order of acceptance, without gaps. */
  readonly no: number
  /** When the database accepted it. */
  readonly at: Instant
}

/** What people see of a run. What is left out stays as it was. */
export interface Shown {
  readonly state?: Stored
  /** Of a machine: where it is, and the error of its last attempt to leave. */
  readonly at?: { readonly place: string; readonly error: Stored | null }
}

/** Something that a run shows to people, written with the entry that it belongs to. */
export interface NewDocument {
  readonly id: string
  readonly type: string
  /** A later one of the same type and key takes its place. */
  readonly key: string | null
  readonly tags: readonly string[]
  /** Not for people: for the run itself. */
  readonly isHidden: boolean
  readonly content: Stored
}

/** Retry as data: it is stored with a queued step and travels with it. */
export interface RetryPolicy {
  /** N retries = N + 1 executions. */
  readonly attempts: number
  readonly delayMs: number
  readonly backoff: 'fixed' | 'exponential'
  readonly maxDelayMs: number
  readonly jitter: boolean
  /** Names of errors that are never retried. */
  readonly stopOn: readonly string[]
}

/** What the caller of a queued step says about its execution; overrides the task's own. */
export interface TaskOrder {
  readonly retry?: RetryPolicy
  readonly timeoutMs?: number
}

/** What the row of a run says of it that never changes once it was claimed. */
export interface RowFacts {
  readonly uid: Uid
  readonly id: RunId
  readonly workspace: string
  readonly definition: string
  /** null: a child whose definition the starter did not have; pinned at its first claim. */
  readonly version: string | null
  readonly tags: Readonly<Record<string, string>>
  readonly parentUid: Uid | null
  readonly parentId: RunId | null
  readonly createdAt: Instant
  /** The first claim. */
  readonly startedAt: Instant
  readonly deadlineAt: Instant | null
}

/** All that is known of a run before any of its code has run: its row, and entry 1 of its journal. */
export interface RunFacts extends RowFacts {
  readonly input: Stored
  readonly order: TaskOrder | null
  /** Of whoever started it. */
  readonly trace?: string | null
  /** Of its random numbers; absent: the uid. */
  readonly seed?: Uid
}
