// The closing of a step's transaction: the user's writes and the run's delta commit together. While it is under
// way it is the run's delta in flight, and nothing else is delivered, so that numbers stay in order.
//
// A lost answer is not sent again: the run's row is locked (which waits for the lost transaction's fate) and the
// journal read. Absent: the step is executed again.

import { encodeError } from '../model/error-record.js'
import { Failure } from '../model/program.js'
import type { NewEntry } from '../model/run.js'
import type { HeldRun } from './held-run.js'
import type { Outcome } from './look.js'
import type { Parts } from './outgoing.js'
import { type Committed, type StepTransaction, StoreUnavailable, type TurnDelta } from './store.js'

const RESOLVE_AGAIN_MS = 100

export function closeTransaction(
  frame: HeldRun,
  outcome: Outcome,
  transaction: StepTransaction,
): void {
  const { deps } = frame
  frame.closing = true
  const { journaled } = outcome.ask
  // What it shows and emits goes with it, if it is rolled back.
  const before = deps.defects.has('shown-though-rolled-back') ? {} : frame.out.beside
  const entry = frame.record(outcome)
  // The body hears of it when it is stored; the row must know by then what there is to undo.
  const moreUndos = entry.kind === 'undo.completed' ? -1 : entry.meta?.undoable ? 1 : 0
  const delta = frame.send({ kind: 'go' }, moreUndos)
  const closing = { frame, outcome, entry, parts: { ...delta, ...before }, delta, journaled }
  deps.ports.fault('transaction.close')
  transaction.close(delta, { feed: deps.feed() }).then(
    (committed) => closed(closing, committed),
    (error: unknown) => unknown(closing, error),
  )
}

/** A step has one open, or is about to close it. */
export function hasTransaction({
  questions,
  ready,
}: HeldRun & { readonly ready: readonly Outcome[] }): boolean {
  return questions.inTransaction() || ready.some(({ transaction }) => transaction)
}

/** A connection that is gone has taken its transaction with it. */
export function rollBack(transaction: StepTransaction): void {
  transaction.rollback().catch(() => {})
}

interface Closing {
  readonly frame: HeldRun
  readonly outcome: Outcome
  readonly entry: NewEntry
  readonly parts: Omit<Parts, 'ofEnd' | 'brings'>
  readonly delta: TurnDelta
  /** Its question had an entry before. */
  readonly journaled: boolean
}

function closed(closing: Closing, committed: Committed): void {
  const [answer] = committed.answers
  closing.frame.deps.ports.fault('transaction.closed')
  if (answer?.kind === 'done') return applied(closing, answer.inbox, committed)
  if (answer?.kind === 'busy') return again(closing)
  gone(closing, answer?.kind === 'early')
}

function applied(closing: Closing, inbox: number, committed: Committed | null): void {
  const { frame, delta, entry, outcome } = closing
  if (!frame.active) return
  frame.deps.closed(delta, committed)
  frame.inFlight = null
  frame.closing = false
  frame.out.stored(delta.entries)
  frame.body.undos.stored(delta.undoOpen)
  frame.questions.listening.stored(delta.waits)
  frame.deps.committed(delta)
  if (inbox > frame.mail.seen) frame.deps.load(frame.run.uid)
  frame.answer(outcome.ask, entry)
}

/** Rolled back: everything but the step's outcome is still to be said, and the step runs again, uncounted. */
function again(closing: Closing): void {
  if (!closing.frame.active) return
  takeBack(closing)
  const { frame, outcome } = closing
  const { ask, attempt: number } = outcome
  // Its scope has ended: it does not run again, and that is its end.
  const times = { number, startedAt: frame.deps.ports.clock.monotonic() }
  if (ask.kind === 'step' && ask.leaving) frame.stepEnded(ask, times, { kind: 'again' })
  else frame.pump()
}

/** The outcome was not stored: neither is the question, if it was to stand in the outcome alone. */
function takeBack({ frame, parts, outcome, journaled }: Closing): void {
  const { ask } = outcome
  frame.inFlight = null
  frame.closing = false
  frame.out.restore(parts, 0)
  const isAsked = (entry: NewEntry): boolean =>
    entry.kind === 'step.asked' && entry.name === ask.name && entry.occurrence === ask.occurrence
  if (ask.kind === 'step' && !journaled && !parts.entries.some(isAsked))
    frame.questions.unwrite(ask)
}

function gone(closing: Closing, reload: boolean): void {
  const { frame } = closing
  if (!frame.active) return
  frame.inFlight = null
  frame.closing = false
  frame.lose()
  frame.deps.lost(frame.run.uid, reload)
}

function unknown(closing: Closing, error: unknown): void {
  const { frame, delta, outcome } = closing
  if (!frame.active) return
  if (!(error instanceof StoreUnavailable)) {
    // The database has refused the user's writes when they were to become final: the step's own failure.
    takeBack(closing)
    const failure = new Failure(encodeError(error, `step "${outcome.ask.name}"`))
    const { ask } = outcome
    const attempt = { number: outcome.attempt, startedAt: frame.deps.ports.clock.monotonic() }
    if (ask.kind === 'step') frame.stepEnded(ask, attempt, { kind: 'failed', failure })
    return
  }
  frame.deps.counters['transaction.resolved'] += 1
  const lastSeq = delta.fence.seq + delta.entries.length
  frame.deps.ports.fault('resolve.before')
  frame.deps.resolve(delta.fence, lastSeq).then(
    (fate) => {
      frame.deps.ports.fault('resolve.after')
      if (fate === 'applied') applied(closing, 0, null)
      else if (fate === 'absent') again(closing)
      else gone(closing, false)
    },
    () => void frame.deps.ports.clock.after(RESOLVE_AGAIN_MS, () => unknown(closing, error)),
  )
}
