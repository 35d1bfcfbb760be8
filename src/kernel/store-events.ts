// The store port for what happens beside the mailboxes: events of a workspace, and the ends of runs. Part of store.ts.

import type { RunId, Uid } from '../model/ids.js'
import type { EmittedEvent, Heard } from '../model/program.js'
import type { Instant, Stored } from '../model/run.js'
import type { Within } from './store-operating.js'

export interface EventStore {
  /** Stored is emitted; the same id again changes nothing. Inside a caller's transaction it happens with that. */
  emit(workspace: string, event: NewEvent, within: Within | null): Promise<void>
  /** Waits that hear an event now, at most so many; one may be found twice. They are found again until `heard`. */
  fanOut(atMost: number): Promise<readonly Hearing[]>
  /** The next waits for ends of runs behind `after`, ended or not, in the order of their uids. */
  awaited(after: Uid | null, atMost: number): Promise<readonly Hearing[]>
  /** Their messages are there. */
  heard(waits: readonly Pick<Hearing, 'uid' | 'name' | 'occurrence'>[]): Promise<void>
}

export interface NewEvent extends EmittedEvent {
  readonly id: string
}

/** A question that waits for something that happens elsewhere, from `since` on. */
export interface EventWait {
  readonly name: string
  readonly occurrence: number
  readonly since: Instant
  readonly heard: Heard
}

/** What a wait hears. */
export interface Hearing {
  readonly uid: Uid
  readonly to: { readonly workspace: string; readonly id: RunId }
  readonly name: string
  readonly occurrence: number
  /** The event; or how the run has ended (`unknown`: there is none); null: it goes on. */
  readonly message: string | null
  readonly payload: Stored | null
}
