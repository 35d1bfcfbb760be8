// What the kernel offers to whoever composes an engine around it.

import type { MessageId, RunId, Uid } from '../model/ids.js'
import type { Program } from '../model/program.js'
import type { Entry, Instant, Status, Stored, StoredReason } from '../model/run.js'
import type { ExecuteStep } from './attempt.js'
import type { Counters } from './counters.js'
import type { Defects } from './defects.js'
import type { ForkOrder } from './fork.js'
import type { Distribution, Meters } from './meters.js'
import type { Ports } from './ports.js'
import type {
  Called,
  Client,
  DefinitionStore,
  NewEvent,
  NewRun,
  RunReader,
  ScheduleStore,
  Settled,
  Store,
  StreamStore,
  WebhookStore,
} from './store.js'

export type { Distribution, ForkOrder }

export interface KernelOptions {
  readonly store: Store
  readonly ports: Ports
  readonly programs: readonly Program[]
  /** What it has learnt of before it begins (Kernel.learn). */
  readonly learnt?: readonly Program[]
  /** false: claims nothing; starts, sends, reads and waits only. */
  readonly worker: boolean
  readonly concurrency: number
  readonly leaseMs: number
  readonly pollMs: number
  /** Names this deploy. */
  readonly build: string
  readonly framesMax: number
  readonly closeGraceMs: number
  /** Stands between a step and its code: for stubs and crashes of the test kit. */
  readonly execute?: ExecuteStep
  /** Something of the run was committed here. */
  readonly changed?: (uid: Uid) => void
  /** For metrics and tests. */
  readonly counters?: Counters
  /** For tests that prove that the tests can see. */
  readonly defects?: Defects
}

/** Names a run from outside. */
export interface Address {
  readonly workspace: string
  readonly id: RunId
}

export interface StartRequest {
  /** null: the uid is taken. */
  readonly id: RunId | null
  readonly workspace: string
  readonly definition: string
  readonly version: string | null
  readonly input: Stored
  readonly tags: Readonly<Record<string, string>>
  readonly priority: number
  readonly delayMs: number
  readonly timeoutMs: number | null
  /** Set by a run that starts a child under a name of its own. */
  readonly parent?: NewRun['parent']
}

export interface Kernel {
  /** Resolves when the run is stored. Throws ID_TAKEN, OVERLOADED, OUTCOME_UNKNOWN, ENGINE_CLOSED, VALUE_… */
  start(request: StartRequest): Promise<{ readonly uid: Uid; readonly id: RunId }>
  /** Resolves when it is stored. Throws RUN_NOT_FOUND, RUN_FINISHED, MAILBOX_FULL, … */
  signal(
    to: Address,
    name: string,
    payload: Stored | null,
    messageId: MessageId | null,
  ): Promise<void>
  /** Resolves when it is stored; the run ends soon after. A cancelled run may be cancelled again. */
  cancel(
    to: Address,
    reason: string,
    messageId: MessageId | null,
    /** Ends it without undoing anything. */
    force?: boolean,
  ): Promise<void>
  /**
   * A call: resolves when the run has decided it. Throws RUN_NOT_FOUND, RUN_FINISHED, MAILBOX_FULL; OUTCOME_UNKNOWN if it has
   * not decided half a minute after `withinMs`.
   */
  trigger(to: Address, call: TriggerCall): Promise<Called>
  /** Re-opens a failed run. Throws RUN_NOT_RETRYABLE, ATTEMPT_CHANGED, RUN_NOT_FOUND. */
  retry(to: Address, expectedAttempt: number | null): Promise<void>
  /** Waits for the end. Rejects with the signal's reason when it aborts first. Throws RUN_NOT_FOUND. */
  result(to: Address, signal: AbortSignal | null): Promise<Settled>
  readonly operations: OperatingKernel
  /** After commit only; at least once somewhere, also across a crash. */
  on(listener: (event: KernelEvent) => unknown): () => void
  readonly read: RunReader
  readonly schedules: ScheduleStore
  readonly definitions: DefinitionStore
  /**
   * From now on it executes these as well, in the place of what it has learnt before: several versions of one name, the current
   * one first. Runs under way keep what they have. Resolves when the database knows, or does not answer.
   */
  learn(programs: readonly Program[]): Promise<void>
  readonly webhooks: WebhookStore
  readonly streams: StreamStore
  /** What this process has done so far. */
  measured(): Promise<Measured>
  /** The database's time, as far as this process knows it. */
  now(): Instant
  /** Drains, gives its runs back at once, leaves. Idempotent. */
  close(): Promise<void>
}

export interface Measured {
  readonly counters: Readonly<Counters>
  readonly meters: Pick<Meters, 'batchDeltas' | 'commitMs' | 'stepMs'>
}

export interface TriggerCall extends FirstMessage {
  /** How long it may wait for the run to be ready for it. */
  readonly withinMs: number
  /** Nobody sends anything else under its id, and nobody has. So it is without one. */
  readonly isNew?: boolean
}

export interface FirstMessage {
  readonly name: string
  readonly payload: Stored | null
  readonly id: MessageId | null
}

/** What people and their own transactions do to runs. `within`: a client inside a transaction of the caller. */
export interface OperatingKernel {
  /** Runs were made due past the kernel: they are looked for at once. */
  madeDue(): void
  /**
   * Past the group commit. The first message goes with it in one commit, also to a run that is there already. `within`: it
   * happens when the transaction commits, and never if it does not.
   */
  start(
    request: StartRequest,
    message: FirstMessage | null,
    within: Client | null,
  ): Promise<{ readonly uid: Uid; readonly id: RunId }>
  /** A start that pushes back the one before it with this key, if that has never run: then it is that run. */
  debounce(request: StartRequest, key: string): Promise<{ readonly uid: Uid; readonly id: RunId }>
  /** Under an id that may be taken: false, whatever the run there was started with. */
  startOnce(request: StartRequest): Promise<boolean>
  /** Throws RUN_NOT_FOUND, RUN_FINISHED, TRANSACTION_INVALID. */
  lookWithin(
    within: Client,
    to: Address,
  ): Promise<{ readonly definition: string; readonly status: Status }>
  /** Is in the mailbox soon after the transaction has committed. */
  signalWithin(
    within: Client,
    to: Address,
    name: string,
    payload: Stored | null,
    messageId: MessageId | null,
  ): Promise<void>
  /** Resolves when it is stored; inside a transaction it happens with that. */
  emit(workspace: string, event: NewEvent, within: Client | null): Promise<void>
  /** What `work` writes through its client commits when it resolves and is rolled back when it rejects. */
  transaction<T>(work: (client: Client) => Promise<T>): Promise<T>
  /** Resolves when it is stored. What runs may finish. Throws RUN_NOT_FOUND, RUN_FINISHED. */
  pause(to: Address): Promise<void>
  resume(to: Address): Promise<void>
  /** A new run that goes on from a point of another. Throws RUN_NOT_FOUND, ID_TAKEN, OPTION_INVALID. */
  fork(to: Address, order: ForkOrder): Promise<{ readonly id: RunId; readonly definition: string }>
}

export type KernelEvent = {
  /** To recognise a repetition by. */
  readonly id: string
  readonly run: {
    readonly uid: Uid
    readonly id: RunId
    readonly workspace: string
    readonly definition: string
  }
} & (
  | { readonly kind: 'entry'; readonly entry: Entry }
  /** Parked; heard only by the process that parked it. */
  | { readonly kind: 'waiting'; readonly reason: StoredReason; readonly at: number }
  /** A run begun by another incarnation goes on here; `after`: its last finished step ('' if none). */
  | {
      readonly kind: 'resumed'
      readonly after: string
      readonly stepsDone: number
      readonly at: number
    }
)
