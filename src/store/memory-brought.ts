// Turns that bring their own messages, in the store in memory: as bring_v2 (0018_folded.sql).

import type { Brings, Fence, TurnDelta, Worker } from '../kernel/store.js'
import { CRASHES_SUSPECT } from '../model/limits.js'
import type { Instant } from '../model/run.js'
import { type MemoryRun, placeOf } from './memory-run.js'
import { isBroughtWhole } from './pack-brought.js'

interface Bringer {
  readonly by: Worker
  /** It has not left, and nobody took it for dead. */
  readonly isMember: boolean
  readonly now: Instant
  readonly mailboxMax: number
}

/** The messages are in the mailbox and the run is its last owner's again; false: it is not where it was left. */
export function bring(
  row: MemoryRun | undefined,
  delta: TurnDelta,
  { by, now, isMember, mailboxMax }: Bringer,
): boolean {
  const { fence, brings, notBefore, next } = delta
  if (!isMember && (next.kind === 'go' || !isBroughtWhole(delta))) return false
  if (!row || !brings || fence.owner !== by.id || !isAtRest(row, fence, brings, now)) return false
  if (notBefore !== null && notBefore > now) return false
  const { inbox, messages } = brings
  const isKnown = messages.some(({ id }) => row.messages.some((known) => known.id === id))
  if (!brings.areNew && isKnown) return false
  if (new Set(messages.map(({ id }) => id)).size < messages.length) return false
  if (inbox - row.taken + messages.length > mailboxMax) return false
  for (const [i, message] of messages.entries()) {
    const mark = { takenSeq: null, replySeq: null }
    row.messages.push({ ...message, no: inbox + i + 1, at: now, ...mark })
  }
  row.inbox += messages.length
  row.owner = fence.owner
  row.status = 'running'
  row.reason = null
  row.dueAt = null
  return true
}

/** An earlier sending could still be stored (0018, F5). */
export function isAsLeft(row: MemoryRun, delta: TurnDelta): boolean {
  const { fence, brings } = delta
  const { epoch, seq } = fence
  if (row.epoch !== epoch || row.journal.length !== seq || row.inbox !== brings?.inbox) return false
  return row.owner === null && isBroughtWhole(delta)
}

function isAtRest(row: MemoryRun, { epoch, seq }: Fence, { inbox }: Brings, now: Instant): boolean {
  if (row.epoch !== epoch || row.journal.length !== seq || row.inbox !== inbox) return false
  const { owner, stop, finishedAt, slot, divergedBuilds, crashes } = row
  if (owner !== null || stop !== null || finishedAt !== null || slot !== null) return false
  if (divergedBuilds.length > 0 || crashes >= CRASHES_SUSPECT) return false
  return [row.dueAt, row.deadlineAt].every((at) => at === null || at > now)
}

/** An earlier sending has stored it. */
export function isBrought(
  row: MemoryRun | undefined,
  { fence, entries, brings }: TurnDelta,
): boolean {
  if (!row || !brings) return false
  if (entries.length === 0)
    return row.messages[placeOf(row, brings.inbox + 1)]?.id === brings.messages[0]?.id
  return row.journal[fence.seq + entries.length - 1]?.epoch === fence.epoch
}
