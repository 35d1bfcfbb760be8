// A batch of deltas as the parameters of commit_v2, of bring_v2 before it, or of react_v1 alone. Its answers: unpack-answers.ts.

import type { Delta, MessageDelta, NewRun, StartDelta, TurnDelta, Worker } from '../kernel/store.js'
import type { Uid } from '../model/ids.js'
import type { EntryMeta, NewMessage } from '../model/run.js'
import { packAnswers, packDocuments } from './documents.js'
import type { SqlValue } from './driver.js'
import { packEvents, packWaits } from './events.js'
import { broughtColumns, isBroughtWhole } from './pack-brought.js'
import { isReacted, type ReactedTurn, reactedColumns } from './pack-reacted.js'
import { entryColumns, isOutcome, type Placed, packStates } from './pack-turns.js'
import { List, list, metaText, pack, packSparse, SparseList } from './wire.js'

export interface CommitSettings {
  readonly resent: boolean
  readonly feed: boolean
  /** The row that an earlier part of the same commit has written. */
  readonly feedInto: number | null
  /** The transaction it must be part of. */
  readonly inTransaction: string | null
  readonly mailboxMax: number
  readonly suspectFrom: number
}

export interface PackedCommit {
  readonly params: readonly SqlValue[]
  /** Where each turn, start and message of the call stands among the deltas. */
  readonly places: Readonly<Record<'t' | 's' | 'm' | 'b' | 'r', readonly number[]>>
  readonly by: CommitQuery
}

/** Where some bring their own messages another call (bring_v2) goes before; of those without their bodies alone there is one for all (react_v1). */
export type CommitQuery = 'commit' | 'commitBrought' | 'commitReacted'

export function packCommit(
  by: Worker,
  deltas: readonly Delta[],
  settings: CommitSettings,
): PackedCommit {
  if (deltas.length > 0 && deltas.every(isReacted)) return packReacted(by, deltas, settings)
  const all = sortDeltas(deltas)
  const brought = all.turns.filter(({ delta }) => delta.brings)
  const turns = all.turns.filter(({ delta }) => !isBroughtWhole(delta))
  const sorted = brought.length > 0 ? { ...all, turns } : all
  const starts = startColumns(sorted)
  const messages = messageColumns(sorted)
  const names = by.definitions.map(({ name }) => name)
  const versions = by.definitions.map(({ version }) => version)
  const { resent, feed, feedInto, inTransaction, mailboxMax, suspectFrom } = settings
  return {
    params: [
      by.id,
      by.build,
      pack(names),
      pack(versions),
      resent,
      feed,
      feedInto,
      inTransaction,
      mailboxMax,
      suspectFrom,
      ...turnColumns(by, sorted.turns, inTransaction !== null),
      ...entryColumns(sorted.turns),
      ...starts,
      ...messages,
      packWaits(sorted.turns),
      packEvents(sorted.turns),
      packDocuments(sorted.turns),
      packAnswers(sorted.turns),
      ...limitColumns(sorted),
      ...(brought.length > 0 ? broughtColumns(by.id, brought) : []),
    ],
    by: brought.length > 0 ? 'commitBrought' : 'commit',
    places: {
      r: [],
      b: brought.map(({ place }) => place),
      t: sorted.turns.map(({ place }) => place),
      s: sorted.starts.map(({ place }) => place),
      m: sorted.messages.map(({ place }) => place),
    },
  }
}

function packReacted(
  by: Worker,
  deltas: readonly ReactedTurn[],
  { resent, feed, feedInto, mailboxMax, suspectFrom }: CommitSettings,
): PackedCommit {
  const turns = deltas.map((delta, place) => ({ delta, place })).sort(byUid)
  const way = [by.id, resent, feed, feedInto, mailboxMax, suspectFrom]
  const columns = reactedColumns(
    by.id,
    turns.map(({ delta }) => delta),
  )
  const r = turns.map(({ place }) => place)
  return {
    params: [...way, ...columns],
    by: 'commitReacted',
    places: { t: [], s: [], m: [], b: [], r },
  }
}

const byUid = (a: Placed<TurnDelta>, b: Placed<TurnDelta>): number =>
  a.delta.fence.uid < b.delta.fence.uid ? -1 : 1

interface Sorted {
  readonly turns: readonly Placed<TurnDelta>[]
  readonly starts: readonly Placed<StartDelta>[]
  readonly messages: readonly Placed<MessageDelta>[]
}

/** Turns in order of their uids: two calls that wait for each other's rows do so in one order. */
function sortDeltas(deltas: readonly Delta[]): Sorted {
  const turns: Placed<TurnDelta>[] = []
  const starts: Placed<StartDelta>[] = []
  const messages: Placed<MessageDelta>[] = []
  let place = -1
  for (const delta of deltas) {
    place += 1
    if (delta.kind === 'turn') turns.push({ delta, place })
    else if (delta.kind === 'start') starts.push({ delta, place })
    else messages.push({ delta, place })
  }
  turns.sort(byUid)
  return { turns, starts, messages }
}

// Turns and entries are packed in one walk each: there is one for every step of every run.

function turnColumns(
  by: Worker,
  turns: readonly Placed<TurnDelta>[],
  isInTransaction: boolean,
): SqlValue[] {
  const uid = new List()
  const owner = new SparseList(by.id)
  const epoch = new List()
  const seq = new List()
  const count = new List()
  const taken = new SparseList(0)
  const seen = new SparseList(null)
  const mail = new SparseList(0)
  const outcome = new List()
  const before = new SparseList(null)
  const due = new SparseList(null)
  const kind = new List()
  const word = new SparseList(null)
  const stopSeen = new SparseList(null)
  const undo = new SparseList(null)
  const plain = new SparseList(null)
  const builds: (string | null)[] = []
  for (const { delta } of turns) {
    const { fence, next, entries } = delta
    const park = next.kind === 'park' ? next : null
    const end = next.kind === 'end' ? next : null
    uid.add(fence.uid)
    owner.add(fence.owner)
    epoch.add(fence.epoch)
    seq.add(fence.seq)
    count.add(entries.length)
    taken.add(delta.taken.length + delta.refused.length)
    seen.add(park ? park.seen : null)
    mail.add(delta.messages.length > 0 ? 1 : 0)
    outcome.add(entries.some(isOutcome))
    before.add(delta.notBefore)
    due.add(park ? park.dueAt : null)
    kind.add(next.kind)
    word.add(park ? park.reason : end ? end.status : null)
    stopSeen.add(end ? end.stopSeen : park ? park.stopSeen : null)
    undo.add(delta.undoOpen)
    plain.add(isPlain(delta) && fence.owner === by.id && !isInTransaction ? true : null)
    if (park?.divergedBuild) builds[uid.length - 1] = park.divergedBuild
  }
  const all = [uid, owner, epoch, seq, count, taken, seen, mail, outcome, before, due, kind, word]
  const lists = [...all, stopSeen, undo, plain].map(String)
  return [...lists, packSparse(filled(builds, turns.length)), packStates(turns)]
}

/** What entry 1 says beside the input. */
export function createdMeta({ order, parent, trace }: NewRun): EntryMeta | null {
  const startedBy = parent?.startedBy
  const meta = startedBy !== undefined ? { startedBy } : order === null ? null : { order }
  return trace ? { ...meta, trace } : meta
}

/** It adds entries, and nothing else changes: the row of its run is left alone. */
function isPlain(delta: TurnDelta): boolean {
  return (
    delta.next.kind === 'go' &&
    delta.entries.length > 0 &&
    delta.notBefore === null &&
    delta.taken.length === 0 &&
    delta.refused.length === 0 &&
    delta.starts.length === 0 &&
    delta.messages.length === 0 &&
    delta.events.length === 0 &&
    delta.waits === null &&
    delta.undoOpen === null &&
    delta.shown === null &&
    delta.documents.length === 0 &&
    delta.answers.length === 0
  )
}

function filled(texts: readonly (string | null)[], length: number): readonly (string | null)[] {
  return texts.length === 0 ? texts : Array.from({ length }, (_, i) => texts[i] ?? null)
}

/** Callers' starts first, so that a start's index is its place among them. */
function startsOf({ turns, starts }: Sorted) {
  return [
    ...starts.map(({ delta }) => ({ start: delta, turn: 0 })),
    ...turns.flatMap(({ delta }, at) => delta.starts.map((start) => ({ start, turn: at + 1 }))),
  ]
}

function startColumns(sorted: Sorted): SqlValue[] {
  const all = startsOf(sorted)
  const runs = all.map(({ start }) => start.run)
  return [
    list(all.map(({ turn }) => turn)),
    list(runs.map(({ uid }) => uid)),
    list(all.map(({ start }) => start.claim)),
    list(runs.map(({ priority }) => priority)),
    list(runs.map(({ delayMs }) => delayMs)),
    list(runs.map(({ timeoutMs }) => timeoutMs)),
    list(runs.map(({ parent }) => parent?.uid ?? null)),
    packSparse(runs.map(({ parent }) => parent?.id ?? null)),
    pack(runs.map(({ workspace }) => workspace)),
    pack(runs.map(({ id }) => id)),
    pack(runs.map(({ definition }) => definition)),
    packSparse(runs.map(({ version }) => version)),
    pack(runs.map(({ tags }) => JSON.stringify(tags))),
    packSparse(runs.map((run) => metaText(createdMeta(run)))),
    pack(runs.map(({ input }) => input)),
  ]
}

/** Turns that keep their slot, and where starts are counted. */
function limitColumns(sorted: Sorted): SqlValue[] {
  const keeps = new SparseList(null)
  for (const { delta } of sorted.turns) {
    keeps.add(delta.next.kind === 'park' && delta.next.keepsSlot ? true : null)
  }
  const limits = startsOf(sorted).map(({ start }) => start.run.limits ?? null)
  const places = [
    limits.map((one) => one?.workspace ?? null),
    limits.map((one) => one?.key ?? null),
  ]
  return [String(keeps), ...places.map(packSparse)]
}

function messageColumns({ turns, messages }: Sorted): SqlValue[] {
  interface Mail {
    readonly turn: number
    readonly uid: Uid | null
    readonly workspace: string | null
    readonly run: string | null
    readonly message: NewMessage
    readonly claim: boolean
  }
  const all: Mail[] = messages.map(({ delta: { to, message, claim } }) => ({
    turn: 0,
    uid: null,
    workspace: to.workspace,
    run: to.id,
    message,
    claim,
  }))
  for (const [at, { delta }] of turns.entries()) {
    for (const { to, message, claim } of delta.messages) {
      all.push({ turn: at + 1, uid: to, workspace: null, run: null, message, claim })
    }
  }
  return [
    list(all.map(({ turn }) => turn)),
    list(all.map(({ uid }) => uid)),
    list(all.map(({ claim }) => claim)),
    list(all.map(({ message }) => message.kind)),
    packSparse(all.map(({ workspace }) => workspace)),
    packSparse(all.map(({ run }) => run)),
    pack(all.map(({ message }) => message.id)),
    pack(all.map(({ message }) => message.name)),
    packSparse(all.map(({ message }) => metaText(message.meta))),
    packSparse(all.map(({ message }) => message.payload)),
  ]
}
