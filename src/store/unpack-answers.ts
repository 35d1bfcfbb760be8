// The answers of the commit calls, back in the order of the deltas, and the runs that it has taken.

import type { Answer, Claimed, Delta } from '../kernel/store.js'
import type { RunId, Uid } from '../model/ids.js'
import type { Status, Stop } from '../model/run.js'
import type { SqlValue } from './driver.js'
import type { PackedCommit } from './pack-commit.js'
import { numberOrNull, orNull, records, tagsOf } from './wire.js'

export function unpackAnswers(
  row: { readonly answers: SqlValue; readonly silent: number },
  deltas: readonly Delta[],
  places: PackedCommit['places'],
): Answer[] {
  const answers = new Array<Answer | undefined>(deltas.length)
  let turnsAnswered = 0
  for (const [source = '', index, ...fields] of records(row.answers)) {
    const at = places[source as keyof typeof places][Number(index) - 1]
    const delta = at === undefined ? undefined : deltas[at]
    if (at === undefined || delta === undefined) throw new Error('An answer to nothing.')
    answers[at] = answerOf(delta, fields)
    if (source === 't' || source === 'r') turnsAnswered += 1
  }
  const turns = places.t.length + places.r.length
  if (turnsAnswered + row.silent !== turns) throw new Error('A turn was not answered.')
  return deltas.map((delta, at) => answers[at] ?? silentlyDone(delta))
}

/** The commonest answers are not sent: a start that was stored, a turn of a run without messages and stop, one of react_v1. */
function silentlyDone(delta: Delta): Answer {
  if (delta.kind === 'message') throw new Error('A message was not answered.')
  if (delta.kind === 'start') return doneSilently(delta.run.uid)
  const done = doneSilently(delta.fence.uid)
  const { brings } = delta
  return brings ? { ...done, inbox: brings.inbox + brings.messages.length } : done
}

function doneSilently(uid: Uid): Answer & { kind: 'done' } {
  return { kind: 'done', uid, inbox: 0, stop: null, messageNo: 0, repeated: false }
}

function answerOf(delta: Delta, [kind = '', ...fields]: readonly string[]): Answer {
  if (kind === 'stale' || kind === 'early' || kind === 'busy') return { kind }
  if (delta.kind === 'start') {
    if (kind === 'done') return { ...doneSilently(delta.run.uid), repeated: true }
    const [uid, definition = '', same] = fields
    return { kind: 'exists', uid: uid as Uid, definition, same: same === '1' }
  }
  if (delta.kind === 'turn') {
    const [inbox, stop, repeated] = fields
    if (kind === 'stopping') return { kind, stop: stop as Stop }
    return {
      kind: 'done',
      uid: delta.fence.uid,
      inbox: Number(inbox),
      stop: orNull(stop) as Stop | null,
      messageNo: 0,
      repeated: repeated === '1',
    }
  }
  if (kind === 'refused') return refusal(fields)
  const [uid, inbox, stop, no, fate] = fields
  return {
    kind: 'done',
    uid: uid as Uid,
    inbox: Number(inbox),
    stop: orNull(stop) as Stop | null,
    messageNo: Number(no),
    repeated: fate === 'known',
  }
}

function refusal(fields: readonly string[]): Answer {
  const [, , , , code, status] = fields
  if (code !== 'RUN_NOT_FOUND' && code !== 'RUN_FINISHED' && code !== 'MAILBOX_FULL') {
    throw new Error(`A message was refused for an unknown reason: ${code}`)
  }
  return { kind: 'refused', code, status: orNull(status) as Status | null }
}

/** The fields of claimed_v1. */
export function claimedOf(fields: readonly string[]): Claimed {
  const [uid, epoch, seq, inbox, stop, crashes, attempt, id, workspace = '', ...rest] = fields
  const [definition = '', version, tags = '{}', parentUid, parentId, created, started, deadline] =
    rest
  return {
    uid: uid as Uid,
    epoch: Number(epoch),
    seq: Number(seq),
    inbox: Number(inbox),
    stop: orNull(stop) as Stop | null,
    crashes: Number(crashes),
    attempt: Number(attempt),
    id: id as RunId,
    workspace,
    definition,
    version: orNull(version),
    tags: tagsOf(tags),
    parentUid: orNull(parentUid) as Uid | null,
    parentId: orNull(parentId) as RunId | null,
    createdAt: Number(created),
    startedAt: Number(started),
    deadlineAt: numberOrNull(deadline),
  }
}
