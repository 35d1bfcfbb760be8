// What a stored journal says about the questions of a run, in the form in which a turn needs it. Pure.
//
// A journal is asks and outcomes. An outcome of a step or a record that stands without a `step.asked` was asked
// for directly before it: the only question of its window. The script is the list of windows: what the body must
// ask, in order, and the outcome that is delivered then. Entries that are no news to the body (a failure that is
// tried again, a mark) shape the state of their question and are not in the script.
//
// Invariants
//   R1. Outcomes are delivered in the order of their numbers, one at a time.
//   R2. In every window but the last the body asks exactly what is recorded; in the last, at least that.

import type { Uid } from '../model/ids.js'
import { shownName } from '../model/ids.js'
import type { Entry, EntryKind, Instant, NewEntry, Stored } from '../model/run.js'
import { INLINE, RECORD } from './asks.js'
import { lastRounds, withoutRounds } from './rounds.js'
import { undoName } from './undos.js'

export type AskKind = 'step' | 'timer' | 'wait' | 'child' | 'record'

/** Name and occurrence as one key. */
export const keyOf = (name: string, occurrence: number): string => `${occurrence} ${name}`

export interface RecordedAsk {
  readonly kind: AskKind
  readonly name: string
  readonly occurrence: number
  /** What it was aimed at; null where that is no part of what is recorded. */
  readonly target: string | null
}

/** What is known of a question from the journal, beyond that it was asked. */
export interface AskHistory {
  /** Recorded failures so far. */
  attempts: number
  /** What the last of them has left. */
  kept: Stored | null
  retryAt: Instant | null
  /** Re-opened by hand: one execution, whatever the policy says. */
  manual: boolean
  dueAt: Instant | null
  /** When it was first asked for. */
  askedAt: Instant | null
  childUid: Uid | null
  /** The entry that last concerned it, for "since" and for what must be durable before it goes on. */
  seq: number
}

export interface Window {
  readonly asks: readonly RecordedAsk[]
  /** null in the last one. */
  readonly outcome: Entry | null
}

/** A run that was told to stop: what stopped it, and what was written down after that. */
export interface Stopped {
  readonly entry: Entry
  readonly after: readonly Entry[]
}

export interface Script {
  readonly stopping: Stopped | null
  /** Entries that belong to rounds which have ended. */
  readonly behind: number
  /** Per loop, the last round that has ended. */
  readonly rounds: ReadonlyMap<string, number>
  /** The undos that are open, oldest first. */
  readonly undoable: readonly string[]
  /** Something was undone. */
  readonly undone: boolean
  readonly windows: readonly Window[]
  readonly asks: ReadonlyMap<string, AskHistory>
  /** The entry that first has it. */
  readonly marks: ReadonlyMap<string, number>
  /** Children that have been started and not ended, newest last. */
  readonly openChildren: readonly Uid[]
  /** For people: the last finished step, and how many there are. */
  readonly lastStep: string
  readonly stepsDone: number
}

const ASK_OF: Partial<Record<EntryKind, AskKind>> = {
  'step.asked': 'step',
  'timer.set': 'timer',
  'wait.opened': 'wait',
  'child.started': 'child',
}
const OUTCOME_OF: Partial<Record<EntryKind, AskKind>> = {
  'step.completed': 'step',
  'step.failed': 'step',
  'timer.fired': 'timer',
  'message.taken': 'wait',
  'wait.withdrawn': 'wait',
  'child.ended': 'child',
  record: 'record',
  'scope.ended': 'record',
  'round.ended': 'record',
  'undo.completed': 'step',
  'undo.failed': 'step',
}

export function readScript(journal: readonly Entry[]): Script {
  const asks = new Map<string, AskHistory>()
  const marks = new Map<string, number>()
  const windows: Window[] = []
  const children = new Set<Uid>()
  let open: RecordedAsk[] = []
  let lastStep = ''
  let stepsDone = 0

  const kept = withoutReopened(journal, asks)
  const rounds = lastRounds(kept)
  const needed = withoutRounds(kept, rounds)
  // Those that were not loaded are missing from its numbers.
  const unread = (journal.at(-1)?.seq ?? 0) - journal.length
  const behind = kept.length - needed.length + unread
  const { before, stopping } = untilStopping(needed)
  for (const entry of before) {
    if (entry.kind === 'mark' && !marks.has(entry.name)) marks.set(entry.name, entry.seq)
    const key = keyOf(entry.name, entry.occurrence)
    const asked = ASK_OF[entry.kind]
    const answered = OUTCOME_OF[entry.kind]
    if (!asked && !answered) continue

    const known = asks.get(key)
    const history = known ?? newHistory()
    if (!known) asks.set(key, history)
    // What the last round left is asked for where the loop begins, whatever else goes on beside it.
    const isQuestion = !known?.seq && entry.kind !== 'round.ended'
    if (isQuestion) open.push(recordedAsk(entry, asked ?? answered ?? 'step'))
    history.seq = entry.seq
    note(entry, history, children)
    noteChildren(entry, children)
    if (!answered || entry.meta?.retryAt !== undefined) continue

    windows.push({ asks: open, outcome: entry })
    open = []
    if (entry.kind === 'step.completed' || entry.kind === 'child.ended') {
      lastStep = shownName(entry.name, entry.occurrence)
      stepsDone += 1
    }
  }
  windows.push({ asks: open, outcome: null })
  const openChildren = [...children]
  const undoable = openUndos(needed)
  const undone = needed.some(({ kind }) => kind === 'undo.completed')
  return {
    windows,
    asks,
    marks,
    openChildren,
    lastStep,
    stepsDone,
    stopping,
    rounds,
    behind,
    undoable,
    undone,
  }
}

function newHistory(): AskHistory {
  return {
    attempts: 0,
    kept: null,
    retryAt: null,
    manual: false,
    dueAt: null,
    askedAt: null,
    childUid: null,
    seq: 0,
  }
}

function recordedAsk(entry: Entry, asked: AskKind): RecordedAsk {
  const isOutcome = entry.kind === 'step.completed' || entry.kind === 'step.failed'
  const target = entry.meta?.target ?? (isOutcome ? INLINE : null)
  const kind = asked === 'step' && target === RECORD ? 'record' : asked
  return { kind, name: entry.name, occurrence: entry.occurrence, target }
}

/** What an answer says of children that steps have started. */
export function noteChildren({ kind, meta }: NewEntry, children: Set<Uid>): void {
  if (meta === null) return
  if (kind === 'step.completed' && meta.uid) children.add(meta.uid)
  else if (kind === 'message.taken' && meta.uid) children.delete(meta.uid)
  else if (kind === 'round.ended') for (const uid of meta.children ?? []) children.add(uid)
}

function note(entry: Entry, history: AskHistory, children: Set<Uid>): void {
  const meta = entry.meta
  switch (entry.kind) {
    case 'timer.set':
    case 'wait.opened':
      history.dueAt = meta?.dueAt ?? null
      history.askedAt = entry.at
      break
    case 'step.failed':
    case 'undo.failed':
      // Of a run that was re-opened, what the last attempt has left is known already: this is an earlier one.
      if (entry.attempt >= history.attempts) history.kept = meta?.kept ?? null
      history.attempts = Math.max(history.attempts, entry.attempt)
      history.retryAt = meta?.retryAt ?? null
      break
    case 'child.started':
      history.childUid = meta?.uid ?? null
      history.retryAt = null
      if (meta?.uid) children.add(meta.uid)
      break
    case 'child.ended':
      history.attempts = Math.max(history.attempts, entry.attempt)
      history.retryAt = meta?.retryAt ?? null
      if (meta?.uid) children.delete(meta.uid)
      break
    default:
      break
  }
}

/**
 * Re-opening forgets the failure that ended the run and everything that was asked after it; outcomes of questions
 * asked before it stay, but for failures that came of the end of a scope around it. A run whose body threw by itself forgets only its end. Children that were open were told to
 * stop by that end: they are started anew, except the one that was re-opened with the run.
 */
function withoutReopened(journal: readonly Entry[], asks: Map<string, AskHistory>): Entry[] {
  let kept: Entry[] = []
  for (const entry of journal) {
    if (entry.kind !== 'run.reopened') {
      kept.push(entry)
      continue
    }
    kept = kept.filter((e) => e.kind !== 'run.failed')
    const { name, occurrence, uid } = entry.meta ?? {}
    if (name === undefined || occurrence === undefined) {
      kept = withoutStopped(kept, null)
      continue
    }
    const key = keyOf(name, occurrence)
    const failedAt = kept.findLastIndex(
      (e) => isFinalFailure(e) && keyOf(e.name, e.occurrence) === key,
    )
    if (failedAt < 0) {
      kept = withoutStopped(kept, null)
      continue
    }
    const failed = kept[failedAt]
    const [before, behind] = [kept.slice(0, failedAt), kept.slice(failedAt + 1)]
    const isLeft = leftBy(behind)
    for (const left of failed ? [failed, ...behind.filter(isLeft)] : []) tryAgain(left, asks)
    const askedBefore = new Set(before.map((e) => keyOf(e.name, e.occurrence)))
    kept = before.concat(
      behind.filter((e) => askedBefore.has(keyOf(e.name, e.occurrence)) && !isLeft(e)),
    )
    // Asked for directly before its failure: the question itself must stay in its window.
    if (!askedBefore.has(key) && failed && failed.kind !== 'child.ended') {
      kept.splice(failedAt, 0, {
        ...failed,
        kind: 'step.asked',
        attempt: 0,
        meta: failed.kind === 'step.failed' ? { target: failed.meta?.target ?? INLINE } : null,
        payload: null,
      })
    }
    kept = withoutStopped(kept, uid ?? null)
  }
  return kept
}

/** What failed because the failure had ended its scope, or while it did: the scope is open again, and so is this. */
function leftBy(behind: readonly Entry[]): (entry: Entry) => boolean {
  const ends = behind.filter(({ kind }) => kind === 'scope.ended')
  const inside = ends.map(({ name, occurrence }) => `${shownName(name, occurrence)}/`)
  return (entry) => isFinalFailure(entry) && inside.some((scope) => entry.name.startsWith(scope))
}

function tryAgain({ name, occurrence, attempt, meta }: Entry, asks: Map<string, AskHistory>): void {
  const history = asks.get(keyOf(name, occurrence)) ?? newHistory()
  history.manual = true
  history.attempts = attempt
  history.kept = meta?.kept ?? null
  asks.set(keyOf(name, occurrence), history)
}

/**
 * What is behind a run that is re-opened: what was so before the failure that is forgotten. `newest`: the end of its
 * journal, newest first. If the failure or the end of a round is further away, nothing is, and all of it is read.
 */
export function behindReopened(
  newest: readonly Entry[],
  failed: { readonly name: string; readonly occurrence: number } | null,
): readonly number[] {
  const isIt = (e: Entry): boolean =>
    isFinalFailure(e) && e.name === failed?.name && e.occurrence === failed.occurrence
  const at = failed ? newest.findIndex(isIt) : 0
  if (at < 0) return []
  const before = newest.slice(at)
  const said = before.find(({ kind }) => kind === 'round.ended' || kind === 'run.reopened')
  return said?.meta?.behind ?? []
}

/** The questions of open children stay, the children are forgotten. */
function withoutStopped(kept: Entry[], reopened: Uid | null): Entry[] {
  const ended = new Set(kept.flatMap((e) => (e.kind === 'child.ended' ? [e.meta?.uid] : [])))
  return kept.map((entry) => {
    const { uid, ...rest } = entry.meta ?? {}
    const stays = entry.kind !== 'child.started' || ended.has(uid) || uid === reopened
    return stays ? entry : { ...entry, meta: rest }
  })
}

export function isFinalFailure(entry: Entry): boolean {
  if (entry.meta?.retryAt !== undefined) return false
  if (entry.kind === 'step.failed' || entry.kind === 'undo.failed') return true
  return entry.kind === 'child.ended' && entry.meta?.status !== 'completed'
}

/** From here on the body is not driven: it was told to stop. */
function untilStopping(entries: readonly Entry[]): {
  readonly before: readonly Entry[]
  readonly stopping: Stopped | null
} {
  const at = entries.findIndex(({ kind }) => kind === 'run.stopping')
  const entry = entries[at]
  if (!entry) return { before: entries, stopping: null }
  return { before: entries.slice(0, at), stopping: { entry, after: entries.slice(at + 1) } }
}

function openUndos(entries: readonly Entry[]): readonly string[] {
  const open = new Set<string>()
  for (const { kind, name, occurrence, meta } of entries) {
    if (meta?.undoable) open.add(undoName(name, occurrence))
    else if (kind === 'undo.completed') open.delete(name)
  }
  return [...open]
}
