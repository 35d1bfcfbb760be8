// How a run ends, and whom that concerns.

import { encodeError } from '../model/error-record.js'
import { workerCrashed, workflowCancelled, workflowTimedOut } from '../model/errors.js'
import type { MessageId, Uid } from '../model/ids.js'
import type { Failure } from '../model/program.js'
import type {
  FinalStatus,
  Instant,
  Message,
  NewEntry,
  RunFacts,
  Stop,
  Stored,
} from '../model/run.js'
import type { BodyEnd } from './conversation.js'
import type { HeldRun } from './held-run.js'
import type { TurnDelta } from './store.js'

export type StopCause =
  | {
      readonly kind: 'cancel'
      readonly reason: string
      readonly inside: boolean
      readonly message: Message | null
      /** Nothing is undone. */
      readonly force: boolean
    }
  | { readonly kind: 'deadline'; readonly deadlineAt: Instant }
  | { readonly kind: 'crashes'; readonly crashes: number }
  /** The body has failed, and there is something to undo. */
  | { readonly kind: 'failed'; readonly failure: Failure }

export type End =
  | { readonly kind: 'completed'; readonly output: Stored }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'stopped'; readonly cause: StopCause }
  /** It is to fail when it has been undone: by a frame that begins from the journal. */
  | { readonly kind: 'anew'; readonly failure: Failure }

export function endOf(end: BodyEnd): End {
  return 'failure' in end
    ? { kind: 'failed', failure: end.failure }
    : { kind: 'completed', output: end.output }
}

/** A cancel that has been accepted comes before a deadline that has passed. */
export function reasonToStop(frame: HeldRun): StopCause | null {
  const { cancel } = frame.mail
  const deadlineAt = deadlineOf(frame)
  if (cancel) {
    const reason = cancel.meta?.reason ?? ''
    return {
      kind: 'cancel',
      reason,
      inside: false,
      message: cancel,
      force: cancel.meta?.force ?? false,
    }
  }
  return deadlineAt !== null && frame.deps.now() >= deadlineAt
    ? { kind: 'deadline', deadlineAt }
    : null
}

/** The earlier of what the run was started with and what its body says now. */
export function deadlineOf({ run, body }: HeldRun): Instant | null {
  const { deadlineAt } = run
  const { expiresAt } = body
  if (deadlineAt === null || expiresAt === null) return deadlineAt ?? expiresAt
  return Math.min(deadlineAt, expiresAt)
}

export interface EndFact {
  readonly entry: NewEntry
  /** null: the end of this frame only. */
  readonly status: FinalStatus | null
  readonly stopSeen: Stop | null
  /** It must not be stored before this. */
  readonly notBefore: Instant | null
  /** The number of the message that asked for it. */
  readonly taken: number | null
  /** For AbortSignals. */
  readonly error: Error
}

const OVER = new Error('the run has ended')
const BY_ITSELF = { stopSeen: null, notBefore: null, taken: null, error: OVER }

export function endFact(end: End, run: RunFacts, at: Instant): EndFact {
  if (end.kind === 'completed') return completedFact(end.output, at)
  const base = { name: '', occurrence: 0, attempt: 0, at, meta: null }
  switch (end.kind) {
    case 'failed':
      return failedFact(end.failure, base)
    case 'stopped':
      return stopEntry(end.cause, run, base)
    case 'anew': {
      const { entry } = failedFact(end.failure, base)
      return { ...BY_ITSELF, entry: stoppingEntry(entry, 'failed'), status: null }
    }
  }
}

/** That the run will end so, when it has been undone. */
export function stoppingEntry({ at, meta, payload }: NewEntry, cause: StopCause['kind']): NewEntry {
  const kind = cause === 'crashes' ? 'failed' : cause
  const why = { ...meta, cause: kind }
  return { kind: 'run.stopping', name: '', occurrence: 0, attempt: 0, at, meta: why, payload }
}

/** One is made for every run: no spreading. */
function completedFact(payload: Stored, at: Instant): EndFact {
  const kind = 'run.completed'
  const entry: NewEntry = { kind, name: '', occurrence: 0, attempt: 0, at, meta: null, payload }
  return {
    entry,
    status: 'completed',
    stopSeen: null,
    notBefore: null,
    taken: null,
    error: OVER,
  }
}

function stopEntry(
  cause: StopCause,
  run: RunFacts,
  base: Omit<NewEntry, 'kind' | 'payload'>,
): EndFact {
  switch (cause.kind) {
    case 'failed':
      return failedFact(cause.failure, base)
    case 'cancel': {
      const error = workflowCancelled(run.id, cause.reason)
      const payload = encodeError(error, 'a cancelled run')
      const entry: NewEntry = {
        ...base,
        kind: 'run.cancelled',
        payload,
        meta: { reason: cause.reason },
      }
      const taken = cause.message?.no ?? null
      return { entry, status: 'cancelled', stopSeen: 'cancel', notBefore: null, taken, error }
    }
    case 'deadline': {
      const error = workflowTimedOut(run.id, cause.deadlineAt - run.createdAt)
      const payload = encodeError(error, 'a timed out run')
      const meta = { dueAt: cause.deadlineAt }
      const entry: NewEntry = { ...base, kind: 'run.timed_out', payload, meta }
      return { ...BY_ITSELF, entry, status: 'timed_out', notBefore: cause.deadlineAt, error }
    }
    case 'crashes': {
      const error = workerCrashed(run.id, cause.crashes)
      const payload = encodeError(error, 'a crashed run')
      const meta = { reason: 'WORKER_CRASHED' }
      const entry: NewEntry = { ...base, kind: 'run.failed', payload, meta }
      return { ...BY_ITSELF, entry, status: 'failed', error }
    }
  }
}

function failedFact(failure: Failure, base: Omit<NewEntry, 'kind' | 'payload'>): EndFact {
  const { question, retryAfterMs } = failure
  const meta = retryAfterMs === null ? question : { ...question, retryAfterMs }
  const entry: NewEntry = { ...base, kind: 'run.failed', payload: failure.error, meta }
  return { ...BY_ITSELF, entry, status: 'failed' }
}

/** What a person asks of a run that did not end well: was anything undone, was anything left? */
export function withUndos(fact: EndFact, frame: HeldRun, end: End): EndFact {
  const { undos } = frame.body
  const isForced = end.kind === 'stopped' && end.cause.kind === 'cancel' && end.cause.force
  const { script } = frame.body.history
  // Of a body that was not driven the journal tells; ended by crashes, what is open can be retried.
  const open = frame.body.begun ? undos.openNames : script.undoable
  const someDone = frame.body.begun ? undos.someDone : script.undone && open.length === 0
  const skipped = isForced ? open : []
  const isWithout = !someDone && skipped.length === 0
  if (fact.status === 'completed' || fact.status === null || isWithout) return fact
  // One that failed for good can be retried: the rest is undone then.
  const isUndone = someDone && !(end.kind === 'failed' && end.failure.isFinal)
  const meta = {
    ...fact.entry.meta,
    ...(isUndone ? { undone: true } : {}),
    ...(skipped.length > 0 ? { skipped } : {}),
  }
  return { ...fact, entry: { ...fact.entry, meta } }
}

/** The id of the message by which a run tells its children to stop: told twice, they hear it once. */
export const toldByParent = ({ uid }: RunFacts): MessageId => `cancel:${uid}` as MessageId

/** Children that were told to stop by messages which are never stored have not heard of it: the end tells them. */
export function tellAtEnd({ run, body }: HeldRun, unsent: TurnDelta['messages']): void {
  for (const { to, message } of unsent) if (message.id === toldByParent(run)) body.children.add(to)
}

/** Open children are told to stop, the parent hears of the end: in the commit that ends the run. */
export function endMessages(
  frame: HeldRun,
  entry: NewEntry,
  status: FinalStatus | null,
): TurnDelta['messages'] {
  if (status === null) return []
  const { run, deps, attempt } = frame
  const messages: TurnDelta['messages'][number][] = []
  if (!deps.defects.has('forget-children')) {
    for (const to of openChildren(frame)) {
      const id = toldByParent(run)
      const meta = { reason: `its parent ${run.id} has ended` }
      const message = { id, kind: 'cancel', name: '', meta, payload: null } as const
      messages.push({ to, message, claim: false })
    }
  }
  if (run.parentUid) {
    const id = `child:${run.uid}:${attempt}` as MessageId
    const { retryAfterMs } = entry.meta ?? {}
    const later = retryAfterMs === undefined ? {} : { retryAfterMs }
    const meta = { uid: run.uid, status, ...later }
    const message = { id, kind: 'child', name: '', meta, payload: entry.payload } as const
    messages.push({ to: run.parentUid, message, claim: false })
  }
  return messages
}

/** From the open questions; of a run whose body was not driven, from its journal. */
function openChildren(frame: HeldRun): readonly Uid[] {
  if (!frame.body.begun) return frame.body.history.script.openChildren
  return [...new Set([...frame.questions.children(), ...frame.body.children])]
}
