// What a turn has decided and the database does not know yet.
//
// Invariants
//   G1. The number of an entry is fixed when it is appended: entries go out in that order, without gaps.
//   G2. One delta of a run is in flight at a time; what is decided meanwhile waits here and goes out as one.

import type { Uid } from '../model/ids.js'
import type { EmittedEvent } from '../model/program.js'
import type { Instant, NewEntry, Stored } from '../model/run.js'
import type { NewEvent, StartDelta, TurnDelta } from './store.js'

type OutMessage = TurnDelta['messages'][number]

export interface Parts {
  readonly entries: readonly NewEntry[]
  readonly taken: readonly number[]
  readonly refused: readonly number[]
  readonly starts: readonly StartDelta[]
  readonly events: readonly NewEvent[]
  readonly messages: readonly OutMessage[]
  /** So many of the messages, the last ones, belong to the end of the run. */
  readonly ofEnd: number
  readonly notBefore: Instant | null
  readonly state: Stored | null
}

/** Most deltas take, start and send nothing. */
const NONE: readonly never[] = []

export class Outgoing {
  /** The last entry that is known to be stored. */
  ackedSeq: number
  private inFlight = 0
  private entries: NewEntry[] = []
  private taken: number[] = []
  private refused: number[] = []
  private starts: StartDelta[] = []
  private messages: OutMessage[] = []
  private ofEnd = 0
  private events: NewEvent[] = []
  private state: Stored | null = null
  private notBefore: Instant | null = null

  constructor(ackedSeq: number) {
    this.ackedSeq = ackedSeq
  }

  get waiting(): boolean {
    return this.entries.length > 0
  }

  /** The number of the last entry, stored or not. */
  get lastSeq(): number {
    return this.ackedSeq + this.inFlight + this.entries.length
  }

  append(entry: NewEntry): number {
    this.entries.push(entry)
    return this.lastSeq
  }

  takes(no: number): void {
    this.taken.push(no)
  }

  /** Goes out when the run rests: alone it would not be told from its repetition. */
  refuses(no: number): void {
    this.refused.push(no)
  }

  starting(start: StartDelta): void {
    this.starts.push(start)
  }

  sends(message: OutMessage): void {
    this.messages.push(message)
  }

  /** With the last entry. */
  sendsAtEnd(messages: readonly OutMessage[]): void {
    for (const message of messages) this.messages.push(message)
    this.ofEnd = messages.length
  }

  /** Its id is its place in the history: emitted again, it is the same event. */
  emits(events: readonly EmittedEvent[], by: Uid): void {
    for (const [i, { name, keys, payload }] of events.entries()) {
      this.events.push({ id: `${by}:${this.lastSeq}:${i}`, name, keys, payload })
    }
  }

  /** From the next commit on. */
  shows(state: Stored): void {
    this.state = state
  }

  /** These entries must not be stored before `due`. */
  holds(due: Instant): void {
    if (this.notBefore === null || due > this.notBefore) this.notBefore = due
  }

  take(): Parts {
    const { entries, notBefore, state, ofEnd } = this
    const taken = this.taken.length > 0 ? this.taken.splice(0) : NONE
    const refused = this.refused.length > 0 ? this.refused.splice(0) : NONE
    const starts = this.starts.length > 0 ? this.starts.splice(0) : NONE
    const messages = this.messages.length > 0 ? this.messages.splice(0) : NONE
    const events = this.events.length > 0 ? this.events.splice(0) : NONE
    this.inFlight = entries.length
    this.entries = []
    this.ofEnd = 0
    this.notBefore = null
    this.state = null
    return { entries, taken, refused, starts, events, messages, ofEnd, notBefore, state }
  }

  /** The database has stored what was in flight. */
  stored(entries: readonly NewEntry[]): void {
    this.ackedSeq += entries.length
    this.inFlight = 0
  }

  /** What was in flight is never stored, and neither is what was decided on top of it. */
  discard(): void {
    this.take()
    this.inFlight = 0
  }

  /**
   * The database has refused it: everything but the last entry, and the last `ofEnd` messages, goes out again, before all
   * else.
   */
  restore(parts: Omit<Parts, 'ofEnd'>, ofEnd: number): void {
    this.inFlight = 0
    this.entries = [...parts.entries.slice(0, -1), ...this.entries]
    this.taken = [...parts.taken, ...this.taken]
    this.refused = [...parts.refused, ...this.refused]
    this.starts = [...parts.starts, ...this.starts]
    this.events = [...parts.events, ...this.events]
    const { messages } = parts
    this.messages = [...messages.slice(0, messages.length - ofEnd), ...this.messages]
    if (parts.notBefore !== null) this.holds(parts.notBefore)
    this.state ??= parts.state
  }
}
