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

function newAsk(
  frame: Asked,
  name: string,
  question: Question,
  answer: (value: unknown) => void,
  fail: (failure: Failure) => void,
): Ask {
  const askedAt = frame.clock()
  const base = {
    name,
    occurrence: frame.nextOccurrence(name),
    askedAt,
    afterSeq: 0,
    journaled: false,
    answer,
    fail,
  }
  const instant = (due: Due): Instant => ('at' in due ? due.at : askedAt + due.afterMs)
  switch (question.kind) {
    case 'step': {
      const { order } = question
      const fresh = { attempts: 0, retryAt: null, manual: false, running: null }
      return { ...base, kind: 'step', target: order.label, order, ...fresh }
    }
    case 'timer':
      return { ...base, kind: 'timer', target: '', dueAt: instant(question.due) }
    case 'wait': {
      const { names, until } = question.wish
      return { ...base, kind: 'wait', target: '', names, dueAt: until && instant(until) }
    }
    case 'child': {
      const { order } = question
      const fresh = { attempts: 0, retryAt: null, manual: false, uid: null }
      return { ...base, kind: 'child', target: order.definition, order, ...fresh }
    }
    case 'record':
      return { ...base, kind: 'record', target: RECORD, effect: question.effect }
  }
}
