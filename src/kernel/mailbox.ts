// The messages of one run that are in memory and not taken.
//
// Invariant M1: `seen` is the highest number whose message has been put in here or was taken, never the counter of the
// row.
// Numbers come without gaps, so a message above seen + 1 means that others must be loaded first.

import type { Uid } from '../model/ids.js'
import type { Instant, Message } from '../model/run.js'

/** Most runs are never called. */
const NONE: readonly never[] = []

export class Mailbox {
  seen = 0
  /** Set when something new is here that no open question has looked at. */
  fresh = false
  cancel: Message | null = null
  /** Calls: somebody waits to hear whether they are taken. */
  triggers: readonly Message[] = NONE
  /** Of the last message. */
  private at: Instant = 0
  /** Made when the first comes: most runs get neither. */
  private signals: Map<string, Message[]> | null = null
  private children: Map<Uid, Message> | null = null
  /** By the question they are for. */
  private events: Map<string, Message> | null = null

  /** In order of their numbers; those that are known already are skipped. */
  put(messages: readonly Message[]): void {
    for (const one of messages) {
      if (one.no <= this.seen) continue
      // Messages are in the order of their numbers, also if the database's clock was set back between them (O5).
      const message = one.at < this.at ? { ...one, at: this.at } : one
      this.at = message.at
      this.seen = message.no
      this.fresh = true
      if (message.kind === 'cancel') {
        if (!this.cancel || message.meta?.force) this.cancel = message
      } else if (message.kind === 'child') {
        this.children ??= new Map()
        if (message.meta?.uid) this.children.set(message.meta.uid, message)
      } else if (message.kind === 'event') {
        this.events ??= new Map()
        const key = questionKey(message.meta?.name ?? '', message.meta?.occurrence ?? 0)
        if (!this.events.has(key)) this.events.set(key, message)
      } else {
        if (message.kind === 'trigger') this.triggers = [...this.triggers, message]
        this.signals ??= new Map()
        const queue = this.signals.get(message.name)
        if (queue) queue.push(message)
        else this.signals.set(message.name, [message])
      }
    }
  }

  /** Whatever has come was taken. */
  get isEmpty(): boolean {
    const { signals, children, events, cancel } = this
    return !cancel && !signals?.size && !children?.size && !events?.size
  }

  /** Are these, in order of their numbers, the next ones? If not, others must be loaded first. */
  fits(messages: readonly Message[]): boolean {
    const fresh = messages.filter((message) => message.no > this.seen)
    return fresh.every((message, i) => message.no === this.seen + i + 1)
  }

  /** With these it holds every message up to `inbox`. */
  isCompletedBy(messages: readonly Message[], inbox: number): boolean {
    const last = messages.at(-1)?.no ?? this.seen
    return this.fits(messages) && Math.max(last, this.seen) >= inbox
  }

  /** The message with this number was taken before: it is not loaded any more. */
  taken(no: number): void {
    this.seen = Math.max(this.seen, no)
  }

  /** The oldest signal with one of these names that is not in `except`. */
  oldest(names: readonly string[], except: ReadonlySet<Message>): Message | null {
    let best: Message | null = null
    for (const name of names) {
      const first = this.signals?.get(name)?.find((message) => !except.has(message))
      if (first && (!best || first.no < best.no)) best = first
    }
    return best
  }

  childEnd(uid: Uid | null): Message | null {
    return uid === null ? null : (this.children?.get(uid) ?? null)
  }

  /** What has come for a question that waits for an event. */
  event(name: string, occurrence: number): Message | null {
    return this.events?.get(questionKey(name, occurrence)) ?? null
  }

  /** When the first trigger stops waiting; null: none waits. */
  get patientUntil(): Instant | null {
    let until: Instant | null = null
    for (const trigger of this.triggers) {
      const end = patienceEnd(trigger)
      if (until === null || end < until) until = end
    }
    return until
  }

  take(message: Message): void {
    if (message.kind === 'child') {
      if (message.meta?.uid) this.children?.delete(message.meta.uid)
      return
    }
    if (message.kind === 'trigger') {
      this.triggers = this.triggers.filter((trigger) => trigger !== message)
    }
    const queue = this.signals?.get(message.name)
    const at = queue?.indexOf(message) ?? -1
    if (queue && at >= 0) queue.splice(at, 1)
    if (queue?.length === 0) this.signals?.delete(message.name)
  }
}

export function patienceEnd({ at, meta }: Message): Instant {
  return at + (meta?.within ?? 0)
}

const questionKey = (name: string, occurrence: number): string => `${occurrence} ${name}`
