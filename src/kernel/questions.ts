// The open questions of one run, in the order in which they were asked, and what can be said about all of them
// together. A list, not a map: nearly always it holds one question, and a map that is filled and emptied with every
// step is rebuilt with every step.

import type { Uid } from '../model/ids.js'
import type { Instant, StoredReason } from '../model/run.js'
import { type Ask, type ChildAsk, dueOf, type RecordAsk, type StepAsk } from './asks.js'
import { Listening } from './listening.js'

const REASON = {
  step: 'retry',
  timer: 'timer',
  wait: 'signal',
  child: 'child',
  record: 'retry',
} as const

/** `steps`: not the undos, which nothing stops. */
type Which = 'all' | 'steps'

export class Questions {
  readonly listening = new Listening()
  private readonly open: Ask[] = []
  /** Steps and records that were asked for and have no entry yet, in order. */
  private unwritten: (StepAsk | RecordAsk)[] = []

  get size(): number {
    return this.open.length
  }

  all(): readonly Ask[] {
    return this.open
  }

  add(ask: Ask): void {
    this.open.push(ask)
    this.listening.asked(ask)
    if (ask.journaled) return
    if (ask.kind === 'step' || ask.kind === 'record') this.unwritten.push(ask)
  }

  find(name: string, occurrence: number): Ask | null {
    for (const ask of this.open) {
      if (ask.occurrence === occurrence && ask.name === name) return ask
    }
    return null
  }

  remove(ask: Ask): void {
    const at = this.open.indexOf(ask)
    if (at === this.open.length - 1) this.open.pop()
    else if (at >= 0) this.open.splice(at, 1)
  }

  /** Since when a step runs that nobody has written down. */
  get unwrittenSince(): Instant | null {
    for (const ask of this.unwritten) if (ask.kind === 'step' && ask.running) return ask.startedAt
    return null
  }

  /**
   * The questions to write down now, in the order in which they were asked. A step or record whose `outcome` is written
   * next and that is the only one needs no entry of its own (replay.ts).
   */
  takeUnwritten(outcome: Ask | null): readonly (StepAsk | RecordAsk)[] {
    const asks = this.unwritten
    if (asks.length === 0) return asks
    this.unwritten = []
    for (const ask of asks) ask.journaled = true
    return asks.length === 1 && asks[0] === outcome ? [] : asks
  }

  /** The entry that would have told of this question was not stored. */
  unwrite(ask: StepAsk): void {
    ask.journaled = false
    this.unwritten.unshift(ask)
  }

  /** Nothing runs, nothing is about to, and something is waited for. */
  onlyWaiting(now: Instant): boolean {
    for (const ask of this.open) {
      if (ask.kind === 'record' || (ask.kind === 'step' && ask.running)) return false
      if (isNext(ask, now)) return false
    }
    return this.open.length > 0
  }

  running(which: Which = 'all'): boolean {
    for (const ask of this.open) {
      if (ask.kind === 'step' && ask.running && isMeant(ask, which)) return true
    }
    return false
  }

  /** What runs will soon have said more: it is written down with what is there. */
  runsEarly(): boolean {
    for (const ask of this.open) if (ask.kind === 'step' && ask.running?.isEarly) return true
    return false
  }

  /** Something was stored. */
  stored(): void {
    for (const ask of this.open) if (ask.kind === 'step') ask.running?.stored()
  }

  /** It does something of its own, in a step or in a task: soon it may wait for something else. */
  busy(): boolean {
    return this.open.some((ask) => {
      // One that waits for what came before it to be stored is as good as running.
      if (ask.kind === 'step') return ask.running !== null || ask.retryAt === null
      return ask.kind === 'child' && ask.order.isTask
    })
  }

  /** It waits for what it does itself, a retry or a task: a run with limits keeps its slot for that. */
  ownWork(hasLimits: (definition: string) => boolean): boolean {
    return this.open.some((ask) => {
      if (ask.kind === 'step') return ask.retryAt !== null
      return ask.kind === 'child' && ask.order.isTask && !hasLimits(ask.order.definition)
    })
  }

  /** A step of it has asked for a transaction. */
  inTransaction(): boolean {
    for (const ask of this.open) {
      if (ask.kind === 'step' && ask.running?.hasTransaction) return true
    }
    return false
  }

  /** The earliest due time of all, `limit` included. */
  nextDue(limit: Instant | null): Instant | null {
    let due = limit
    for (const ask of this.open) {
      const at = dueOf(ask)
      if (at !== null && (due === null || at < due)) due = at
    }
    return due
  }

  /** A message with this name would be taken now. */
  hears(name: string): boolean {
    return this.open.some((ask) => ask.kind === 'wait' && !ask.heard && ask.names.includes(name))
  }

  /** What is waited for: the oldest question says. */
  reason(): StoredReason {
    for (const ask of this.open) {
      if (ask.kind === 'wait' && ask.heard) return 'event'
      const isForChild = ask.kind === 'wait' && ask.names.length === 0 && ask.children.length > 0
      return isForChild ? 'child' : REASON[ask.kind]
    }
    return 'signal'
  }

  children(): readonly Uid[] {
    return this.open.flatMap((ask) => {
      if (ask.kind === 'wait') return ask.children.map(({ uid }) => uid)
      return ask.kind === 'child' && ask.uid ? [ask.uid] : []
    })
  }

  /** Raises the AbortSignals of what runs; its results still count. */
  abort(reason: Error, which: Which = 'all'): void {
    for (const ask of this.open) {
      if (ask.kind === 'step' && isMeant(ask, which)) ask.running?.abort(reason)
    }
  }

  /** What runs has lost the right to write. */
  giveUp(reason: Error, which: Which = 'all'): void {
    for (const ask of this.open) {
      if (ask.kind !== 'step' || !ask.running || !isMeant(ask, which)) continue
      const { running } = ask
      ask.running = null
      running.giveUp(reason)
    }
  }
}

function isMeant(ask: StepAsk, which: Which): boolean {
  return which === 'all' || ask.undoes === null
}

/** Neither under way nor waiting for its retry. */
export function isNext(ask: Ask, now: Instant): ask is StepAsk | ChildAsk {
  if (ask.kind !== 'step' && ask.kind !== 'child') return false
  if (ask.leaving || (ask.kind === 'step' ? ask.running : ask.uid)) return false
  return ask.retryAt === null || ask.retryAt <= now
}
