// The store port. Internal: it changes whenever the kernel needs it to.
//
// Every method is one atomic change or one consistent read. Losing a race is an answer, never an exception.
// Methods throw only StoreUnavailable (nothing is known to be written: send it again, with `resent`) and
// StoreRefused (one delta is bad: halve the batch to find it).
//
// The fence of every write of an owned run is (owner, epoch, seq). Senders write only the mailbox, its
// counter, `stop` and `due_at`.

import type { MessageId, RunId, Uid, WorkerId } from '../model/ids.js'
import type { Reacted } from '../model/reacted.js'
import type {
  Entry,
  FinalStatus,
  Instant,
  Message,
  NewDocument,
  NewEntry,
  NewMessage,
  Shown,
  Status,
  Stop,
  StoredReason,
} from '../model/run.js'
import type { FeedEntry, NewRun, RunReader, Settled } from './rows.js'
import type { DefinitionStore } from './store-definitions.js'
import type { EventStore, EventWait, NewEvent } from './store-events.js'
import type { LimitStore } from './store-limits.js'
import type { MovingStore } from './store-moving.js'
import type { OperatingStore } from './store-operating.js'
import type { ScheduleStore } from './store-schedules.js'
import type { StreamStore } from './store-streams.js'
import type { WebhookStore } from './store-webhooks.js'
import type { Claimed, Worker } from './store-workers.js'

export interface Store
  extends OperatingStore,
    EventStore,
    ScheduleStore,
    LimitStore,
    DefinitionStore,
    WebhookStore,
    StreamStore {
  /**
   * Starts, messages and turn results in one transaction; answers in the order of the deltas.
   * Contract: each delta is applied whole or not at all; one delta's answer never depends on another's except
   * through the rows they share; two deltas about one run in one batch both count (a message and the run's park
   * included); sending the same deltas again with `resent` changes nothing and gives the first answers, as
   * `repeated`.
   * The caller never has two turn deltas of one run in flight.
   */
  commit(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Promise<Committed>

  /**
   * Takes up to `places` due runs that `by` has the code for: owner = by, epoch + 1, status running.
   * Also those that need no code: cancelled ones, those past their deadline, those over the crash limit.
   * Contract: a run is given to one claimer; higher priority first, then the longer due; runs that `by.build`
   * found diverged are left out; `suspects` limits how many with `crashes >= CRASHES_SUSPECT` are taken.
   * `nextDueAt`: when the next run of these definitions becomes due (null: none is known).
   */
  claim(
    by: Worker,
    places: number,
    suspects: number,
  ): Promise<{
    readonly now: Instant
    readonly claimed: readonly Claimed[]
    readonly nextDueAt: Instant | null
  }>

  /**
   * Entries after `fromSeq` and untaken messages after `fromNo`. A run not owned under `fence` any more is left
   * out of the answer (the fence's seq is not looked at). From the beginning (0) without those that its last
   * `round.ended` or `run.reopened` says are `behind`: a run of many rounds costs no more than one of few.
   */
  load(
    what: readonly { readonly fence: Fence; readonly fromSeq: number; readonly fromNo: number }[],
  ): Promise<readonly Loaded[]>

  /** Everything goes through one connection: while a step's transaction is open nothing else is answered. */
  readonly isSingle?: boolean
  /** A step's own transaction; takes no lock on the run before close(). */
  open(by: Worker, limitMs: number): Promise<StepTransaction>
  /** What became of a close() whose answer was lost: waits for its fate, then reads the journal at `lastSeq`. */
  resolve(fence: Fence, lastSeq: number): Promise<'applied' | 'absent' | 'stale'>

  /** Registers this incarnation. */
  join(by: Worker): Promise<{ readonly now: Instant }>
  /** Says what it executes from now on. A row that is gone stays gone. */
  declare(by: Worker): Promise<void>
  /** Renews the lease. `alive: false`: the row is gone, another has reaped us. `owned`: as the database sees it. */
  beat(by: Worker): Promise<{
    readonly alive: boolean
    readonly now: Instant
    readonly owned: readonly Owned[]
  }>
  /** Releases its runs at once and removes the row. */
  leave(by: Worker): Promise<void>
  /**
   * Deletes the rows of `unmoved` workers whose lease is over by the database clock and whose beat is still the one
   * given; then frees the runs of every owner without a row (crashes + 1, due now). Idempotent, for anyone, any time.
   * `inherit`: somebody listens here, so what dead workers have not told becomes ours to tell. If an answer that said so
   * was lost, the next one says all of it again.
   */
  reap(
    unmoved: readonly { readonly id: WorkerId; readonly beat: number }[],
    inherit: boolean,
  ): Promise<{
    readonly workers: readonly { readonly id: WorkerId; readonly beat: number }[]
    readonly dead: readonly WorkerId[]
    readonly freed: number
    /** Events of dead workers that nobody has delivered; now ours. */
    readonly inherited: readonly FeedEntry[]
    readonly inheritedIds: readonly number[]
  }>

  /**
   * Re-opens a failed run, and the failed children its failure came from (deepest first), in one transaction:
   * each gets a `run.reopened` entry, attempt + 1; those with `due` are made due, the others wait for their child.
   */
  reopen(
    chain: readonly {
      readonly uid: Uid
      readonly attempt: number
      readonly entry: NewEntry
      readonly due: boolean
    }[],
  ): Promise<'done' | 'changed'>

  /** Ends that callers wait for; runs that are still open (or unknown) are left out. */
  settled(
    tickets: readonly { readonly workspace: string; readonly id: RunId }[],
  ): Promise<readonly Settled[]>
  /** What became of triggers that callers wait for; those that wait in the mailbox are left out. */
  called(calls: readonly Call[]): Promise<readonly (Call & Called)[]>
  /** These feed rows have reached the listeners. */
  delivered(feedIds: readonly number[]): Promise<void>

  readonly read: RunReader
  close(): Promise<void>
}

/** With what tools need, and no kernel. */
export interface ToolStore extends Store, MovingStore {}

/** A trigger in a mailbox. */
export interface Call {
  readonly uid: Uid
  readonly no: number
}
/** `finished`: the run has ended, and it was not taken. */
export type CallFate = 'taken' | 'refused' | 'finished'

export interface Called {
  readonly fate: CallFate
  /** What it brought about, if it was to be answered later. */
  readonly reply: Reply | null
}

/** The first outcome of the step that a message has brought about. */
export type Reply = Pick<Entry, 'kind' | 'payload'>

export interface Fence {
  readonly uid: Uid
  readonly owner: WorkerId
  readonly epoch: number
  /** The number of the last entry that the owner knows to be stored. */
  readonly seq: number
}

export type Delta = StartDelta | MessageDelta | TurnDelta

export interface StartDelta {
  readonly kind: 'start'
  readonly run: NewRun
  /** Insert it already claimed by the committer (never with a delay). */
  readonly claim: boolean
}

export interface MessageDelta {
  readonly kind: 'message'
  readonly to: { readonly workspace: string; readonly id: RunId }
  readonly message: NewMessage
  /** Take the run in the same commit if it is parked and free, and `by` has its code (a cancel needs none). */
  readonly claim: boolean
}

export interface TurnDelta {
  readonly kind: 'turn'
  readonly fence: Fence
  /** The latest due time among its timer outcomes: refused as `early` before it. */
  readonly notBefore: Instant | null
  readonly entries: readonly NewEntry[]
  /** Numbers of messages that these entries have taken. */
  readonly taken: readonly number[]
  /** Numbers of triggers that nothing takes. */
  readonly refused: readonly number[]
  /** Children. Their ids are their uids, so they never meet another run. */
  readonly starts: readonly StartDelta[]
  readonly messages: readonly {
    readonly to: Uid
    readonly message: NewMessage
    readonly claim: boolean
  }[]
  readonly events: readonly NewEvent[]
  /** All that it waits for beside its mailbox; null: as before. */
  readonly waits: readonly EventWait[] | null
  /** Steps that can be undone and are not; null: as many as before. */
  readonly undoOpen: number | null
  /** What people see of the run from now on; null: as before. */
  readonly shown: Shown | null
  /** Each belongs to one of the entries, counted from 1. */
  readonly documents: readonly { readonly document: NewDocument; readonly entry: number }[]
  /** Messages that one of the entries answers. null: taken now, to be answered later. */
  readonly answers: readonly { readonly no: number; readonly entry: number | null }[]
  readonly next: Next
  readonly brings?: Brings | null
}

/**
 * Messages that are not stored yet: the run was parked at the fence's epoch and seq with `inbox` messages, these are its next ones, and
 * the turn is what they have brought about. `stale` if the run is elsewhere, is to stop, is due or needs a slot: nothing was written.
 */
export interface Brings {
  readonly inbox: number
  readonly messages: readonly NewMessage[]
  /** Nobody else knows their ids. Else those that are in the mailbox already make it `stale`. */
  readonly areNew: boolean
  /**
   * What each of them has done, one by one, and nothing else has happened: four entries each. A store may keep these as one row, and forget new
   * messages that were taken so: who has sent them does not send them again. null: it is more than that.
   */
  readonly reactions: readonly Reacted[] | null
}

export type Next =
  /** Still owned. */
  | { readonly kind: 'go' }
  /** Due at `dueAt` or with the next message; at once if a message with a number above `seen` is there. */
  | {
      readonly kind: 'park'
      readonly reason: StoredReason
      readonly dueAt: Instant | null
      readonly seen: number
      /** Set with reason `diverged`: the build that found it. */
      readonly divergedBuild: string | null
      /** It waits although it is to stop: that is how it stops. */
      readonly stopSeen: Stop | null
      /** Of a run with limits: it waits for what it does itself, and keeps its slot. Else it is given back. */
      readonly keepsSlot?: boolean
    }
  /** Given back without having waited for anything (close, no room): due at once. */
  | { readonly kind: 'release' }
  | { readonly kind: 'end'; readonly status: FinalStatus; readonly stopSeen: Stop | null }

export interface Committed {
  readonly now: Instant
  /** One per delta, in order. */
  readonly answers: readonly Answer[]
  /** Runs taken by messages of this batch (`claim`). Those started with `claim` are not repeated here. */
  readonly claimed: readonly Claimed[]
  /** To be given back to `delivered` when the listeners have heard; null if nothing was written to the feed. */
  readonly feedId: number | null
  /** A slot was asked for, or given back: `admit` has something to do. */
  readonly isAsking: boolean
}

export type Answer =
  /** turn: the row after it. */
  | {
      readonly kind: 'done'
      readonly uid: Uid
      readonly inbox: number
      readonly stop: Stop | null
      /** message: its number (the first one's, if the id was known). Else 0. */
      readonly messageNo: number
      /** It was stored before: by an earlier sending; a message, by whoever sent this id first. */
      readonly repeated: boolean
    }
  /** start: the id is taken. `same`: by the same definition with the same input. */
  | {
      readonly kind: 'exists'
      readonly uid: Uid
      readonly definition: string
      readonly same: boolean
    }
  /** turn: the fence did not match; nothing was written. */
  | { readonly kind: 'stale' }
  /** turn: it ends the run without having seen that it is to stop; nothing was written. */
  | { readonly kind: 'stopping'; readonly stop: Stop }
  /** turn: a timer's outcome before its time; nothing was written. */
  | { readonly kind: 'early' }
  /** A row it needs is locked by another; nothing was written. Send it again. */
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'refused'
      readonly code: 'RUN_NOT_FOUND' | 'RUN_FINISHED' | 'MAILBOX_FULL'
      readonly status: Status | null
    }

export interface Loaded {
  readonly uid: Uid
  readonly entries: readonly Entry[]
  /** In order of their numbers. */
  readonly messages: readonly Message[]
  /** The highest number of a message that was taken; 0: none was, or `fromSeq` is not 0. */
  readonly taken: number
}

export interface Owned {
  readonly uid: Uid
  readonly epoch: number
  readonly inbox: number
  readonly stop: Stop | null
  /** The rest of its row, for a run that this worker owns and does not know. */
  readonly row: Claimed
}

export interface StepTransaction {
  query(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
  /** Writes the run's delta and commits. Any answer but `done` means it was rolled back. */
  close(delta: TurnDelta, options: { readonly feed: boolean }): Promise<Committed>
  rollback(): Promise<void>
  /** Runs user code so that what it reads through the store is read inside: with one connection there is no other way. */
  inside?<T>(work: () => T): T
}

export type * from './rows.js'
export type * from './store-definitions.js'
export type * from './store-events.js'
export type * from './store-insight.js'
export type * from './store-limits.js'
export type * from './store-moving.js'
export type * from './store-operating.js'
export type * from './store-schedules.js'
export type * from './store-streams.js'
export type * from './store-webhooks.js'
export type * from './store-workers.js'
export type { MessageId }

/** Nothing is known to be written. Send it again. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The database refuses a value of this batch (SQLSTATE 22, 23, 54). Halve it; alone, it is that delta. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
  readonly sqlState: string
  constructor(message: string, sqlState: string, options?: ErrorOptions) {
    super(message, options)
    this.sqlState = sqlState
  }
}
