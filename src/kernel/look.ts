// Which open question is answered next by a message or by time. Pure.
//
// O5: several ready at one look are ordered by database time (a message: when it was accepted; a timer: when it
// was due); at equal time the message wins. So a signal accepted before a deadline beats it, even if every worker
// was down past both.

import { errorRecord, isFatalRecord } from '../model/error-record.js'
import type { EmittedEvent } from '../model/program.js'
import { decideRetry } from '../model/retry.js'
import type {
  EntryKind,
  EntryMeta,
  Instant,
  Message,
  NewDocument,
  Shown,
  Stored,
} from '../model/run.js'
import type { Ask, ChildAsk } from './asks.js'
import type { Mailbox } from './mailbox.js'
import type { StepTransaction } from './store.js'

/** The answer to one question, about to be written down. */
export interface Outcome {
  readonly ask: Ask
  readonly kind: EntryKind
  readonly attempt: number
  readonly payload: Stored | null
  readonly meta: EntryMeta | null
  /** The body hears of it. False: it is tried again. */
  readonly final: boolean
  readonly message?: Message
  readonly notBefore?: Instant
  readonly transaction?: StepTransaction | null
  readonly events?: readonly EmittedEvent[] | undefined
  readonly documents?: readonly NewDocument[] | undefined
  readonly shown?: Shown | undefined
}

interface Found {
  readonly at: Instant
  readonly byTime: boolean
  readonly outcome: () => Outcome
}

export function look(open: readonly Ask[], mail: Mailbox, now: Instant): Outcome | null {
  if (!open.some(isListening)) return null
  let best: Found | null = null
  const spoken = new Set<Message>()
  for (const ask of open) {
    for (const found of ready(ask, mail, now, spoken)) {
      if (!best || found.at < best.at || (found.at === best.at && best.byTime && !found.byTime)) {
        best = found
      }
    }
  }
  return best ? best.outcome() : null
}

/** Messages and time answer it; steps and records answer themselves. */
function isListening(ask: Ask): boolean {
  return ask.kind !== 'step' && ask.kind !== 'record'
}

function* ready(ask: Ask, mail: Mailbox, now: Instant, spoken: Set<Message>): Iterable<Found> {
  switch (ask.kind) {
    case 'wait': {
      const message = ask.heard
        ? mail.event(ask.name, ask.occurrence)
        : mail.oldest(ask.names, spoken)
      if (message) {
        spoken.add(message)
        yield { at: message.at, byTime: false, outcome: () => taken(ask, message) }
      }
      for (const { uid, as } of ask.children) {
        const end = mail.childEnd(uid)
        if (end) yield { at: end.at, byTime: false, outcome: () => childTold(ask, end, as) }
      }
      if (ask.dueAt !== null && ask.dueAt <= now) {
        const place = ask.place === null ? {} : { place: ask.place }
        yield fired(ask, 'wait.withdrawn', ask.dueAt, place)
      }
      return
    }
    case 'timer':
      if (ask.dueAt <= now) yield fired(ask, 'timer.fired', ask.dueAt)
      return
    case 'child': {
      const message = mail.childEnd(ask.uid)
      if (message)
        yield { at: message.at, byTime: false, outcome: () => childEnded(ask, message, now) }
      return
    }
    default:
      return
  }
}

function fired(ask: Ask, kind: EntryKind, dueAt: Instant, more: EntryMeta = {}): Found {
  const outcome: Outcome = {
    ask,
    kind,
    attempt: 0,
    payload: null,
    meta: { dueAt, ...more },
    final: true,
    notBefore: dueAt,
  }
  return { at: dueAt, byTime: true, outcome: () => outcome }
}

export function taken(ask: Ask, message: Message): Outcome {
  const { no, id, name, payload } = message
  const meta: EntryMeta = { no, id, message: name }
  return { ask, kind: 'message.taken', attempt: 0, payload, meta, final: true, message }
}

function childTold(ask: Ask, message: Message, as: string): Outcome {
  const { no, id, payload } = message
  const { uid, status = 'failed' } = message.meta ?? {}
  const meta: EntryMeta = { no, id, message: as, status, ...(uid && { uid }) }
  return { ask, kind: 'message.taken', attempt: 0, payload, meta, final: true, message }
}

/** A child workflow that failed may be tried again, as a new child. */
function childEnded(ask: ChildAsk, message: Message, now: Instant): Outcome {
  const { no, payload } = message
  const status = message.meta?.status ?? 'failed'
  const attempt = ask.attempts + 1
  const undoable = status === 'completed' && ask.order.undo ? { undoable: true } : {}
  const meta: EntryMeta = { no, status, ...(ask.uid ? { uid: ask.uid } : {}), ...undoable }
  const base = { ask, kind: 'child.ended' as const, attempt, payload, message }
  if (status === 'failed' && !ask.manual && !ask.leaving) {
    const errorName = payload === null ? '' : errorRecord(payload).name
    const fatal = payload !== null && isFatalRecord(payload)
    const retryAfterMs = message.meta?.retryAfterMs ?? null
    const failed = { attempt, errorName, fatal, retryAfterMs, now, random: 0.5 }
    const decision = decideRetry(ask.order.retry, failed)
    if (decision.kind === 'retry') {
      return { ...base, meta: { ...meta, retryAt: decision.at }, final: false }
    }
  }
  return { ...base, meta, final: true }
}

/** What the body has emitted and not waited for, when it has ended. */
export function takeEmitted(ready: Outcome[]): Outcome | null {
  const at = ready.findIndex(({ ask, events }) => ask.kind === 'record' && events !== undefined)
  return at < 0 ? null : (ready.splice(at, 1)[0] ?? null)
}
