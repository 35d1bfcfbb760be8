// The store port for who follows: what steps publish, and what has changed in all runs. Part of store.ts.

import type { RunId, Uid, WorkerId } from '../model/ids.js'
import type { EntryKind, Instant, Status, Stored, StoredReason } from '../model/run.js'

export interface StreamStore {
  /**
   * What steps of runs that `by` owns have published, in order. What is stored already is left out, and so is what belongs to an epoch that
   * is over: sending it again changes nothing. Visible numbers of a run are always 1..n.
   */
  publish(by: WorkerId, chunks: readonly NewChunk[]): Promise<void>
  /** How far these runs are. Those that are gone are left out. */
  standings(uids: readonly Uid[]): Promise<ReadonlyMap<Uid, Standing>>
  /** Those with a number above `after`, in order. */
  chunks(uid: Uid, after: number, limit: number): Promise<readonly Chunk[]>
  /**
   * Changes are written for FOLLOWED_MS from now on. The answer is where to begin: whoever lists runs now and follows from there misses
   * nothing. null: not yet, because of transactions under way; ask again.
   */
  follow(): Promise<Cursor | null>
  /**
   * Committed changes behind `after`, each once, those of a run in the order of its journal; at most some. A change that commits late
   * comes late, and never behind a cursor. null: some may be missing from there on; begin again.
   */
  changes(
    workspace: string | null,
    after: Cursor,
  ): Promise<{ readonly changes: readonly Change[]; readonly next: Cursor } | null>
}

export interface NewChunk {
  readonly uid: Uid
  readonly epoch: number
  /** Counted by the owner of the run, within its epoch: 1, 2, … */
  readonly sent: number
  /** The step as people see it. */
  readonly step: string
  readonly attempt: number
  /** With it an execution of the step begins: what the step has published before is void. */
  readonly isFirst: boolean
  readonly value: Stored
}

export interface Chunk extends Pick<NewChunk, 'step' | 'attempt' | 'isFirst' | 'value'> {
  readonly no: number
  readonly at: Instant
}

export interface Standing {
  /** Of its last entry, and of the last that a step has published. */
  readonly seq: number
  readonly published: number
  readonly isFinal: boolean
}

/** A place in the order of all changes. */
export interface Cursor {
  /** Digits: more than a number holds. */
  readonly key: string
  readonly id: string
  readonly place: number
}

export interface Change {
  readonly cursor: Cursor
  readonly runId: RunId
  readonly workspace: string
  readonly definition: string
  /** As it is when this is read. */
  readonly status: Status
  readonly reason: StoredReason | null
  /** The entry; null: the run has changed without one. */
  readonly entry: {
    readonly seq: number
    readonly kind: EntryKind
    readonly name: string
    readonly occurrence: number
  } | null
  readonly at: Instant
}
