// What the calls give that are for those who look at runs: a user interface, a dashboard.

import type { StoredDocument } from '../authoring/document-types.js'
import type { Definition, Dict, Instant, Opt, Target } from '../authoring/types.js'
import type { Status } from '../model/run.js'
import type { Offer, OpenQuestion, Paged, StoredError } from './run-types.js'

/** How many runs were started and have ended, by time. */
export type Activity = Readonly<{
  from: Date
  to: Date
  bucketMs: number
  /** All of them, also those in which nothing has happened. */
  items: readonly ActivityBucket[]
}>

export type ActivityBucket = Readonly<{
  /** Where it begins. */
  at: Date
  started: number
  completed: number
  failed: number
  cancelled: number
  timedOut: number
}>

/** A run that waits for a person. */
export type InboxItem = Readonly<{
  id: string
  workflow: string
  version: string
  workspace: string
  kind: Definition['kind']
  place: string | null
  hasError: boolean
  error: StoredError | null
  tags: Dict<string>
  /** It waits since then, and for that long at most. */
  since: Date
  until: Date | null
  /** What can be sent to it; without schemas if this process does not have its definition. */
  available: readonly Offer[]
  /** What it shows to people; the first 20. */
  documents: readonly StoredDocument[]
}>

export type StepStats = Readonly<{
  workflow: string
  from: Date | null
  /** So many runs that have ended were looked at: the newest ones. */
  runs: number
  /** false: there are more, or they have more entries. */
  isWhole: boolean
  items: readonly StepStat[]
}>

/** Of a step, a transition, a node or a child, by its name. */
export type StepStat = Readonly<{
  name: string
  /** Outcomes; each may have taken several attempts. */
  executions: number
  /** Of these, failed for good. */
  failures: number
  /** Attempts that have failed and were followed by another. */
  retries: number
  /** Of one attempt. null: not known. */
  p50Ms: number | null
  p95Ms: number | null
}>

/** A run as it was behind an entry of its journal. */
export type RunAt = Readonly<{
  id: string
  seq: number
  /** When that entry was written. */
  at: Date
  status: Status
  place: string | null
  state: unknown
  /** false: wf.setState leaves no trace but the last one, so nobody knows what it was then. */
  isStateKnown: boolean
  input: unknown
  output: unknown
  error: StoredError | null
  /** Of a graph: what was set by then. Else null. */
  variables: Dict<unknown> | null
  documents: readonly StoredDocument[]
  open: readonly OpenQuestion[]
}>

/** Calls for those who look at runs. Each is confined to a workspace, as get() is. */
export interface HasInsight<W = unknown> {
  /** Reads the runs of that time and no others. Without `from` and `to`: the last 24 hours. `buckets`: 48. */
  activity(
    options?: Opt<{
      workspace: string
      workflow: Target<W>
      from: Instant
      to: Instant
      buckets: number
    }>,
  ): Promise<Activity>
  /** Runs that wait for a signal or a transition, and for nothing that comes by itself. The oldest run first. */
  inbox(
    options?: Opt<{ workspace: string; workflow: Target<W>; limit: number; after: string }>,
  ): Paged<InboxItem>
  /** Of the newest 2,000 runs that have ended. `from`: those that were created since. */
  stepStats(
    target: Target<W>,
    options?: Opt<{ workspace: string; from: Instant }>,
  ): Promise<StepStats>
  /** `seq`: a number of its journal, the last one if left out. What only memory knew then, such as a step that had begun, is not told. */
  at(runId: string, seq?: number): Promise<RunAt>
}
