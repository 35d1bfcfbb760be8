// A run of the store in memory: its row, its journal, its mailbox, and what can be said of it.

import type { Claimed, NewRun, RunView, Worker } from '../kernel/store.js'
import type { Uid, WorkerId } from '../model/ids.js'
import {
  type Entry,
  type Instant,
  isFinal,
  type Message,
  type NewDocument,
  type Status,
  type Stop,
  type Stored,
  type StoredReason,
} from '../model/run.js'

/** A row of `runs`, with its journal and its mailbox. */
export interface MemoryRun {
  readonly uid: Uid
  run: NewRun
  version: string | null
  status: Status
  reason: StoredReason | null
  stop: Stop | null
  undoOpen: number
  state: Stored | null
  place: string | null
  error: Stored | null
  readonly documents: MemoryDocument[]
  owner: WorkerId | null
  dueAt: Instant | null
  /** As in 0006_limits.sql. */
  slot: boolean | null
  asksAt: Instant | null
  epoch: number
  attempt: number
  crashes: number
  inbox: number
  taken: number
  divergedBuilds: string[]
  readonly createdAt: Instant
  updatedAt: Instant
  startedAt: Instant | null
  finishedAt: Instant | null
  deadlineAt: Instant | null
  readonly journal: (Entry & { readonly epoch: number })[]
  readonly messages: (Message & { takenSeq: number | null; replySeq: number | null })[]
}

/** A row of `documents`. */
export interface MemoryDocument extends NewDocument {
  readonly seq: number
  untilSeq: number | null
}

export const idKey = (workspace: string, id: string): string => `${workspace}\u001f${id}`

export function hasCode(by: Worker, row: MemoryRun): boolean {
  return by.definitions.some(
    ({ name, version }) =>
      name === row.run.definition && (row.version === null || row.version === version),
  )
}

export function versionFor(by: Worker, definition: string): string | null {
  return by.definitions.find(({ name }) => name === definition)?.version ?? null
}

/** An entry without the epoch that wrote it. */
export function entryOf({ epoch: _, ...entry }: MemoryRun['journal'][number]): Entry {
  return entry
}

/** Where the message with this number is; -1: it was forgotten when it was taken (Brings.reactions). */
export function placeOf({ messages }: MemoryRun, no: number): number {
  let at = Math.min(no, messages.length) - 1
  while ((messages[at]?.no ?? 0) > no) at -= 1
  return messages[at]?.no === no ? at : -1
}

/** The highest number of a message that is not in the mailbox any more. */
export function lastTaken({ messages, inbox }: MemoryRun): number {
  let last = inbox
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at]
    if (message?.no !== last || message.takenSeq !== null) break
    last -= 1
  }
  return last
}

export function messageOf({
  takenSeq: _,
  replySeq: __,
  ...message
}: MemoryRun['messages'][number]): Message {
  return message
}

/** Claimed by `by`, under the next epoch. */
export function own(row: MemoryRun, by: Worker, now: Instant): Claimed {
  row.owner = by.id
  row.epoch += 1
  row.dueAt = null
  row.asksAt = null
  row.status = 'running'
  row.reason = null
  row.updatedAt = now
  row.startedAt ??= now
  row.version ??= versionFor(by, row.run.definition)
  return claimedOf(row)
}

/** Given back: due at once, a paused one at rest. */
export function release(row: MemoryRun, now: Instant): void {
  const isPaused = row.stop === 'pause'
  row.owner = null
  if (isPaused && row.slot) row.slot = false
  setDue(row, isPaused ? null : now)
  row.status = row.journal.length === 1 && !isPaused ? 'pending' : 'waiting'
  row.reason = isPaused ? 'paused' : null
  row.updatedAt = now
}

/** Due then; without a slot it asks for one then. What is to be cancelled needs none. */
export function setDue(row: MemoryRun, at: Instant | null): void {
  const asks = row.slot === false && row.stop !== 'cancel'
  row.dueAt = asks ? null : at
  row.asksAt = asks ? at : null
}

export function claimedOf(row: MemoryRun): Claimed {
  const { uid, epoch, inbox, stop, crashes, attempt, version, createdAt, deadlineAt } = row
  const { id, workspace, definition, tags, parent } = row.run
  return {
    uid,
    epoch,
    seq: row.journal.length,
    inbox,
    stop,
    crashes,
    attempt,
    id,
    workspace,
    definition,
    version,
    tags,
    parentUid: parent?.uid ?? null,
    parentId: parent?.id ?? null,
    createdAt,
    startedAt: row.startedAt ?? createdAt,
    deadlineAt,
  }
}

export function viewOf(row: MemoryRun): RunView {
  const { version, status, reason, stop, slot, owner, attempt, crashes, undoOpen } = row
  const dueAt = row.dueAt ?? row.asksAt
  const limits = slot === null ? null : (row.run.limits ?? null)
  const { state: shown, place, error } = row
  const { uid, createdAt, updatedAt, startedAt, finishedAt, deadlineAt } = row
  const { id, workspace, definition, tags, input, parent } = row.run
  const last = row.journal.at(-1)
  const end = isFinal(status) && last ? entryOf(last) : null
  const family = { parentUid: parent?.uid ?? null, parentId: parent?.id ?? null }
  const times = { createdAt, updatedAt, startedAt, finishedAt, deadlineAt }
  const seq = row.journal.length
  const state = {
    status,
    reason,
    stop,
    dueAt,
    slot,
    limits,
    owner,
    attempt,
    crashes,
    undoOpen,
    seq,
    state: shown,
    place,
    error,
  }
  const names = { uid, id, workspace, definition, version, tags, input }
  return { ...names, ...family, ...times, ...state, end }
}

/** Its journal without what the last end of a round, or the last re-opening, says is behind. */
export function neededOf({ journal }: MemoryRun): MemoryRun['journal'] {
  const said = journal.findLast(({ kind }) => kind === 'round.ended' || kind === 'run.reopened')
  // Between every first and second of these something is needed.
  const bounds = [0, ...(said?.meta?.behind ?? []), journal.length + 1]
  return bounds.flatMap((bound, i) =>
    i % 2 === 0 ? journal.slice(bound, (bounds[i + 1] ?? 1) - 1) : [],
  )
}
