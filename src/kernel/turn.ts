// What the body of a run asks through. Each question goes to its frame; nothing is decided here.

import type { ChildOrder, Due, Effect, Failure, StepOrder, Turn, Wish } from '../model/program.js'
import type { Instant, Message, RunFacts, Stored } from '../model/run.js'
import { type Ask, RECORD } from './asks.js'

/** A question before the frame has given it its place. */
type Question =
  | { readonly kind: 'step'; readonly order: StepOrder }
  | { readonly kind: 'timer'; readonly due: Due }
  | { readonly kind: 'wait'; readonly wish: Wish }
  | { readonly kind: 'child'; readonly order: ChildOrder }
  | { readonly kind: 'record'; readonly effect: Effect }

export interface Asked {
  readonly run: RunFacts
  readonly stopping: AbortSignal
  readonly replaying: boolean
  /** Database time of the last answer. */
  readonly nowAt: Instant
  /** The clock as it stands: for due times that begin with the question. */
  clock(): Instant
  nextOccurrence(name: string): number
  asks(ask: Ask): void
  mark(id: string): boolean
  stopFromInside(reason: string): void
}

export function makeTurn(frame: Asked): Turn {
  const ask = <T>(name: string, question: Question): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const answer = resolve as (value: unknown) => void
      frame.asks(newAsk(frame, name, question, answer, reject))
    })
  return {
    run: frame.run,
    get stopping() {
      return frame.stopping
    },
    get replaying() {
      return frame.replaying
    },
    now: () => frame.nowAt,
    step: (name, order) => ask<Stored>(name, { kind: 'step', order }),
    sleep: (name, due) => ask<void>(name, { kind: 'timer', due }),
    receive: (name, wish) => ask<Message | null>(name, { kind: 'wait', wish }),
    child: (name, order) => ask<Stored>(name, { kind: 'child', order }),
    record: (name, effect) => ask<Stored>(name, { kind: 'record', effect }),
    mark: (id) => frame.mark(id),
    stop: (reason) => {
      frame.stopFromInside(reason)
      return new Promise<never>(() => {})
    },
  }
}

/** One literal per kind: an ask is made for every step of every run, and spreading objects costs more than the rest. */
function newAsk(
  frame: Asked,
  name: string,
  question: Question,
  answer: (value: unknown) => void,
  fail: (failure: Failure) => void,
): Ask {
  const askedAt = frame.clock()
  const occurrence = frame.nextOccurrence(name)
  const afterSeq = 0
  const journaled = false
  const attempts = 0
  const retryAt = null
  const manual = false
  switch (question.kind) {
    case 'step': {
      const { order } = question
      // biome-ignore format: the five literals read as a table
      return { kind: 'step', name, occurrence, target: order.label, askedAt, afterSeq, journaled, answer, fail, order, attempts, retryAt, manual, running: null, startedAt: 0 }
    }
    case 'timer': {
      const dueAt = instantOf(question.due, askedAt)
      // biome-ignore format: the five literals read as a table
      return { kind: 'timer', name, occurrence, target: '', askedAt, afterSeq, journaled, answer, fail, dueAt }
    }
    case 'wait': {
      const { names, until } = question.wish
      const dueAt = until && instantOf(until, askedAt)
      // biome-ignore format: the five literals read as a table
      return { kind: 'wait', name, occurrence, target: '', askedAt, afterSeq, journaled, answer, fail, names, dueAt }
    }
    case 'child': {
      const { order } = question
      // biome-ignore format: the five literals read as a table
      return { kind: 'child', name, occurrence, target: order.definition, askedAt, afterSeq, journaled, answer, fail, order, attempts, retryAt, manual, uid: null }
    }
    case 'record': {
      const { effect } = question
      // biome-ignore format: the five literals read as a table
      return { kind: 'record', name, occurrence, target: RECORD, askedAt, afterSeq, journaled, answer, fail, effect }
    }
  }
}

function instantOf(due: Due, askedAt: Instant): Instant {
  return 'at' in due ? due.at : askedAt + due.afterMs
}
