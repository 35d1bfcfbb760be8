// A run in memory as its parts see it: what ends it, closes its transactions, decides what becomes of its row, and
// holds it needs of the frame, and what the frame needs of the worker that holds it.

import type { Uid, WorkerId } from '../model/ids.js'
import type { ChildOrder } from '../model/program.js'
import type { Entry, Instant, Message, NewEntry, RunFacts, Stop } from '../model/run.js'
import type { Ask, StepAsk } from './asks.js'
import type { AttemptDeps, AttemptEnd, AttemptTimes, RunningAttempt } from './attempt.js'
import type { Conversation } from './conversation.js'
import type { Counters } from './counters.js'
import type { Defects } from './defects.js'
import type { Difference } from './divergence.js'
import type { Outcome } from './look.js'
import type { Mailbox } from './mailbox.js'
import type { Outgoing, Parts } from './outgoing.js'
import type { Ports } from './ports.js'
import type { Questions } from './questions.js'
import type { Committed, Fence, NewRun, Next, TurnDelta } from './store.js'

/** What the database has of a run when its frame is made. */
export interface StoredRun {
  /** null: nothing has been recorded yet but its creation. */
  readonly journal: readonly Entry[] | null
  readonly seq: number
  readonly epoch: number
  readonly attempt: number
  readonly suspect: boolean
}

/** `close`: the owner is closing. `pause`: the run is to rest. `anew`: its end was taken back, so it begins from its journal. */
export type HandingOver = 'close' | 'pause' | 'anew'

export interface HeldRun {
  readonly deps: HolderDeps
  readonly run: RunFacts
  readonly attempt: number
  readonly epoch: number
  readonly active: boolean
  readonly mail: Mailbox
  readonly out: Outgoing
  readonly body: Conversation
  readonly questions: Questions
  readonly difference: Difference | null
  readonly handingOver: HandingOver | null
  /** The stop of the row that this run is obeying. */
  readonly stopSeen: Stop | null
  inFlight: { readonly delta: TurnDelta; readonly parts: Parts } | null
  /** A transaction of the run is being closed: it is the delta in flight. */
  closing: boolean
  clock(): Instant
  parkable(): boolean
  nextDue(): Instant | null
  /** Writes down an outcome, behind the questions that were asked before it. */
  record(outcome: Outcome): NewEntry
  /** The body hears of an outcome that has its number. */
  answer(ask: Ask, entry: NewEntry): void
  stepEnded(ask: StepAsk, attempt: AttemptTimes, end: AttemptEnd): void
  /** Everything that is decided goes out as one delta. `moreUndos`: with an answer that the body has not heard yet. */
  send(next: Next, moreUndos?: number): TurnDelta
  pump(): void
  lose(): void
}

/** What a frame needs of the worker that holds it. */
export interface HolderDeps {
  readonly ports: Ports
  readonly defects: Defects
  readonly counters: Counters
  readonly attempts: AttemptDeps
  readonly build: string
  readonly askShownAfterMs: number
  readonly abortGraceMs: number
  /** One connection for everything: nothing is stored while a step's transaction is open. */
  readonly isSingle: boolean
  /** This incarnation. */
  owner(): WorkerId
  /** The database's clock, as well as it is known here: never ahead of it. */
  now(): Instant
  /** The lease is not in doubt. */
  mayStart(): boolean
  newUid(): Uid
  childRun(run: RunFacts, uid: Uid, order: ChildOrder): NewRun
  /** A message has reached the body. */
  took(uid: Uid, message: Message): void
  /** Runs of it need a slot, as far as this process knows: it need not have the code. */
  hasLimits(definition: string): boolean
  resolve(fence: Fence, lastSeq: number): Promise<'applied' | 'absent' | 'stale'>

  /** User code begins: if it takes long, it is written down (long-steps.ts). */
  stepStarted(attempt: RunningAttempt): void
  /** It has something to commit: will be asked for its delta. */
  submit(uid: Uid): void
  /** There are messages above what it has seen. */
  load(uid: Uid): void
  /** Somebody listens: what a transaction commits goes to the feed until it is delivered. */
  feed(): boolean
  /** A transaction has stored this; null: its answer was lost. */
  closed(delta: TurnDelta, committed: Committed | null): void
  /** The delta of this run is stored. */
  committed(delta: TurnDelta): void
  /** The fence refused it; `reload`: the run is still ours, its frame was wrong. */
  lost(uid: Uid, reload: boolean): void
  /** Its frame is gone, and whatever it has not stored. */
  forgotten(run: RunFacts): void
  spokeWhileParked(run: RunFacts, name: string): void
}
