// What the body of a run asks through. Each question goes to its conversation; nothing is decided here.

import { shownName } from '../model/ids.js'
import type {
  ChildOrder,
  Due,
  Effect,
  Failure,
  Round,
  StepOrder,
  Turn,
  Wish,
} from '../model/program.js'
import type { EntryMeta, Instant, Message, RunFacts, Shown, Stored } from '../model/run.js'
import { type Ask, RECORD, type RecordAsk, type Undoable } from './asks.js'
import { Scope } from './scope.js'
import { type RoundEnd, runLoop, runRace, runScope, type ScopeTurn } from './scopes.js'
import type { Undos } from './undos.js'

/** A question before the conversation has given it its place. */
export type Question =
  | { readonly kind: 'step'; readonly order: StepOrder; readonly undoes?: Undoable }
  | { readonly kind: 'timer'; readonly due: Due }
  | { readonly kind: 'wait'; readonly wish: Wish }
  | { readonly kind: 'child'; readonly order: ChildOrder }
  | {
      readonly kind: 'record'
      readonly effect: Effect
      readonly as?: RecordAsk['as']
      readonly meta?: EntryMeta
    }

/** The conversation, as a turn sees it. */
export interface Asked {
  readonly run: RunFacts
  readonly root: Scope
  readonly undos: Undos
  readonly stopping: AbortSignal
  readonly replaying: boolean
  /** Database time of the last answer. */
  readonly nowAt: Instant
  /** The clock as it stands: for due times that begin with the question. */
  clock(): Instant
  nextOccurrence(name: string): number
  asks(ask: Ask): void
  mark(id: string): boolean
  show(shown: Shown): void
  stopFromInside(reason: string): void
  expiresAt: Instant | null
  /** Nothing of this scope is wanted any more. Settles when what could be undone has ended, but for what is in `kept`. */
  withdraw(scope: Scope, isExpected: boolean, kept: Scope | null): Promise<unknown>
  /** The last round of a loop that has ended in the history; 0: none. */
  lastRound(key: string): number
  /** The number of the last answer given. */
  readonly lastSeq: number
  /** A round has ended well: nothing of it will be asked again. `sinceSeq`: where it began. */
  roundIsOver(scope: Scope, sinceSeq: number): void
  /** The run fails, whatever the body does now. */
  fail(failure: Failure): void
}

export function makeTurn(conversation: Asked): Turn {
  return new TurnInside(conversation, conversation.root)
}

/** A turn inside one scope. */
class TurnInside implements ScopeTurn {
  private readonly conversation: Asked
  private readonly within: Scope

  constructor(conversation: Asked, within: Scope) {
    this.conversation = conversation
    this.within = within
  }

  get run(): RunFacts {
    return this.conversation.run
  }

  get path(): string {
    return this.within.path
  }

  get stopping(): AbortSignal {
    return this.within.signal(this.conversation.stopping)
  }

  get isOver(): boolean {
    return this.within.isOver
  }

  get replaying(): boolean {
    return this.conversation.replaying
  }

  now(): Instant {
    return this.conversation.nowAt
  }

  step(name: string, order: StepOrder): Promise<Stored> {
    return this.ask(name, { kind: 'step', order })
  }

  sleep(name: string, due: Due): Promise<void> {
    return this.ask(name, { kind: 'timer', due })
  }

  receive(name: string, wish: Wish): Promise<Message | null> {
    return this.ask(name, { kind: 'wait', wish })
  }

  child(name: string, order: ChildOrder): Promise<Stored> {
    return this.ask(name, { kind: 'child', order })
  }

  record(name: string, effect: Effect): Promise<Stored> {
    return this.ask(name, { kind: 'record', effect })
  }

  mark(id: string): boolean {
    return this.conversation.mark(id)
  }

  show(shown: Shown): void {
    if (!this.within.isOver) this.conversation.show(shown)
  }

  expires(at: Instant | null): void {
    if (!this.within.isOver) this.conversation.expiresAt = at
  }

  stop(reason: string): Promise<never> {
    this.conversation.stopFromInside(reason)
    return new Promise<never>(() => {})
  }

  scope(
    name: string,
    order: { readonly until: Due | null },
    body: (inner: Turn) => Promise<Stored>,
  ): Promise<Stored> {
    return runScope(this, name, order.until, body)
  }

  race(
    name: string,
    branches: ReadonlyMap<string, (inner: Turn) => Promise<Stored>>,
  ): Promise<{ readonly winner: string; readonly value: Stored }> {
    return runRace(this, name, branches)
  }

  loop(
    name: string,
    initial: Stored,
    round: (inner: Turn, state: Stored) => Promise<Round>,
  ): Promise<Stored> {
    return runLoop(this, name, initial, round)
  }

  // ── for scopes.ts ─────────────────────────────────────────────────────────────────────────────────────────

  get undos(): Undos {
    return this.conversation.undos
  }

  open(name: string): Scope {
    const full = this.within.path + name
    const occurrence = this.conversation.nextOccurrence(full)
    const path = `${shownName(full, occurrence)}/`
    return new Scope(this.within, { name: full, occurrence, path })
  }

  inside(scope: Scope): TurnInside {
    return new TurnInside(this.conversation, scope)
  }

  withdraw(scope: Scope): void {
    if (!scope.isOver) void this.conversation.withdraw(scope, false, scope)
  }

  async leave(scope: Scope, kept: Scope | null): Promise<void> {
    if (!scope.isOver) await this.conversation.withdraw(scope, true, kept)
  }

  scopeEnded(
    scope: Scope,
    end: { readonly value: Stored } | { readonly failure: Failure },
  ): Promise<Stored> {
    const failed = 'failure' in end
    const effect = { value: failed ? end.failure.error : end.value }
    const meta = { status: failed ? 'failed' : 'completed' } as const
    const { name, occurrence } = scope
    return this.ask(name, { kind: 'record', effect, as: 'scope.ended', meta }, { occurrence })
  }

  get lastSeq(): number {
    return this.conversation.lastSeq
  }

  async roundEnded(round: RoundEnd): Promise<Stored> {
    const { scope, sinceSeq } = round
    if (this.isOver) return new Promise<never>(() => {})
    const left = await this.ask<Left>(scope.name, roundQuestion(round), { occurrence: 1 })
    // Not before: until it is written down the scope around may end, and undo it.
    this.conversation.roundIsOver(scope, sinceSeq)
    return left.value
  }

  lastRound(key: string): number {
    return this.conversation.lastRound(key)
  }

  recall(round: string): Promise<Left> {
    const question = { kind: 'record', effect: { value: '' }, as: 'round.ended' } as const
    return this.ask(round, question, { occurrence: 1 })
  }

  undo(undoable: Undoable): Promise<Stored> {
    const { order } = undoable
    return this.inside(this.conversation.root).ask(undoable.name, {
      kind: 'step',
      order,
      undoes: undoable,
    })
  }

  fail(failure: Failure): void {
    this.conversation.fail(failure)
  }

  /** `named`: by its whole name, with an occurrence that was counted before. */
  private ask<T>(name: string, question: Question, named?: { occurrence: number }): Promise<T> {
    const { conversation, within: scope } = this
    return new Promise<T>((resolve, reject) => {
      if (scope.isOver) return
      const full = named || scope.path === '' ? name : scope.path + name
      const occurrence = named?.occurrence ?? conversation.nextOccurrence(full)
      const answer = resolve as (value: unknown) => void
      conversation.asks(
        newAsk(conversation, { scope, name: full, occurrence }, question, answer, reject),
      )
    })
  }
}

const NONE: readonly never[] = []

/** That a round has ended: what it leaves is its answer. */
function roundQuestion(round: Round): Question {
  const effect = { value: round.value }
  return { kind: 'record', effect, as: 'round.ended', meta: roundMeta(round) }
}

function roundMeta({ done, children = NONE }: Pick<Round, 'done' | 'children'>): EntryMeta {
  return { ...(done && { done }), ...(children.length > 0 && { children }) }
}

/** What a round has left behind. */
interface Left {
  readonly value: Stored
  readonly isDone: boolean
}

/** One literal per kind: an ask is made for every step of every run, and spreading objects costs more than the rest. */
function newAsk(
  conversation: Pick<Asked, 'clock'>,
  { scope, name, occurrence }: Place,
  question: Question,
  answer: (value: unknown) => void,
  fail: (failure: Failure) => void,
): Ask {
  const askedAt = conversation.clock()
  const afterSeq = 0
  const journaled = false
  const attempts = 0
  const retryAt = null
  const manual = false
  switch (question.kind) {
    case 'step': {
      const { order } = question
      // biome-ignore format: the five literals read as a table
      return { kind: 'step', scope, name, occurrence, target: order.label, askedAt, afterSeq, journaled, answer, fail, order, attempts, kept: null, retryAt, manual, leaving: null, running: null, startedAt: 0, undoes: question.undoes ?? null }
    }
    case 'timer': {
      const dueAt = instantOf(question.due, askedAt)
      // biome-ignore format: the five literals read as a table
      return { kind: 'timer', scope, name, occurrence, target: '', askedAt, afterSeq, journaled, answer, fail, dueAt }
    }
    case 'wait': {
      const { wish } = question
      const { names, until, heard = null, place = null } = wish
      const { isAnsweredLater = false, children = NONE } = wish
      const dueAt = until && instantOf(until, askedAt)
      // biome-ignore format: the five literals read as a table
      return { kind: 'wait', scope, name, occurrence, target: '', askedAt, afterSeq, journaled, answer, fail, names, heard, place, isAnsweredLater, children, wish, dueAt }
    }
    case 'child': {
      const { order } = question
      // biome-ignore format: the five literals read as a table
      return { kind: 'child', scope, name, occurrence, target: order.definition, askedAt, afterSeq, journaled, answer, fail, order, attempts, retryAt, manual, leaving: null, uid: null }
    }
    case 'record': {
      const { effect, as = 'record', meta = null } = question
      // biome-ignore format: the five literals read as a table
      return { kind: 'record', scope, name, occurrence, target: RECORD, askedAt, afterSeq, journaled, answer, fail, effect, as, meta }
    }
  }
}

export function instantOf(due: Due, askedAt: Instant): Instant {
  return 'at' in due ? due.at : askedAt + due.afterMs
}

interface Place {
  readonly scope: Scope
  readonly name: string
  readonly occurrence: number
}
