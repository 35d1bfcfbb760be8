// The store port for tools: runs that are checked against other code, and runs that move to another database. Part of store.ts.

import type { Counted } from '../model/admission.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import type {
  EntryKind,
  EntryMeta,
  Instant,
  MessageKind,
  NewDocument,
  RowFacts,
  Status,
  Stop,
  Stored,
  StoredReason,
} from '../model/run.js'

export interface MovingStore {
  /** Runs that have not ended, but for deliveries of webhooks, in the order of their uids behind `after`. */
  liveRuns(page: LivePage): Promise<readonly LiveRun[]>
  /** The runs that are asked for with all of their families, in the order of their uids. */
  selectRuns(which: Selection): Promise<readonly SelectedRun[]>
  /** All there is of each, as it is at one moment. */
  runRecords(uids: readonly Uid[]): Promise<readonly RunRecord[]>
  /** Something has happened that a mailbox is to get and has not: a letter, an event. Who moves would leave it behind. */
  isMailUnderWay(): Promise<boolean>
  /**
   * Pauses all of them, or none: each must be as it was read, in nobody's hands and not being cancelled. Those that were paused
   * stay so. The answer names those that are not as they were.
   */
  holdRuns(
    runs: readonly Pick<RunRecord, 'uid' | 'epoch' | 'seq' | 'inbox'>[],
  ): Promise<readonly Uid[]>
  /**
   * All of them in one transaction, or none. Nobody is told of ends that were told of elsewhere. One whose uid or id is taken is
   * left out with `isSkipping`; else nothing is written, and `taken` names some of them.
   */
  putRuns(
    pages: AsyncIterable<readonly RunRecord[]>,
    isSkipping: boolean,
  ): Promise<{ readonly put: number; readonly taken: readonly RunId[] }>
}

export interface LivePage {
  /** null: of all of them. */
  readonly workspace: string | null
  readonly after: Uid | null
  readonly limit: number
}

/** As a claimer gets it, but in the hands of its owner. `startedAt` of one that never ran: when it was created. */
export interface LiveRun extends RowFacts {
  readonly owner: WorkerId | null
  readonly epoch: number
  readonly seq: number
}

/** null: any. */
export interface Selection {
  readonly workspace: string | null
  readonly definition: string | null
  readonly ids: readonly RunId[] | null
}

export interface SelectedRun {
  readonly uid: Uid
  readonly definition: string
  readonly version: string | null
}

/** A run as it is written to a file: its row, and all that belongs to it. Its names are a contract. */
export interface RunRecord {
  readonly uid: Uid
  readonly id: RunId
  readonly workspace: string
  readonly definition: string
  readonly version: string | null
  readonly status: Status
  readonly reason: StoredReason | null
  readonly stop: Stop | null
  /** Set: a worker has it, and what it does now is not in the journal. */
  readonly owner: WorkerId | null
  /** Without a slot: when it asks for one. */
  readonly dueAt: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
  readonly startedAt: Instant | null
  readonly finishedAt: Instant | null
  readonly deadlineAt: Instant | null
  readonly epoch: number
  readonly seq: number
  readonly inbox: number
  readonly taken: number
  readonly crashes: number
  readonly undoOpen: number
  readonly attempt: number
  readonly priority: number
  readonly tags: Readonly<Record<string, string>>
  readonly parentUid: Uid | null
  readonly parentId: RunId | null
  readonly divergedBuilds: readonly string[]
  readonly limits: Counted | null
  readonly shown: {
    readonly place: string | null
    readonly error: Stored | null
    readonly state: Stored | null
  } | null
  readonly journal: readonly EntryRecord[]
  readonly messages: readonly MessageRecord[]
  readonly documents: readonly DocumentRecord[]
  readonly waits: readonly WaitRecord[]
}

export interface EntryRecord {
  readonly seq: number
  readonly epoch: number
  readonly at: Instant
  readonly kind: EntryKind
  readonly name: string
  readonly occurrence: number
  readonly attempt: number
  readonly meta: EntryMeta | null
  readonly payload: Stored | null
}

export interface MessageRecord {
  readonly no: number
  readonly takenSeq: number | null
  readonly replySeq: number | null
  readonly at: Instant
  readonly id: string
  readonly kind: MessageKind
  readonly name: string
  readonly meta: EntryMeta | null
  readonly payload: Stored | null
}

/** In the order in which people see them. */
export interface DocumentRecord extends NewDocument {
  readonly seq: number
  readonly no: number
  readonly untilSeq: number | null
  /** Of the first one that it stands in the place of. */
  readonly position: readonly [seq: number, no: number]
}

export interface WaitRecord {
  readonly name: string
  readonly occurrence: number
  readonly since: Instant
  readonly event: string | null
  readonly match: readonly string[]
  readonly run: RunId | null
}
