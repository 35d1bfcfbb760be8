// What the kernel may use of the outside besides the store. Nothing else: no Date, no timers, no random.
// In simulation each of these is an event of the scheduler.

import type { Uid } from '../model/ids.js'
import type { FinalStatus, Instant, RunFacts, Stored } from '../model/run.js'

export interface Ports {
  readonly clock: Clock
  readonly quiet: Quiet
  readonly random: Random
  readonly hints: Hints
  readonly log: Log
  /** A named place where a test may kill or stop the process. Live: does nothing. */
  fault(point: string): void
  /** Left out, or null: nobody wants spans. */
  readonly telemetry?: Telemetry | null
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
  /** Something became due, or something ended that somebody may wait for. All are told. */
  publish(hint: Hint): void
  /** Of each of these one process is told that can execute it, when it is due. Left out: all are told that something is due. */
  wake?(runs: readonly DueRun[]): void
  /** The listener says whether it can do something about it. */
  subscribe(listener: (hint: Hint) => boolean): () => void
  close(): Promise<void>
}

/** What carries hints in the place of NOTIFY. */
export interface Transport {
  /** `executes`: this process takes runs. It must open, and hints be lost, while what carries them is away. */
  open(of: {
    readonly schema: string
    readonly executes: boolean
    readonly log: Log
  }): Promise<Hints>
}

export interface DueRun {
  readonly run: Pick<RunFacts, 'uid' | 'id' | 'workspace' | 'definition' | 'version'>
  /** Where its journal ends: with the uid it names this wait. */
  readonly seq: number
  /** 0: it is due now. */
  readonly inMs: number
}

export type Hint =
  /** null: who says it does not know whose. */
  | { readonly kind: 'due'; readonly definition: string | null; readonly version?: string | null }
  | { readonly kind: 'mail'; readonly uid: Uid }
  | { readonly kind: 'ended' }
  /** Stored definitions have changed. */
  | { readonly kind: 'saved' }
  /** Somebody follows the run: commits of it are to be told. */
  | { readonly kind: 'watched'; readonly uid: Uid }
  /** Something of a run that is followed was committed. */
  | { readonly kind: 'changed'; readonly uid: Uid }

export type Log = Record<
  'debug' | 'info' | 'warn' | 'error',
  (message: string, data?: object) => void
>

/** Spans, for who wants them. A trace is a text that is stored with what it belongs to; null: there is none. */
export interface Telemetry {
  /** A run is being started by whoever calls. */
  started(run: StartedRun): string | null
  /** A message is being sent. */
  sent(to: { readonly workspace: string; readonly id: string }, name: string): string | null
  turn(run: RunFacts, epoch: number): TurnSpan
  /** `payload`: its output or its error. */
  ended(run: RunFacts, status: FinalStatus, payload: Stored | null, at: Instant): void
}

export type StartedRun = Pick<RunFacts, 'id' | 'workspace' | 'definition' | 'version'>

export interface TurnSpan {
  /** A child is being started by the turn. */
  started(run: StartedRun): string | null
  /** It has taken a message with this trace. */
  linked(trace: string): void
  step(step: string, attempt: number): StepSpan
  end(how: string): void
}

export interface StepSpan {
  /** What user code does inside belongs to the span. */
  inside<T>(work: () => T): T
  /** Once; later calls change nothing. null: it went well. A stored error, or one as it was thrown. */
  end(error: unknown): void
}
