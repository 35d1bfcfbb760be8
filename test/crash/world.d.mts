import type { Defect } from '../../src/kernel/defects.js'

export interface Run {
  readonly id: string
  readonly kind: string
}

/** What a victim is told to do. */
export interface Order {
  readonly runs?: readonly Run[]
  readonly concurrency?: number
  readonly pollMs?: number
  readonly leaseMs?: number
  readonly closeGraceMs?: number
  /** Instead of the world's own, as a proxy's. */
  readonly database?: string
  /** Where its hints go, instead of NOTIFY. */
  readonly redis?: string
  /** false: it only starts, signals and reads. */
  readonly worker?: boolean
  readonly listen?: boolean
  readonly closeAfterMs?: number
  readonly closeWhenDriven?: boolean
  /** As PERDURE_FAULT. */
  readonly fault?: string
  /** A module that Node imports first. */
  readonly preload?: string
  /** The process may have no larger heap. */
  readonly heapMb?: number
  /** Definitions that it does not have. */
  readonly without?: readonly string[]
}

export interface Said {
  readonly open?: number
  readonly acked?: string
  /** An event that was answered: to whom it went, and what that had counted then. */
  readonly sent?: string
  readonly to?: string
  readonly count?: number
  readonly driven?: string
  readonly ended?: string
  readonly status?: string
  readonly aborted?: string
  readonly code?: string
  readonly failed?: string
  readonly message?: string
  readonly error?: string
  readonly warn?: string
  /** Of a warning: which it names. */
  readonly steps?: readonly string[]
  /** Who had a slot, or asked for one, when all was done. */
  readonly held?: readonly object[]
  readonly closed?: boolean
  readonly mark?: string
  /** It could not open its database. */
  readonly refused?: string
  readonly clicked?: string
  readonly won?: number
}

export interface Victim {
  readonly pid: number
  /** How often it was sent SIGSTOP. */
  readonly stops: number
  readonly said: readonly Said[]
  readonly end: { readonly code: number | null; readonly signal: string | null } | undefined
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
  hear(fits: (said: Said) => unknown, ms?: number): Promise<Said | null>
  tell(what: { readonly close?: boolean; readonly runs?: readonly Run[] }): void
  signal(signal: NodeJS.Signals): void
  stopped(ms?: number): Promise<boolean>
}

export interface RunRow {
  readonly uid: string
  readonly id: string
  readonly def: string
  readonly status: string
  readonly owner: string | null
  readonly seq: number
  readonly epoch: number
  readonly crashes: number
  readonly parent: string | null
  /** What it has shown last. */
  readonly state: string | null
  readonly place: string | null
  readonly shownError: string | null
}

export interface JournalRow {
  readonly uid: string
  readonly seq: number
  readonly epoch: number
  readonly at: number
  readonly kind: string
  readonly name: string
  readonly occurrence: number
  readonly attempt: number
  readonly meta: Readonly<Record<string, unknown>> | null
  readonly payload: string | null
}

export interface Execution {
  readonly run: string
  readonly step: string
  readonly key: string
  readonly attempt: number
  readonly life: string
  /** When the code began, by the clock of its process. */
  readonly began: number
  /** When it was stored, by the clock of the database. */
  readonly at: number
}

export interface DocumentRow {
  readonly uid: string
  readonly seq: number
  readonly type: string
  readonly content: string
}

export interface Snapshot {
  readonly runs: readonly RunRow[]
  readonly journal: readonly JournalRow[]
  readonly messages: readonly {
    readonly uid: string
    readonly no: number
    readonly id: string
    readonly kind: string
    readonly name: string
    readonly meta: Readonly<Record<string, unknown>> | null
  }[]
  /** By wf.emit and engine.emit. */
  readonly emitted: readonly { readonly id: string; readonly name: string }[]
  /** What runs wait for beside their mailboxes. */
  readonly waits: readonly { readonly uid: string; readonly name: string }[]
  /** `last`: of its times, the last one that was acted upon. */
  readonly schedules: readonly { readonly id: string; readonly last: number | null }[]
  readonly workers: readonly { readonly id: string }[]
  readonly feed: readonly { readonly worker: string; readonly ranges: string }[]
  readonly effects: readonly { readonly run: string; readonly step: string; readonly key: string }[]
  readonly documents: readonly DocumentRow[]
  readonly ledger: readonly Execution[]
  readonly events: readonly {
    readonly id: string
    readonly runId: string
    readonly name: string
    readonly step?: string
    readonly life: string
  }[]
}

export interface World extends AsyncDisposable {
  readonly name: string
  readonly url: string | undefined
  readonly runs: ReadonlyMap<string, string>
  /** Protections that its victims do not have. */
  defects: readonly Defect[]
  readonly said: readonly Said[]
  readonly victims: readonly Victim[]
  newRuns(...kinds: readonly string[]): readonly Run[]
  spawn(order?: Order): Victim
  finish(options?: { readonly victims?: number; readonly withinMs?: number }): Promise<boolean>
  snapshot(): Promise<Snapshot>
  query(sql: string, params?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
  counters(): Readonly<Record<string, number>>
}

export function serverWorld(options: {
  readonly url: string
  readonly leaseMs?: number
  readonly hasLedgerFile?: boolean
}): Promise<World>
export function embeddedWorld(options?: {
  readonly leaseMs?: number
  /** Without a database yet. */
  readonly empty?: boolean
}): Promise<World>
