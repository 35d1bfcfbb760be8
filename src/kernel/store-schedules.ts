// The store port for schedules. Part of store.ts.
//
// The process computes slots (model/schedule.ts), the store says who acts upon one: a row moves from its next slot to a later
// one once, in the same change that inserts the run.

import type { RunId, Uid } from '../model/ids.js'
import type { Instant, Stored } from '../model/run.js'
import type { Overlap, SchedulePlan, Spec } from '../model/schedule.js'

export interface ScheduleStore {
  /**
   * Makes it, or changes what is different: then `revision` goes up. A schedule with the same times keeps its next slot, so that
   * saying it again loses none.
   */
  putSchedule(schedule: NewSchedule): Promise<Schedule>
  /** In the order of their ids; `after`: behind that one. */
  schedules(page: SchedulePage): Promise<readonly Schedule[]>
  schedule(workspace: string, id: string): Promise<Schedule | null>
  /** Those that the triggers of these definitions have brought. */
  schedulesOf(definitions: readonly string[]): Promise<readonly Schedule[]>
  /**
   * The events that start a run of each of these definitions, in the place of those before. A run of it starts in the same
   * transaction as the event, in the workspace of that, with the payload as its input; one for each event.
   */
  subscribe(subscriptions: readonly Subscriptions[]): Promise<void>
  /** false: it has changed since (`revision`), or is gone. Paused, it has no moment. */
  pauseSchedule(schedule: Schedule, isPaused: boolean, next: NextSlot | null): Promise<boolean>
  /** false: there is none. */
  dropSchedule(workspace: string, id: string): Promise<boolean>
  /**
   * Those whose moment has come, the longest due first, without those that wait for their last run (`queue`). `nextAt`: the
   * first moment to come.
   */
  dueSchedules(atMost: number): Promise<{
    readonly now: Instant
    readonly due: readonly DueSchedule[]
    readonly nextAt: Instant | null
  }>
  /**
   * Moves a schedule on, and starts the run of a slot in the same transaction. `lost`: another has, or it was changed; nothing
   * is written. `skipped`: its last run goes on, and it says `skip`. `known`: the slot was acted upon before.
   */
  fire(fire: Fire): Promise<'fired' | 'skipped' | 'known' | 'moved' | 'lost'>
}

export interface Subscriptions {
  readonly definition: string
  readonly to: readonly {
    readonly event: string
    /** Keys that must be among those of the event. */
    readonly match: readonly string[]
    readonly timeoutMs: number | null
  }[]
}

export interface NewSchedule {
  readonly workspace: string
  readonly id: string
  readonly definition: string
  /** Says the same with the same text. */
  readonly spec: Spec
  readonly plan: SchedulePlan
  readonly overlap: Overlap
  readonly input: Stored
  /** The definition whose triggers it is one of; null: people have made it. */
  readonly of: string | null
  /** Taken if it is new, or its times are. */
  readonly next: NextSlot | null
}

export interface NextSlot {
  readonly slot: Instant
  /** When it is acted upon. */
  readonly at: Instant
}

export interface Schedule extends NewSchedule {
  readonly revision: number
  readonly isPaused: boolean
  readonly lastSlot: Instant | null
  readonly lastRun: RunId | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

export interface DueSchedule extends Schedule {
  readonly next: NextSlot
  /** Its last run goes on. */
  readonly isOpen: boolean
  /** When its last run has ended; null: there is none any more, or it goes on. */
  readonly endedAt: Instant | null
}

export interface SchedulePage {
  readonly workspace: string | null
  readonly after: { readonly workspace: string; readonly id: string } | null
  readonly limit: number
}

export interface Fire {
  readonly of: Pick<DueSchedule, 'workspace' | 'id' | 'revision' | 'next'>
  /** The last slot that is settled by it. */
  readonly behind: Instant
  readonly next: NextSlot | null
  /** null: nothing is started. */
  readonly run: {
    readonly uid: Uid
    readonly id: RunId
    readonly tags: Readonly<Record<string, string>>
    readonly timeoutMs: number | null
  } | null
}
