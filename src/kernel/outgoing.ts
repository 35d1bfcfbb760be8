// What a turn has decided and the database does not know yet.
//
// Invariants
//   G1. The number of an entry is fixed when it is appended: entries go out in that order, without gaps.
//   G2. One delta of a run is in flight at a time; what is decided meanwhile waits here and goes out as one.

import type { Uid } from '../model/ids.js'
import type { EmittedEvent } from '../model/program.js'
import type { Instant, NewDocument, NewEntry, Shown } from '../model/run.js'
import type { Brings, NewEvent, StartDelta, TurnDelta } from './store.js'

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
  readonly shown: Shown | null
  readonly documents: TurnDelta['documents']
  readonly answers: TurnDelta['answers']
  readonly brings: Brings | null
}

interface Written {
  readonly document: NewDocument
  readonly seq: number
}

interface Answered {
  readonly no: number
  readonly seq: number | null
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
  private shown: Shown | null = null
  private documents: Written[] = []
  private answers: Answered[] = []
  private notBefore: Instant | null = null
  /** What has been told to the body and to nobody else. */
  private untold: Brings | null = null

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

  /** What is decided beside the entries, so far. */
  get beside(): Pick<Parts, 'shown' | 'events'> {
    return { shown: this.shown, events: [...this.events] }
  }

  append(entry: NewEntry): number {
    this.entries.push(entry)
    return this.lastSeq
  }

  takes(no: number): void {
    this.taken.push(no)
  }

  get isUntold(): boolean {
    return this.untold !== null
  }

  /** They go out with what comes of them. */
  brings(untold: Brings): void {
    this.untold = untold
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
  shows(shown: Shown): void {
    this.shown = this.shown ? { ...this.shown, ...shown } : shown
  }

  /** They belong to the last entry. */
  writes(documents: readonly NewDocument[]): void {
    for (const document of documents) this.documents.push({ document, seq: this.lastSeq })
  }

  /** By the last entry; or, taken now, it is to be answered later. */
  answersMessage(no: number, isLater: boolean): void {
    this.answers.push({ no, seq: isLater ? null : this.lastSeq })
  }

  /** These entries must not be stored before `due`. */
  holds(due: Instant): void {
    if (this.notBefore === null || due > this.notBefore) this.notBefore = due
  }

  take(): Parts {
    const { entries, notBefore, shown, ofEnd, untold: brings } = this
    const taken = this.taken.length > 0 ? this.taken.splice(0) : NONE
    const refused = this.refused.length > 0 ? this.refused.splice(0) : NONE
    const starts = this.starts.length > 0 ? this.starts.splice(0) : NONE
    const messages = this.messages.length > 0 ? this.messages.splice(0) : NONE
    const events = this.events.length > 0 ? this.events.splice(0) : NONE
    const documents = this.documents.length > 0 ? this.written() : NONE
    const answers = this.answers.length > 0 ? this.answered() : NONE
    this.inFlight = entries.length
    this.entries = []
    this.ofEnd = 0
    this.notBefore = null
    this.shown = null
    this.untold = null
    // biome-ignore format: one literal, because one is made for every step
    return { entries, taken, refused, starts, events, messages, ofEnd, notBefore, shown, documents, answers, brings }
  }

  private written(): TurnDelta['documents'] {
    return this.documents
      .splice(0)
      .map(({ document, seq }) => ({ document, entry: seq - this.ackedSeq }))
  }

  private answered(): TurnDelta['answers'] {
    return this.answers
      .splice(0)
      .map(({ no, seq }) => ({ no, entry: seq === null ? null : seq - this.ackedSeq }))
  }

  /** The database has stored what was in flight. */
  stored(entries: readonly NewEntry[]): void {
    this.ackedSeq += entries.length
    this.inFlight = 0
  }

  /** What was in flight is never stored, and neither is what was decided on top of it: the messages of that. */
  discard(): readonly OutMessage[] {
    const { messages } = this.take()
    this.inFlight = 0
    return messages
  }

  /**
   * The database has refused it: everything but the last entry, and the last `ofEnd` messages, goes out again, before all
   * else.
   */
  restore(parts: Omit<Parts, 'ofEnd' | 'brings'>, ofEnd: number): void {
    this.inFlight = 0
    this.entries = [...parts.entries.slice(0, -1), ...this.entries]
    this.taken = [...parts.taken, ...this.taken]
    this.refused = [...parts.refused, ...this.refused]
    this.starts = [...parts.starts, ...this.starts]
    this.events = [...parts.events, ...this.events]
    const { messages } = parts
    this.messages = [...messages.slice(0, messages.length - ofEnd), ...this.messages]
    if (parts.notBefore !== null) this.holds(parts.notBefore)
    // What came with the last entry goes with it.
    const last = parts.entries.length
    const documents = parts.documents.filter(({ entry }) => entry < last)
    const answers = parts.answers.filter(({ entry }) => entry === null || entry < last)
    this.documents = [
      ...documents.map(({ document, entry }) => ({ document, seq: this.ackedSeq + entry })),
      ...this.documents,
    ]
    this.answers = [
      ...answers.map(({ no, entry }) => ({ no, seq: entry && this.ackedSeq + entry })),
      ...this.answers,
    ]
    if (parts.shown) this.shown = { ...parts.shown, ...this.shown }
  }
}
