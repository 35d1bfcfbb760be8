// After a commit: what it has made runnable begins, what it has sent arrives, and whoever else may be waiting is
// told.

import type { Uid } from '../model/ids.js'
import type { Instant, Message, NewEntry } from '../model/run.js'
import type { Executor } from './execute.js'
import type { Frames } from './frames.js'
import type { DueRun, Hints } from './ports.js'
import type { Committed, Delta, NewRun, StartDelta, Worker } from './store.js'

export interface WakeDeps {
  readonly frames: Frames
  readonly executor: Executor
  readonly hints: Hints
  /** Runs that were given to this incarnation may begin here. */
  mayBegin(by: Worker): boolean
  /** Other processes are there to be told. */
  others(): boolean
  /** The end of a run may have brought others that are due here. */
  readonly endsAreTold: boolean
  /** Something may be due for us. */
  due(): void
  /** Listeners hear that the run exists. */
  started(run: NewRun, now: Instant): void
}

/** Entry 1 of every run: what it was started with. */
export function createdEntry(run: NewRun, at: Instant): NewEntry {
  const meta = run.order ? { order: run.order } : null
  const payload = run.input
  return { kind: 'run.created', name: '', occurrence: 0, attempt: 0, at, meta, payload }
}

/** To be called when the answers of the batch have been told: a parent that parks in it is kept before it is taken. */
export function wake(
  deps: WakeDeps,
  deltas: readonly Delta[],
  committed: Committed,
  by: Worker,
): void {
  const inHand = sent(deltas, committed)
  deliver(deps, inHand)
  const mayBegin = deps.mayBegin(by)
  if (mayBegin) deps.executor.take(committed.claimed, inHand)
  for (let i = 0; i < deltas.length; i += 1) {
    const answer = committed.answers[i]
    if (answer?.kind !== 'done') continue
    for (const start of startsOf(deltas[i])) {
      deps.started(start.run, committed.now)
      // Stored by an earlier sending: if it is still ours, it is adopted.
      if (answer.repeated || !mayBegin) continue
      if (start.claim) deps.executor.begin(start.run, committed.now)
      else if (start.run.limits) deps.executor.remember(start.run)
    }
  }
  hint(deps, deltas, committed)
}

/** The messages that callers of this process have sent, with the numbers they got. */
function sent(deltas: readonly Delta[], committed: Committed): ReadonlyMap<Uid, Message[]> {
  const byRun = new Map<Uid, Message[]>()
  for (let i = 0; i < deltas.length; i += 1) {
    const answer = committed.answers[i]
    const delta = deltas[i]
    if (delta?.kind !== 'message' || answer?.kind !== 'done' || answer.repeated) continue
    const message = { ...delta.message, no: answer.messageNo, at: committed.now }
    byRun.set(answer.uid, [...(byRun.get(answer.uid) ?? []), message])
  }
  return byRun
}

/** Messages to runs that are here reach them without a question to the database, unless one in between is missing. */
function deliver(deps: WakeDeps, inHand: ReadonlyMap<Uid, readonly Message[]>): void {
  for (const [uid, messages] of inHand) {
    const frame = deps.frames.active.get(uid)
    if (!frame?.active) continue
    if (frame.mail.fits(messages)) frame.hear(messages)
    else deps.executor.loadMail(frame)
  }
}

const NONE: readonly StartDelta[] = []

function startsOf(delta: Delta | undefined): readonly StartDelta[] {
  return delta?.kind === 'start' ? [delta] : delta?.kind === 'turn' ? delta.starts : NONE
}

function hint(deps: WakeDeps, deltas: readonly Delta[], committed: Committed): void {
  const started: DueRun[] = []
  let sent = false
  let ended = false
  for (let i = 0; i < deltas.length; i += 1) {
    const delta = deltas[i]
    if (!delta || committed.answers[i]?.kind !== 'done') continue
    for (const { claim, run } of startsOf(delta)) {
      if (!claim && !run.limits) started.push({ run, seq: 1, inMs: run.delayMs })
    }
    sent ||= delta.kind === 'message'
    if (delta.kind !== 'turn') continue
    sent ||= delta.messages.length > 0
    // One that is given back goes on elsewhere at once.
    sent ||= delta.next.kind === 'release'
    ended ||= delta.next.kind === 'end'
  }
  sent ||= ended && deps.endsAreTold
  if (sent || started.length > 0) deps.due()
  if (!deps.others()) return
  const { hints } = deps
  hints.wake?.([...started, ...timers(deps, deltas, committed)])
  // Whoever sends does not know whose code it is for: all are told.
  if (sent || (started.length > 0 && !hints.wake)) hints.publish({ kind: 'due', definition: null })
  if (ended) hints.publish({ kind: 'ended' })
}

/** The runs that have parked until a time. */
function timers(deps: WakeDeps, deltas: readonly Delta[], committed: Committed): DueRun[] {
  return deltas.flatMap((delta, i) => {
    if (delta.kind !== 'turn' || committed.answers[i]?.kind !== 'done') return []
    const { fence, next } = delta
    if (next.kind !== 'park' || next.dueAt === null) return []
    const run = deps.frames.parked(fence.uid)
    if (run === null) return []
    const inMs = Math.max(0, next.dueAt - committed.now)
    return [{ run, seq: fence.seq + delta.entries.length, inMs }]
  })
}
