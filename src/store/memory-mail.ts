// The mail of a commit, after all turns and starts of it: numbered, refused or known, then the runs are woken.

import type { Answer, Claimed, Worker } from '../kernel/store.js'
import { CRASHES_SUSPECT } from '../model/limits.js'
import { type Instant, isFinal, type NewMessage } from '../model/run.js'
import { hasCode, type MemoryRun, own, setDue } from './memory-run.js'

export interface Letter {
  readonly row: MemoryRun | undefined
  readonly message: NewMessage
  readonly claim: boolean
  /** Not of a turn. */
  readonly isCallers: boolean
}

export interface MailOptions {
  readonly by: Worker
  readonly now: Instant
  readonly mailboxMax: number
  /** For tests of the tests. */
  readonly forgetsIds: boolean
  readonly writesToFinal: boolean
}

type Refusal = Extract<Answer, { kind: 'refused' }>['code']
export type Fate = Refusal | { readonly no: number; readonly isKnown: boolean }

/** Per letter its number, or why it was refused; and the runs that were taken. */
export function deliver(
  letters: readonly Letter[],
  options: MailOptions,
): { readonly fates: readonly Fate[]; readonly claimed: Claimed[]; readonly isAsking: boolean } {
  const woken = new Map<MemoryRun, { cancel: boolean; force: boolean; claim: boolean }>()
  const fates = letters.map((letter) => {
    const { row, message } = letter
    const fate = accept(letter, options)
    if (row && typeof fate === 'object' && !fate.isKnown) {
      const how = woken.get(row) ?? { cancel: false, force: false, claim: false }
      how.cancel ||= message.kind === 'cancel'
      how.force ||= message.kind === 'cancel' && message.name === 'force'
      how.claim ||= letter.claim
      woken.set(row, how)
    }
    return fate
  })
  const claimed: Claimed[] = []
  for (const [row, how] of woken) {
    const taken = wake(row, how, options)
    if (taken) claimed.push(taken)
  }
  const isAsking = [...woken.keys()].some(({ slot }) => slot === false)
  return { fates, claimed, isAsking }
}

/**
 * Known ids come first (they change nothing, whatever became of the run), then the state of the run, then the limit,
 * which is for callers' signals only: a cancel and a child's result must not be lost.
 */
function accept({ row, message, isCallers }: Letter, options: MailOptions): Fate {
  if (!row) return 'RUN_NOT_FOUND'
  const known = row.messages.find((one) => one.id === message.id)
  if (known && !options.forgetsIds) return { no: known.no, isKnown: true }
  if (isFinal(row.status) && !options.writesToFinal) return 'RUN_FINISHED'
  const isFull = row.inbox - row.taken >= options.mailboxMax
  const isLimited = message.kind === 'signal' || message.kind === 'trigger'
  if (isFull && isCallers && isLimited) return 'MAILBOX_FULL'
  row.inbox += 1
  row.messages.push({ ...message, no: row.inbox, at: options.now, takenSeq: null, replySeq: null })
  return { no: row.inbox, isKnown: false }
}

/** Whoever makes a run runnable may take it in the same commit. */
function wake(
  row: MemoryRun,
  {
    cancel,
    force,
    claim,
  }: { readonly cancel: boolean; readonly force: boolean; readonly claim: boolean },
  { by, now }: MailOptions,
): Claimed | null {
  if (cancel) row.stop = 'cancel'
  if (force) row.undoOpen = 0
  if (row.owner !== null) return null
  const isCancelled = row.stop === 'cancel'
  const isDue = row.dueAt !== null && row.dueAt <= now
  const isRunnable =
    row.stop !== 'pause' &&
    (isCancelled || ((row.status === 'waiting' || isDue) && row.slot !== false)) &&
    !row.divergedBuilds.includes(by.build) &&
    hasCode(by, row)
  const needsNoCode = isCancelled && row.undoOpen === 0
  if (claim && row.crashes < CRASHES_SUSPECT && (needsNoCode || isRunnable)) {
    return own(row, by, now)
  }
  if (isCancelled || (row.stop === null && row.status === 'waiting')) {
    setDue(row, Math.min(row.dueAt ?? row.asksAt ?? now, now))
  }
  return null
}
