// What the kernel may use of the outside besides the store. Nothing else: no Date, no timers, no random.
// In simulation each of these is an event of the scheduler.

import type { Uid } from '../model/ids.js'

export interface Ports {
  readonly clock: Clock
  readonly quiet: Quiet
  readonly random: Random
  readonly hints: Hints
  readonly log: Log
  /** A named place where a test may kill or stop the process. Live: does nothing. */
  fault(point: string): void
}

export interface Clock {
  /** Milliseconds that never go back. Only differences mean anything. */
  monotonic(): number
  /** Calls back once after `ms` (at most 2^31 − 1; longer ones are cut). Gives back the way to call it off. */
  after(ms: number, callback: () => void): () => void
}

export interface Quiet {
  /** Calls back when everything that can go on by itself has gone on: one macrotask later. */
  next(callback: () => void): void
}

export interface Random {
  bytes(count: number): Uint8Array
  /** 0 ≤ x < 1 */
  fraction(): number
}

/** Shortens waiting between processes. Losing every hint costs latency, never a run. */
export interface Hints {
  /** Something became due, or something ended that somebody may wait for. */
  publish(hint: Hint): void
  subscribe(listener: (hint: Hint) => void): () => void
  close(): Promise<void>
}

export type Hint =
  | { readonly kind: 'due'; readonly definition: string | null }
  | { readonly kind: 'mail'; readonly uid: Uid }
  | { readonly kind: 'ended' }
  /** Stored definitions have changed. */
  | { readonly kind: 'saved' }

export type Log = Record<
  'debug' | 'info' | 'warn' | 'error',
  (message: string, data?: object) => void
>
