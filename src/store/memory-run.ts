// A run of the store in memory: its row, its journal, its mailbox, and what can be said of it.

import type { Claimed, NewRun, RunView, Worker } from '../kernel/store.js'
import type { Uid, WorkerId } from '../model/ids.js'
import { CRASHES_MAX } from '../model/limits.js'
import {
  type Entry,
  type Instant,
  isFinal,
  type Message,
  type Status,
  type Stop,
  type StoredReason,
} from '../model/run.js'

/** A row of `runs`, with its journal and its mailbox. */
export interface MemoryRun {
  readonly uid: Uid
  readonly run: NewRun
  version: string | null
  status: Status
  reason: StoredReason | null
  stop: Stop | null
  owner: WorkerId | null
  dueAt: Instant | null
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
  readonly deadlineAt: Instant | null
  readonly journal: (Entry & { readonly epoch: number })[]
  readonly messages: (Message & { takenSeq: number | null })[]
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

export function needsNoCode(row: MemoryRun, now: Instant): boolean {
  if (row.stop === 'cancel' || row.crashes >= CRASHES_MAX) return true
  return row.deadlineAt !== null && row.deadlineAt <= now
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
  const { version, status, reason, stop, dueAt, owner, attempt, crashes } = row
  const { uid, createdAt, updatedAt, startedAt, finishedAt, deadlineAt } = row
  const { id, workspace, definition, tags, input, parent } = row.run
  const end = isFinal(status) ? (row.journal.at(-1) ?? null) : null
  const family = { parentUid: parent?.uid ?? null, parentId: parent?.id ?? null }
  const times = { createdAt, updatedAt, startedAt, finishedAt, deadlineAt }
  const state = { status, reason, stop, dueAt, owner, attempt, crashes, seq: row.journal.length }
  const names = { uid, id, workspace, definition, version, tags, input }
  return { ...names, ...family, ...times, ...state, end }
}
