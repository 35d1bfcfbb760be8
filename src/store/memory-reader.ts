// Reading the store in memory.

import type {
  LimitedRun,
  LimitPlace,
  RunFilter,
  RunReader,
  RunView,
  StatusCount,
  Worker,
  WorkerView,
} from '../kernel/store.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import type { DocumentRow } from '../model/program.js'
import { type Entry, type Instant, isFinal, type WaitReason } from '../model/run.js'
import { DELIVERY } from '../model/webhook.js'
import { documentsOf } from './memory-documents.js'
import { MemoryInsight } from './memory-insight.js'
import { askersOf, holdersOf, type MemorySlots, useOf } from './memory-limits.js'
import { entryOf, type MemoryRun, viewOf } from './memory-run.js'

/** What the reader needs of the store. */
export interface Readable {
  readonly runs: ReadonlyMap<Uid, MemoryRun>
  readonly workers: ReadonlyMap<
    WorkerId,
    { readonly worker: Worker; readonly leaseUntil: Instant; readonly startedAt: Instant }
  >
  now(): Instant
  find(workspace: string, id: RunId): MemoryRun | undefined
  readonly slots: MemorySlots
}

export class MemoryReader extends MemoryInsight implements RunReader {
  private readonly store: Readable

  constructor(store: Readable) {
    super(store)
    this.store = store
  }

  async get(workspace: string, id: RunId): Promise<RunView | null> {
    const row = this.store.find(workspace, id)
    return row ? viewOf(row) : null
  }

  async list(filter: RunFilter): Promise<readonly RunView[]> {
    const live = await this.liveDefinitions()
    const now = this.store.now()
    const isShown = (row: MemoryRun): boolean =>
      filter.reason === null || filter.reason === shownReason(row, now, live)
    const rows = [...this.store.runs.values()].filter((row) => fits(row, filter) && isShown(row))
    rows.sort(byUid)
    if (filter.newestFirst) rows.reverse()
    return rows.slice(0, filter.limit).map(viewOf)
  }

  async history(
    uid: Uid,
    page: { readonly after: number | null; readonly limit: number; readonly newestFirst: boolean },
  ): Promise<readonly Entry[]> {
    const { after, limit, newestFirst } = page
    const entries = (this.store.runs.get(uid)?.journal ?? []).filter((entry) =>
      after === null ? true : newestFirst ? entry.seq < after : entry.seq > after,
    )
    return (newestFirst ? entries.toReversed() : entries).slice(0, limit).map(entryOf)
  }

  async checkpoints(uid: Uid, page: Parameters<RunReader['checkpoints']>[1]) {
    const { after, limit, newestFirst } = page
    const all = await this.history(uid, { after, limit: Number.POSITIVE_INFINITY, newestFirst })
    return all.filter(({ meta }) => meta?.checkpoint !== undefined).slice(0, limit)
  }

  async documents(uid: Uid): Promise<readonly DocumentRow[]> {
    const row = this.store.runs.get(uid)
    return row ? documentsOf(row) : []
  }

  async limitRules() {
    return this.store.slots.named()
  }

  async limitUse() {
    return useOf(this.store.runs.values(), this.store.now())
  }

  async holders(where: LimitPlace, atMost: number) {
    return holdersOf(this.store.runs.values(), where)
      .sort(byUid)
      .slice(0, atMost)
      .map((row) => limitedOf(row, row.createdAt))
  }

  async askers(where: LimitPlace, atMost: number) {
    return askersOf(this.store.runs.values(), where, this.store.now())
      .slice(0, atMost)
      .map((row) => limitedOf(row, row.asksAt ?? 0))
  }

  async workers(): Promise<readonly WorkerView[]> {
    const now = this.store.now()
    const rows = [...this.store.runs.values()]
    return [...this.store.workers.values()]
      .map(({ worker: { id, build, definitions }, startedAt, leaseUntil }) => ({
        id,
        build,
        startedAt,
        leaseUntil,
        isAlive: leaseUntil > now,
        definitions: definitions.map(({ name, version }) => `${name}@${version}`),
        runs: rows.filter(({ owner }) => owner === id).length,
      }))
      .sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1))
  }

  async counts(workspace: string | null): Promise<readonly StatusCount[]> {
    const counts = new Map<string, StatusCount>()
    for (const { run, status } of this.store.runs.values()) {
      if (workspace !== null && run.workspace !== workspace) continue
      const { definition } = run
      const key = `${definition} ${status}`
      counts.set(key, { definition, status, runs: (counts.get(key)?.runs ?? 0) + 1 })
    }
    return [...counts.keys()].sort().flatMap((key) => counts.get(key) ?? [])
  }

  async dueLagMs(): Promise<number> {
    const now = this.store.now()
    const isFree = ({ owner, stop, divergedBuilds }: MemoryRun): boolean =>
      owner === null && stop === null && divergedBuilds.length === 0
    const free = [...this.store.runs.values()].filter(isFree)
    return Math.max(0, ...free.map(({ dueAt }) => now - (dueAt ?? now)))
  }

  async openChildren(uid: Uid): Promise<readonly RunView[]> {
    return [...this.store.runs.values()]
      .filter((row) => row.run.parent?.uid === uid && !isFinal(row.status))
      .sort(byUid)
      .map(viewOf)
  }

  async liveDefinitions(): Promise<readonly string[]> {
    const now = this.store.now()
    const live = [...this.store.workers.values()].filter(({ leaseUntil }) => leaseUntil > now)
    const all = live.flatMap(({ worker }) => worker.definitions)
    return [...new Set(all.map(({ name, version }) => `${name}@${version}`))].sort()
  }
}

const byUid = (a: MemoryRun, b: MemoryRun): number => (a.uid < b.uid ? -1 : 1)

const limitedOf = ({ run }: MemoryRun, since: Instant): LimitedRun => {
  const { id, workspace, definition } = run
  return { id, workspace, definition, since }
}

/** As it is computed for people (src/engine/info.ts). */
function shownReason(row: MemoryRun, now: Instant, live: readonly string[]): WaitReason | null {
  const { owner, stop, dueAt, asksAt, startedAt, status, reason, version } = row
  const since = dueAt ?? asksAt
  const isDue = owner === null && stop === null && since !== null && since <= now
  const code = `${row.run.definition}@${version ?? ''}`
  const hasCode = live.some((one) => (version === null ? one.startsWith(code) : one === code))
  if (isDue && startedAt !== null && !hasCode) return 'missing-code'
  const isPlain = row.divergedBuilds.length === 0
  if (isDue && startedAt !== null && asksAt !== null && isPlain && status === 'waiting')
    return 'slot'
  return status === 'waiting' ? (reason ?? 'slot') : null
}

function fits(row: MemoryRun, filter: RunFilter): boolean {
  const { run } = row
  return (
    (filter.workspace === null || run.workspace === filter.workspace) &&
    (filter.definition === null
      ? run.definition !== DELIVERY
      : run.definition === filter.definition) &&
    (filter.statuses === null || filter.statuses.includes(row.status)) &&
    Object.entries(filter.tags).every(([key, value]) => run.tags[key] === value) &&
    (filter.parentId === null || run.parent?.id === filter.parentId) &&
    (filter.createdAfter === null || row.createdAt > filter.createdAfter) &&
    (filter.createdBefore === null || row.createdAt < filter.createdBefore) &&
    (filter.text === null || hasText(row, filter.text)) &&
    (!filter.kind || filter.kind.is === kindOf(row, filter.kind.known)) &&
    (filter.after === null ||
      (filter.newestFirst ? row.uid < filter.after : row.uid > filter.after))
  )
}

const hasText = ({ run }: MemoryRun, text: string): boolean =>
  [run.id, ...Object.values(run.tags)].some((one) => one.includes(text))

function kindOf({ run, version }: MemoryRun, known: ReadonlyMap<string, string>): string {
  const guess = run.parent === null ? 'workflow' : 'task'
  return known.get(run.definition) ?? (version?.startsWith('#') ? 'graph' : guess)
}
