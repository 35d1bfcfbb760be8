// Runs as a whole, in memory.

import type {
  DocumentRecord,
  EntryRecord,
  EventWait,
  LivePage,
  LiveRun,
  MovingStore,
  RunRecord,
  SelectedRun,
  Selection,
  WaitRecord,
} from '../kernel/store.js'
import type { MessageId, RunId, Uid } from '../model/ids.js'
import { isFinal } from '../model/run.js'
import { DELIVERY } from '../model/webhook.js'
import { hears, type MemoryWait } from './memory-events.js'
import { claimedOf, idKey, type MemoryDocument, type MemoryRun, setDue } from './memory-run.js'
import { MemoryStreams } from './memory-streams.js'

export class MemoryMoving extends MemoryStreams implements MovingStore {
  async liveRuns(page: LivePage): Promise<readonly LiveRun[]> {
    return liveRunsOf(this.runs.values(), page)
  }

  async selectRuns(which: Selection): Promise<readonly SelectedRun[]> {
    return selectedOf(this.runs, which)
  }

  async runRecords(uids: readonly Uid[]): Promise<readonly RunRecord[]> {
    return [...this.runs.values()]
      .filter(({ uid }) => uids.includes(uid))
      .sort(byUid)
      .map((row) => recordOf(row, this.waits.filter((wait) => wait.row === row).map(waitRecord)))
  }

  async isMailUnderWay(): Promise<boolean> {
    const events = [...this.events.values()]
    const isToTell = this.waits.some((wait) =>
      events.some(
        (event) =>
          (!event.isTold || !wait.isLooked) && hears(wait, event) && event.at >= wait.since,
      ),
    )
    return isToTell || (await this.letters(1)).length > 0
  }

  async holdRuns(
    runs: readonly Pick<RunRecord, 'uid' | 'epoch' | 'seq' | 'inbox'>[],
  ): Promise<readonly Uid[]> {
    const rows = runs.map((read) => ({ read, row: this.runs.get(read.uid) }))
    const changed = rows.filter(({ row, read }) => !isAsRead(row, read))
    if (changed.length > 0) return changed.map(({ read }) => read.uid)
    for (const { row } of rows) {
      if (row?.stop === null) await this.setPaused(row.run, true)
    }
    return []
  }

  async putRuns(pages: AsyncIterable<readonly RunRecord[]>, isSkipping: boolean) {
    const fresh: RunRecord[] = []
    const taken: RunId[] = []
    for await (const page of pages) {
      for (const record of page) {
        if (isTakenIn(this, record)) taken.push(record.id)
        else fresh.push(record)
      }
    }
    if (taken.length > 0 && !isSkipping) return { put: 0, taken }
    for (const record of fresh) this.put(record)
    return { put: fresh.length, taken }
  }

  private put(record: RunRecord): void {
    const row = memoryRunOf(record)
    this.keep(row)
    this.byId.set(idKey(record.workspace, record.id), row.uid)
    this.waits.push(...record.waits.map((wait) => ({ ...eventWait(wait), row, isLooked: false })))
  }
}

function waitRecord({ name, occurrence, since, heard }: MemoryWait): WaitRecord {
  const wait = { name, occurrence, since }
  if ('event' in heard) return { ...wait, event: heard.event, match: heard.match, run: null }
  return { ...wait, event: null, match: [], run: heard.run }
}

function eventWait({ name, occurrence, since, event, match, run }: WaitRecord): EventWait {
  const heard = event === null ? { run: run as RunId } : { event, match }
  return { name, occurrence, since, heard }
}

const byUid = (a: MemoryRun, b: MemoryRun): number => (a.uid < b.uid ? -1 : 1)

function liveRunsOf(
  rows: Iterable<MemoryRun>,
  { workspace, after, limit }: LivePage,
): readonly LiveRun[] {
  return [...rows]
    .filter(({ run, status }) => !isFinal(status) && run.definition !== DELIVERY)
    .filter(({ uid, run }) => uid > (after ?? '') && run.workspace === (workspace ?? run.workspace))
    .sort(byUid)
    .slice(0, limit)
    .map((row) => {
      const { inbox: _, stop: __, crashes: ___, attempt: ____, ...live } = claimedOf(row)
      return { ...live, owner: row.owner }
    })
}

/** With all of their families. */
function selectedOf(
  runs: ReadonlyMap<Uid, MemoryRun>,
  { workspace, definition, ids }: Selection,
): readonly SelectedRun[] {
  const all = [...runs.values()]
  const found = new Set(
    all
      .filter(({ run }) => workspace === null || run.workspace === workspace)
      .filter(({ run }) => definition === null || run.definition === definition)
      .filter(({ run }) => ids === null || ids.includes(run.id)),
  )
  for (const { run } of found) {
    const parent = run.parent && runs.get(run.parent.uid)
    if (parent) found.add(parent)
  }
  // What is added to a set while it is walked is walked too.
  for (const { uid } of found) {
    for (const row of all) if (row.run.parent?.uid === uid) found.add(row)
  }
  return [...found]
    .sort(byUid)
    .map(({ uid, run, version }) => ({ uid, definition: run.definition, version }))
}

function recordOf(row: MemoryRun, waits: readonly WaitRecord[]): RunRecord {
  const { uid, version, status, reason, stop, owner, epoch, inbox, taken, crashes, attempt } = row
  const { id, workspace, definition, priority, tags, parent } = row.run
  const { createdAt, updatedAt, startedAt, finishedAt, deadlineAt, place, error, state } = row
  const isShown = place !== null || error !== null || state !== null
  return {
    ...{ uid, id, workspace, definition, version, status, reason, stop, owner },
    dueAt: row.dueAt ?? row.asksAt,
    ...{ createdAt, updatedAt, startedAt, finishedAt, deadlineAt },
    ...{ epoch, seq: row.journal.length, inbox, taken, crashes, undoOpen: row.undoOpen },
    ...{ attempt, priority, tags, parentUid: parent?.uid ?? null, parentId: parent?.id ?? null },
    divergedBuilds: row.divergedBuilds,
    limits: row.slot === null ? null : (row.run.limits ?? null),
    shown: isShown ? { place, error, state } : null,
    journal: row.journal.map(entryRecord),
    messages: row.messages.map((message) => ({ ...message })),
    documents: documentRecords(row.documents),
    waits,
  }
}

function entryRecord({
  seq,
  epoch,
  at,
  kind,
  name,
  ...entry
}: MemoryRun['journal'][number]): EntryRecord {
  return { seq, epoch, at, kind, name, ...entry }
}

function documentRecords(documents: readonly MemoryDocument[]): readonly DocumentRecord[] {
  const written = new Map<number, number>()
  const records: DocumentRecord[] = []
  for (const document of documents) {
    const { seq, type, key } = document
    const no = (written.get(seq) ?? 0) + 1
    written.set(seq, no)
    const replaced = records.findLast(
      (one) => one.type === type && one.key === key && one.untilSeq === seq,
    )
    records.push({ ...document, no, position: replaced?.position ?? [seq, no] })
  }
  return records
}

function isAsRead(
  row: MemoryRun | undefined,
  read: Pick<RunRecord, 'epoch' | 'seq' | 'inbox'>,
): row is MemoryRun {
  if (!row || row.owner !== null || isFinal(row.status) || row.stop === 'cancel') return false
  return row.epoch === read.epoch && row.journal.length === read.seq && row.inbox === read.inbox
}

function memoryRunOf(record: RunRecord): MemoryRun {
  const { uid, id, workspace, definition, version, tags, priority, limits, parentUid } = record
  const [created] = record.journal
  const { startedBy } = created?.meta ?? {}
  const parent = parentUid
    ? { uid: parentUid, id: record.parentId as RunId, ...(startedBy && { startedBy }) }
    : null
  const { status, reason, stop, epoch, attempt, crashes, inbox, taken, undoOpen } = record
  const { createdAt, updatedAt, startedAt, finishedAt, deadlineAt } = record
  const times = { delayMs: 0, timeoutMs: deadlineAt === null ? null : deadlineAt - createdAt }
  const order = created?.meta?.order ?? null
  const input = created?.payload ?? ''
  const row: MemoryRun = {
    uid,
    run: {
      uid,
      id,
      workspace,
      definition,
      version,
      input,
      order,
      tags,
      priority,
      ...times,
      parent,
      limits,
    },
    ...{ version, status, reason, stop, epoch, attempt, crashes, inbox, taken, undoOpen },
    ...{ createdAt, updatedAt, startedAt, finishedAt, deadlineAt },
    state: record.shown?.state ?? null,
    place: record.shown?.place ?? null,
    error: record.shown?.error ?? null,
    owner: null,
    dueAt: null,
    asksAt: null,
    slot: limits ? false : null,
    divergedBuilds: [...record.divergedBuilds],
    documents: record.documents.map(({ no: _, position: __, ...document }) => ({ ...document })),
    journal: record.journal.map((entry) => ({ ...entry })),
    messages: record.messages.map((message) => ({ ...message, id: message.id as MessageId })),
  }
  setDue(row, record.dueAt)
  return row
}

const isTakenIn = (
  tables: { readonly runs: ReadonlyMap<Uid, MemoryRun>; readonly byId: ReadonlyMap<string, Uid> },
  { uid, workspace, id }: RunRecord,
): boolean => tables.runs.has(uid) || tables.byId.has(idKey(workspace, id))
