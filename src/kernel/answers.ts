// How questions and answers are written down, and how an answer that is written down reaches the body. Pure.

import { encodeError, errorRecord } from '../model/error-record.js'
import { scopeEnded } from '../model/errors.js'
import { type MessageId, shownName } from '../model/ids.js'
import { Failure, type Kept } from '../model/program.js'
import { decideRetry } from '../model/retry.js'
import type { EntryMeta, Instant, NewEntry } from '../model/run.js'
import { type Ask, type Doing, INLINE, type RecordAsk, type StepAsk, type WaitAsk } from './asks.js'
import type { AttemptEnd, AttemptTimes } from './attempt.js'
import type { Outcome } from './look.js'
import type { Clock, Random } from './ports.js'
import { isSuccess } from './undos.js'

export function askEntry(ask: Ask): NewEntry {
  switch (ask.kind) {
    case 'timer':
      return asked(ask, 'timer.set', { dueAt: ask.dueAt })
    case 'wait':
      return asked(ask, 'wait.opened', waitMeta(ask))
    case 'child':
      return asked(ask, 'child.started', {
        target: ask.target,
        ...(ask.uid ? { uid: ask.uid } : {}),
      })
    default:
      return asked(ask, 'step.asked', ask.target ? { target: ask.target } : null)
  }
}

function asked(ask: Ask, kind: NewEntry['kind'], meta: EntryMeta | null): NewEntry {
  const { name, occurrence, askedAt: at } = ask
  return { kind, name, occurrence, attempt: 0, at, meta, payload: null }
}

export function waitMeta({
  names,
  dueAt,
  heard,
  place,
}: Pick<WaitAsk, 'names' | 'dueAt' | 'heard' | 'place'>): EntryMeta {
  const meta: { -readonly [K in keyof EntryMeta]: EntryMeta[K] } = { names }
  if (dueAt !== null) meta.dueAt = dueAt
  if (heard && 'event' in heard) meta.event = heard.event
  if (heard && 'run' in heard) meta.run = heard.run
  if (place !== null) meta.place = place
  return meta
}

/** A fact that the body brings itself: its answer is there when it is asked for. */
export function recordOutcome(ask: RecordAsk): Outcome {
  const { value: payload, events, documents, shown } = ask.effect
  const { as: kind, meta } = ask
  return { ask, kind, attempt: 0, payload, meta, final: true, events, documents, shown }
}

export function outcomeEntry(outcome: Outcome, at: Instant): NewEntry {
  const { ask, kind, attempt, meta, payload } = outcome
  return { kind, name: ask.name, occurrence: ask.occurrence, attempt, at, meta, payload }
}

interface StepOwner {
  readonly run: { readonly id: string }
  readonly deps: { readonly ports: { readonly clock: Clock; readonly random: Random } }
}

/** What an attempt's end means for its step: an outcome, another attempt later, or (null) the same again. */
export function stepOutcome(
  ask: StepAsk,
  attempt: AttemptTimes,
  end: AttemptEnd,
  at: Instant,
  { run, deps }: StepOwner,
): Outcome | null {
  if (end.kind === 'again') return ask.leaving ? leftOutcome(ask, run.id) : null
  const startedAgo = Math.round(deps.ports.clock.monotonic() - attempt.startedAt)
  const askedAgo = Math.max(startedAgo, Math.round(at - ask.askedAt))
  const { number } = attempt
  // The outcome may be all that tells of its question (replay.ts).
  const of: EntryMeta = isInline(ask)
    ? { askedAgo, startedAgo }
    : { target: ask.target, askedAgo, startedAgo }
  if (end.kind === 'completed') {
    const { value: payload, events, documents, shown, checkpoint, child: uid } = end.effect
    const { transaction } = end
    const undoable: EntryMeta = ask.order.undo ? { ...of, undoable: true } : of
    const said = checkpoint === undefined ? undoable : { ...undoable, checkpoint }
    const meta = uid === undefined ? said : { ...said, uid }
    const kind = ask.undoes ? 'undo.completed' : 'step.completed'
    // biome-ignore format: one literal, because one is made for every step
    return { ask, kind, attempt: number, payload, meta, final: true, transaction, events, documents, shown }
  }
  const { failure } = end
  const payload = failure.error
  const decision = decideRetry(ask.order.retry, {
    attempt: number,
    errorName: errorRecord(payload).name,
    fatal: failure.fatal || ask.manual || ask.leaving !== null,
    retryAfterMs: failure.retryAfterMs,
    now: at,
    random: deps.ports.random.fraction(),
  })
  const final = decision.kind === 'giveUp'
  const retry = decision.kind === 'retry' ? { retryAt: decision.at } : {}
  const { value: kept, documents, shown } = stays(ask, failure, number, final)
  const meta: EntryMeta = { ...of, ...retry, ...(kept !== undefined && { kept }) }
  const kind = ask.undoes ? 'undo.failed' : 'step.failed'
  return { ask, kind, attempt: number, payload, meta, final, documents, shown }
}

/** Whatever goes wrong with it, the failure and what follows from it are the same. */
function stays({ order }: StepAsk, failure: Failure, attempt: number, isLast: boolean): Kept {
  try {
    return order.onFailure?.(failure, { attempt, isLast }) ?? {}
  } catch {
    return {}
  }
}

/** What will not be executed any more, because its scope has ended, has failed. */
export function leftOutcome(ask: Doing, runId: string): Outcome {
  const { scope, attempts, target } = ask
  const error = scopeEnded(shownName(scope.name, scope.occurrence), runId)
  const payload = encodeError(error, 'a step')
  const base = { ask, attempt: attempts + 1, payload, final: true }
  if (ask.kind === 'child') return { ...base, kind: 'child.ended', meta: { status: 'cancelled' } }
  return { ...base, kind: 'step.failed', meta: isInline(ask) ? null : { target } }
}

/** Not the last attempt, but its scope has ended: then it was. */
export function asLast(outcome: Outcome): Outcome {
  const { retryAt: _, ...meta } = outcome.meta ?? {}
  return outcome.final ? outcome : { ...outcome, meta, final: true }
}

/** An undo is told from a step by its kind. */
function isInline({ target, undoes }: StepAsk): boolean {
  return target === INLINE || undoes !== null
}

/** The one place where the body hears an answer, first time or replay. */
export function answerAsk(ask: Ask, entry: NewEntry): void {
  const payload = entry.payload ?? ''
  switch (ask.kind) {
    case 'timer':
      return ask.answer(undefined)
    case 'wait': {
      if (entry.kind === 'wait.withdrawn') return ask.answer(null)
      const { no = 0, id = '', message = '', uid, status } = entry.meta ?? {}
      const meta = uid && status ? { uid, status } : null
      const { at } = entry
      return ask.answer({
        no,
        id: id as MessageId,
        kind: 'signal',
        name: message,
        meta,
        at,
        payload,
      })
    }
    case 'record': {
      if (ask.as === 'round.ended') {
        return ask.answer({ value: payload, isDone: entry.meta?.done ?? false })
      }
      return entry.meta?.status === 'failed' ? ask.fail(new Failure(payload)) : ask.answer(payload)
    }
    default: {
      if (ask.leaving) return ask.leaving()
      if (isSuccess(entry) || entry.kind === 'undo.completed') return ask.answer(payload)
      const question = { name: ask.name, occurrence: ask.occurrence }
      return ask.fail(new Failure(payload, { question, kept: entry.meta?.kept ?? null }))
    }
  }
}

/** Not the last attempt: the question stays open, and goes on when this is stored. */
export function triedAgain({ ask, attempt, meta }: Outcome, seq: number): void {
  if (ask.kind !== 'step' && ask.kind !== 'child') return
  ask.attempts = attempt
  ask.retryAt = meta?.retryAt ?? null
  ask.afterSeq = seq
  if (ask.kind === 'child') ask.uid = null
  else ask.kept = meta?.kept ?? null
}
