// Sending a batch: one call, divided where a lock holds it up.

import type { Answer, Claimed, Committed, Delta, Worker } from '../kernel/store.js'
import { CRASHES_SUSPECT } from '../model/limits.js'
import type { Row, SqlValue } from './driver.js'
import { isLockTimeout, withRetries } from './errors.js'
import { type CommitQuery, packCommit } from './pack-commit.js'
import { claimedOf, unpackAnswers } from './unpack-answers.js'
import { numberOf, numberOfOrNull, onlyRow, records } from './wire.js'

export interface CommitOptions {
  readonly resent: boolean
  readonly feed: boolean
  readonly mailboxMax: number
  readonly inTransaction: string | null
}

export type Call = (params: readonly SqlValue[], by: CommitQuery) => Promise<readonly Row[]>

/** One call, no second try: for a step's own transaction, which a failed statement has ended. */
export async function commitOnce(
  call: Call,
  by: Worker,
  deltas: readonly Delta[],
  options: CommitOptions & { readonly feedInto: number | null },
): Promise<Committed> {
  const packed = packCommit(by, deltas, { ...options, suspectFrom: CRASHES_SUSPECT })
  const row = onlyRow(await call(packed.params, packed.by))
  return {
    now: numberOf(row, 'now_ms'),
    answers: unpackAnswers(
      { answers: row.answers ?? null, silent: numberOf(row, 'silent') },
      deltas,
      packed.places,
    ),
    claimed: records(row.claimed).map(claimedOf),
    feedId: numberOfOrNull(row, 'feed_row'),
    isAsking: row.is_asking === true,
  }
}

export async function commitBatch(
  call: Call,
  by: Worker,
  deltas: readonly Delta[],
  options: CommitOptions,
): Promise<Committed> {
  try {
    const once = () => commitOnce(call, by, deltas, { ...options, feedInto: null })
    return await withRetries(once, 'throw')
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return await commitDivided(call, by, deltas, options)
  }
}

/**
 * Some row or some id is held by another transaction for long. What can wait only for rows goes first; starts under
 * callers' ids, with the messages to them, by themselves. A half that waits is halved again; one delta alone is
 * `busy`. Deltas of a batch share no fate, so the parts may be several transactions; the feed row is one.
 */
async function commitDivided(
  call: Call,
  by: Worker,
  deltas: readonly Delta[],
  options: CommitOptions,
): Promise<Committed> {
  const answers = new Map<Delta, Answer>()
  const claimed: Claimed[] = []
  let now = 0
  let feedId: number | null = null
  let isAsking = false

  const send = async (part: readonly Delta[]): Promise<void> => {
    if (part.length === 0) return
    try {
      const once = () => commitOnce(call, by, part, { ...options, feedInto: feedId })
      const committed = await withRetries(once, 'throw')
      now = committed.now
      feedId = committed.feedId ?? feedId
      isAsking ||= committed.isAsking
      claimed.push(...committed.claimed)
      for (const [i, delta] of part.entries()) answers.set(delta, committed.answers[i] ?? BUSY)
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      const halves = halve(part)
      if (halves === null) for (const delta of part) answers.set(delta, BUSY)
      else for (const half of halves) await send(half)
    }
  }

  const named = new Set(deltas.filter(isNamedStart).map(({ run }) => key(run)))
  const waits = (delta: Delta) =>
    isNamedStart(delta) || (delta.kind === 'message' && named.has(key(delta.to)))
  await send(deltas.filter((delta) => !waits(delta)))
  await send(deltas.filter(waits))
  // Nothing was applied: the time is asked for, because the kernel sets its clock by every answer.
  if (now === 0) now = (await commitBatch(call, by, [], options)).now
  const told = deltas.map((delta) => answers.get(delta) ?? BUSY)
  return { now, answers: told, claimed, feedId, isAsking }
}

const BUSY: Answer = { kind: 'busy' }

function isNamedStart(delta: Delta): delta is Delta & { kind: 'start' } {
  return delta.kind === 'start' && (delta.run.id as string) !== (delta.run.uid as string)
}

function key({ workspace, id }: { readonly workspace: string; readonly id: string }): string {
  return `${workspace}\n${id}`
}

/** A start stays together with the messages to it: apart they would be refused as unknown. null: it cannot be halved. */
function halve(part: readonly Delta[]): readonly (readonly Delta[])[] | null {
  const groups = new Map<string | Delta, Delta[]>()
  for (const delta of part) {
    const name =
      delta.kind === 'start' ? key(delta.run) : delta.kind === 'message' ? key(delta.to) : delta
    groups.set(name, [...(groups.get(name) ?? []), delta])
  }
  if (groups.size < 2) return null
  const all = [...groups.values()]
  const middle = Math.ceil(all.length / 2)
  return [all.slice(0, middle).flat(), all.slice(middle).flat()]
}
