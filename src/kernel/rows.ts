// Runs as they go into the store and come out of it. Part of the store port (store.ts), which gives these types on.

import type { Counted } from '../model/admission.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import type { DocumentRow } from '../model/program.js'
import type {
  Entry,
  FinalStatus,
  Instant,
  Status,
  Stop,
  Stored,
  StoredReason,
  TaskOrder,
  WaitReason,
} from '../model/run.js'
import type { InsightReader, RunsOf } from './store-insight.js'
import type { LimitReader } from './store-limits.js'

export interface NewRun {
  readonly uid: Uid
  readonly id: RunId
  readonly workspace: string
  readonly definition: string
  readonly version: string | null
  readonly input: Stored
  readonly order: TaskOrder | null
  readonly tags: Readonly<Record<string, string>>
  /** 0–9, higher first. */
  readonly priority: number
  readonly delayMs: number
  /** Counts from start + delay, in the queue too. */
  readonly timeoutMs: number | null
  readonly parent: {
    readonly uid: Uid
    readonly id: RunId
    /** The key of the step that started it under an id of its own. */
    readonly startedBy?: string
  } | null
  /** Of whoever starts it. */
  readonly trace?: string | null
  /** Set if its definition has limits: it asks for a slot before it is due. */
  readonly limits?: Counted | null
}

export interface Settled {
  readonly workspace: string
  readonly id: RunId
  readonly uid: Uid
  readonly status: FinalStatus
  /** The output, or the error. */
  readonly payload: Stored | null
  readonly reason: string | null
}

/** An entry with what a listener needs to know of its run. */
export interface FeedEntry {
  readonly uid: Uid
  readonly id: RunId
  readonly workspace: string
  readonly definition: string
  readonly entry: Entry
}

export interface RunView {
  readonly uid: Uid
  readonly id: RunId
  readonly workspace: string
  readonly definition: string
  readonly version: string | null
  readonly status: Status
  readonly reason: StoredReason | null
  readonly stop: Stop | null
  readonly dueAt: Instant | null
  /** null: it needs none. While it has none, `dueAt` is since when it asks. */
  readonly slot: boolean | null
  readonly limits: Counted | null
  readonly owner: WorkerId | null
  readonly seq: number
  readonly attempt: number
  readonly crashes: number
  /** Steps that can be undone and are not. */
  readonly undoOpen: number
  /** What the run shows of itself. */
  readonly state: Stored | null
  /** Of a machine: where it is, and the error of its last attempt to leave. */
  readonly place: string | null
  readonly error: Stored | null
  readonly tags: Readonly<Record<string, string>>
  readonly parentUid: Uid | null
  readonly parentId: RunId | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
  readonly startedAt: Instant | null
  readonly finishedAt: Instant | null
  readonly deadlineAt: Instant | null
  readonly input: Stored
  /** The last entry of a final run, else null: its payload is the output or the error. */
  readonly end: Entry | null
}

export interface RunFilter {
  readonly workspace: string | null
  readonly definition: string | null
  readonly statuses: readonly Status[] | null
  /** As it is shown: a due run without live code is in none of the others. */
  readonly reason: WaitReason | null
  readonly tags: Readonly<Record<string, string>>
  readonly parentId: RunId | null
  readonly createdAfter: Instant | null
  readonly createdBefore: Instant | null
  /** Part of the run id, or of the value of a tag. */
  readonly text: string | null
  /** As it is shown: what is known of its definition; of others a stored graph, a child is a task, else a workflow. */
  readonly kind?: { readonly is: string; readonly known: ReadonlyMap<string, string> } | null
  /** Keyset: uids are in order of creation. */
  readonly after: Uid | null
  readonly newestFirst: boolean
  readonly limit: number
}

export interface RunReader extends LimitReader, InsightReader {
  get(workspace: string, id: RunId): Promise<RunView | null>
  list(filter: RunFilter): Promise<readonly RunView[]>
  /** Runs that wait for a signal and for nothing that comes by itself, but perhaps a time limit. Oldest first. */
  inbox(
    of: RunsOf & { readonly after: Uid | null; readonly limit: number },
  ): Promise<readonly RunView[]>
  /** Entries with seq > after (oldest first) or < after (newest first). */
  history(
    uid: Uid,
    page: { readonly after: number | null; readonly limit: number; readonly newestFirst: boolean },
  ): Promise<readonly Entry[]>
  /** The entries that are checkpoints, as `history` gives its own. */
  checkpoints(
    uid: Uid,
    page: { readonly after: number | null; readonly limit: number; readonly newestFirst: boolean },
  ): Promise<readonly Entry[]>
  /** In order, those that were replaced too. */
  documents(uid: Uid): Promise<readonly DocumentRow[]>
  /** The children of a run that have not ended, and what live workers could execute. For `explain`. */
  openChildren(uid: Uid): Promise<readonly RunView[]>
  /** Definitions that live workers have, as `name@version`. */
  liveDefinitions(): Promise<readonly string[]>
  /** Every worker that is known, oldest first: also those whose lease is over and that nobody has reaped yet. */
  workers(): Promise<readonly WorkerView[]>
  /** How many runs there are. null: in all workspaces. For people: it counts them all. */
  counts(workspace: string | null): Promise<readonly StatusCount[]>
  /** For how long a run has been due that nobody has taken, at most; 0: there is none. Paused and diverged ones are not due. */
  dueLagMs(): Promise<number>
}

/** A worker as people see it. */
export interface WorkerView {
  readonly id: WorkerId
  readonly build: string
  readonly startedAt: Instant
  readonly leaseUntil: Instant
  /** By the database's clock. */
  readonly isAlive: boolean
  /** name@version */
  readonly definitions: readonly string[]
  /** That it holds now. */
  readonly runs: number
}

export interface StatusCount {
  readonly definition: string
  readonly status: Status
  readonly runs: number
}
