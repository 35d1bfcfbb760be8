// The questions of a run that are open: asked, and not answered yet.

import type { Uid } from '../model/ids.js'
import type {
  AwaitedChild,
  ChildOrder,
  Effect,
  Failure,
  Heard,
  StepOrder,
  Wish,
} from '../model/program.js'
import type { EntryMeta, Instant, Message, Stored } from '../model/run.js'
import type { Scope, Scoped } from './scope.js'

/** The target that tells a record from a step where its question has an entry of its own. */
export const RECORD = 'record'
/** The usual target of a step: its outcome does not name it. */
export const INLINE = 'inline'

/** User code under way. */
export interface Running {
  /** Raises its AbortSignal; its result still counts. */
  abort(reason: Error): void
  /** It began before its past was stored, and does not wait for that: soon it ends. */
  readonly isEarly: boolean
  /** Something was stored: perhaps what it waits for. */
  stored(): void
  /** It has asked for a transaction. */
  readonly hasTransaction: boolean
  /** Raises its AbortSignal, and gives it `graceMs` to end in: then it has failed. An open transaction is rolled back. */
  leave(reason: Error, graceMs: number): void
  /** Takes away its right to write. */
  giveUp(reason: Error): void
}

/** Something that was done and can be undone. */
export interface Undoable {
  /** The name of the question that undoes it. */
  readonly name: string
  readonly scope: Scoped
  readonly order: StepOrder
  isDone: boolean
  /** The undo under way or ended, for whoever wants it undone too. */
  undone: Promise<unknown> | null
}

interface AskBase {
  /** Where it was asked: with that it is withdrawn. */
  readonly scope: Scope
  readonly name: string
  readonly occurrence: number
  /** Part of the divergence check. */
  readonly target: string
  askedAt: Instant
  /** Nothing of it may start before the entry with this number is durable (O3). */
  afterSeq: number
  /** An entry says that it was asked. */
  journaled: boolean
  readonly fail: (failure: Failure) => void
}

export interface StepAsk extends AskBase {
  readonly kind: 'step'
  readonly order: StepOrder
  readonly answer: (value: Stored) => void
  /** Recorded failures. */
  attempts: number
  /** What the last of them has left. */
  kept: Stored | null
  retryAt: Instant | null
  manual: boolean
  /** Its scope has ended and waits for its end, which the body does not hear: it could be undone. */
  leaving: (() => void) | null
  running: Running | null
  /** When the attempt under way began. */
  startedAt: Instant
  /** Of an undo: what it undoes. */
  readonly undoes: Undoable | null
}

export interface TimerAsk extends AskBase {
  readonly kind: 'timer'
  readonly answer: (value: undefined) => void
  dueAt: Instant
}

export interface WaitAsk extends AskBase {
  readonly kind: 'wait'
  readonly names: readonly string[]
  /** Answered by something that happens elsewhere. */
  readonly heard: Heard | null
  readonly place: string | null
  readonly isAnsweredLater: boolean
  readonly children: readonly AwaitedChild[]
  readonly wish: Wish
  readonly answer: (value: Message | null) => void
  dueAt: Instant | null
}

export interface ChildAsk extends AskBase {
  readonly kind: 'child'
  readonly order: ChildOrder
  readonly answer: (value: Stored) => void
  attempts: number
  retryAt: Instant | null
  manual: boolean
  /** As of a step. */
  leaving: (() => void) | null
  uid: Uid | null
}

export interface RecordAsk extends AskBase {
  readonly kind: 'record'
  readonly effect: Effect
  /** The kind of the entry. */
  readonly as: 'record' | 'scope.ended' | 'round.ended'
  readonly meta: EntryMeta | null
  readonly answer: (value: unknown) => void
}

/** What has an effect that can be undone. */
export type Doing = StepAsk | ChildAsk

export type Ask = StepAsk | TimerAsk | WaitAsk | ChildAsk | RecordAsk

/** When this question needs a look, if nothing else happens. */
export function dueOf(ask: Ask): Instant | null {
  switch (ask.kind) {
    case 'timer':
    case 'wait':
      return ask.dueAt
    case 'step':
      return ask.running || ask.leaving ? null : ask.retryAt
    case 'child':
      return ask.leaving ? null : ask.retryAt
    case 'record':
      return null
  }
}
