// The store port for those who look at many runs at once. Part of store.ts.

import type { Uid } from '../model/ids.js'
import type { DocumentRow } from '../model/program.js'
import type { Entry, FinalStatus, Instant } from '../model/run.js'

/** Runs of a workspace. */
export interface RunsOf {
  readonly workspace: string
  /** null: of all but the one that delivers webhooks. */
  readonly definition: string | null
}

/** From `from` (included) to `to` (not included). */
export interface Window extends RunsOf {
  readonly from: Instant
  readonly to: Instant
  readonly bucketMs: number
}

export interface ActivityCount {
  /** From 0. */
  readonly bucket: number
  readonly what: 'started' | FinalStatus
  readonly runs: number
}

export interface StepsOf {
  readonly workspace: string
  readonly definition: string
  /** Runs that were created before are left out. */
  readonly from: Instant | null
  /** The newest runs that have ended; so many entries of each, and of all. */
  readonly runsMax: number
  readonly entriesMax: number
  readonly entriesOfAll: number
}

export interface StepCount {
  readonly name: string
  readonly executions: number
  readonly failures: number
  readonly retries: number
  readonly p50Ms: number | null
  readonly p95Ms: number | null
}

export interface StepCounts {
  readonly runs: number
  /** Nothing was left out. */
  readonly isWhole: boolean
  /** By name. */
  readonly steps: readonly StepCount[]
}

export interface InsightReader {
  /** How many were started and have ended, by time. Reads those of that time, and no others. */
  activity(window: Window): Promise<readonly ActivityCount[]>
  /** The newest entries of each, newest first; payloads only of what has failed. */
  recent(uids: readonly Uid[], limit: number): Promise<ReadonlyMap<Uid, readonly Entry[]>>
  /** What each shows to people now, in order. */
  visible(uids: readonly Uid[], limit: number): Promise<ReadonlyMap<Uid, readonly DocumentRow[]>>
  /** What has become of the steps of a definition. */
  stepCounts(of: StepsOf): Promise<StepCounts>
}
