// The store port beside the straight line: what people and their own transactions do to runs. Part of store.ts.

import type { MessageId, RunId, Uid } from '../model/ids.js'
import type { EntryMeta, NewMessage, Status, Stored } from '../model/run.js'
import type { NewRun } from './rows.js'

export interface OperatingStore {
  /** A transaction for a caller. Its writes and the starts and letters inside it happen together, or not at all. */
  begin(limitMs: number): Promise<CallersTransaction>
  /**
   * One start past the group commit: with a first message, stored in the same commit, and inside a caller's transaction.
   * The run is due, never claimed. A message to a run that `exists` and is the same: within a transaction it is posted,
   * else it is the caller's to send. Starting it again with the same uid changes nothing and is `done`.
   */
  startAlone(start: LoneStart, within: Within | null): Promise<LoneAnswer>
  /**
   * A lone start (with its delay) under a key. If the last run of the workspace and definition with this key has never run, that
   * one is pushed back by the delay and gets the input: `done`, with its uid and id. Else this one is started.
   */
  debounce(start: LoneStart, key: string): Promise<Debounced>
  /** The run that a letter is for, as the transaction sees it. */
  lookWithin(within: Within, to: Receiver): Promise<{ definition: string; status: Status } | null>
  /** A signal inside a caller's transaction: touches no run, so that an open transaction holds nobody up. */
  post(within: Within, letter: Letter): Promise<void>
  /** Letters whose transactions have committed, in the order in which they were written. */
  letters(atMost: number): Promise<readonly (Letter & { readonly no: number })[]>
  /** These have reached their mailboxes. */
  burn(letters: readonly number[]): Promise<void>

  /**
   * `pause`: no claim takes the run, and its owner hears of it by `stop`; timers and mail stay. `resume`: due at once, one
   * that never ran when it was due before. Doing it again changes nothing. A run that is being cancelled is refused.
   */
  setPaused(to: Receiver, isPaused: boolean): Promise<PauseAnswer>

  /**
   * A new pending run with a copy of the first entries of another, which is not touched. `same`: the run under that id was
   * made of the same run, from the same point, with the same input. `gone`: there is no run to be copied.
   */
  fork(fork: ForkPlan): Promise<LoneAnswer | { readonly kind: 'gone' }>

  /**
   * Deletes runs that have ended longer ago than `keepMs`, with all that belongs to them, in the order of their uids behind
   * `after`: a bounded part per call, each whole or not at all. Never a child of a run that is not to go itself. null: another
   * is at it. `next`: where the next call begins; null: this was the end.
   */
  prune(
    keepMs: number,
    after: Uid | null,
  ): Promise<{ readonly pruned: number; readonly next: Uid | null } | null>
}

export interface ForkPlan {
  readonly of: Uid
  readonly uid: Uid
  readonly id: RunId
  /** Entries 1 … upTo are copied. */
  readonly upTo: number
  /** Of entry 1. */
  readonly meta: EntryMeta
  /** null: as it was. */
  readonly input: Stored | null
  /** Recorded results that are replaced. */
  readonly outputs: readonly { readonly seq: number; readonly payload: Stored }[]
  /** Entries whose child is not the fork's: it starts one of its own. */
  readonly forgetsChild: readonly number[]
}

export interface Receiver {
  readonly workspace: string
  readonly id: RunId
}

export interface Client {
  query(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
}

export interface CallersTransaction extends Client {
  /** Runs user code so that what it reads through the store is read inside. */
  inside<T>(work: () => Promise<T>): Promise<T>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** `isOurs`: given by begin(). Another's must be on the same database and inside a transaction. */
export interface Within {
  readonly client: Client
  readonly isOurs: boolean
}

export interface LoneStart {
  readonly run: NewRun
  readonly meta: EntryMeta | null
  readonly message: NewMessage | null
}

export type LoneAnswer =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'exists'
      readonly uid: Uid
      readonly definition: string
      readonly same: boolean
    }

export type Debounced =
  | { readonly kind: 'done'; readonly uid: Uid; readonly id: RunId }
  | Extract<LoneAnswer, { kind: 'exists' }>

export interface Letter {
  readonly to: Receiver
  readonly id: MessageId
  readonly name: string
  readonly payload: Stored | null
}

export type PauseAnswer =
  | { readonly kind: 'done'; readonly uid: Uid }
  | {
      readonly kind: 'refused'
      readonly code: 'RUN_NOT_FOUND' | 'RUN_FINISHED'
      readonly status: Status | 'being cancelled' | null
    }
