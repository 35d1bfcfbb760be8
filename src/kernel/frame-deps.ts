// What a frame needs of the worker that holds it.

import type { Uid, WorkerId } from '../model/ids.js'
import type { ChildOrder } from '../model/program.js'
import type { Entry, Instant } from '../model/run.js'
import type { AttemptDeps } from './attempt.js'
import type { Counters } from './counters.js'
import type { Defects } from './defects.js'
import type { Frame } from './frame.js'
import type { Ports } from './ports.js'
import type { Committed, Fence, NewRun, TurnDelta } from './store.js'

/** What the database has of a run when its frame is made. */
export interface StoredRun {
  /** null: nothing has been recorded yet but its creation. */
  readonly journal: readonly Entry[] | null
  readonly seq: number
  readonly epoch: number
  readonly attempt: number
  readonly suspect: boolean
}

export interface FrameDeps {
  readonly ports: Ports
  readonly defects: Defects
  readonly counters: Counters
  readonly attempts: AttemptDeps
  readonly build: string
  readonly askShownAfterMs: number
  readonly abortGraceMs: number
  /** Nothing is stored while a step's transaction is open. */
  readonly isSingle: boolean
  /** This incarnation. */
  owner(): WorkerId
  /** The database's clock, as well as it is known here: never ahead of it. */
  now(): Instant
  /** The lease is not in doubt. */
  mayStart(): boolean
  newUid(): Uid
  childRun(frame: Frame, uid: Uid, order: ChildOrder): NewRun
  resolve(fence: Fence, lastSeq: number): Promise<'applied' | 'absent' | 'stale'>

  /** It has something to commit: will be asked for its delta. */
  submit(frame: Frame): void
  /** There are messages above what it has seen. */
  load(frame: Frame): void
  /** Somebody listens: what a transaction commits goes to the feed until it is delivered. */
  feed(): boolean
  /** A transaction has stored this; null: its answer was lost. */
  closed(delta: TurnDelta, committed: Committed | null): void
  committed(frame: Frame, delta: TurnDelta): void
  /** The fence refused it; `reload`: the run is still ours, its frame was wrong. */
  lost(frame: Frame, reload: boolean): void
  spokeWhileParked(frame: Frame, name: string): void
}
