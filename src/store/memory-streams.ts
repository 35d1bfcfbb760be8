// What steps publish, and what has changed, of the store in memory. Each call is a transaction of its own, so keys are a plain count.

import type {
  Change,
  Chunk,
  Cursor,
  ForkPlan,
  NewChunk,
  PauseAnswer,
  Receiver,
  Standing,
  StreamStore,
} from '../kernel/store.js'
import type { Uid, WorkerId } from '../model/ids.js'
import { FOLLOWED_MS } from '../model/limits.js'
import type { Instant, NewEntry } from '../model/run.js'
import type { MemoryRun } from './memory-run.js'
import { MemoryWebhooks } from './memory-webhooks.js'

interface Row extends Chunk {
  readonly epoch: number
  readonly sent: number
}

interface Changed {
  readonly key: number
  readonly at: Instant
  readonly uid: Uid
  /** 0: without an entry. */
  readonly seq: number
}

const PAGE = 500

export class MemoryStreams extends MemoryWebhooks implements StreamStore {
  private readonly published = new Map<Uid, Row[]>()
  private changed: Changed[] = []
  protected followedUntil = Number.NEGATIVE_INFINITY
  private begun = 1
  protected lastKey = 0

  async publish(by: WorkerId, chunks: readonly NewChunk[]): Promise<void> {
    for (const { uid, epoch, sent, ...chunk } of chunks) {
      const run = this.runs.get(uid)
      const rows = this.published.get(uid) ?? []
      const last = rows.at(-1)
      const isNew = !last || last.epoch < epoch || (last.epoch === epoch && last.sent < sent)
      if (run?.owner !== by || run.epoch !== epoch || !isNew) continue
      this.published.set(uid, rows)
      rows.push({ ...chunk, no: rows.length + 1, epoch, sent, at: this.now() })
    }
  }

  async standings(uids: readonly Uid[]): Promise<ReadonlyMap<Uid, Standing>> {
    const standings = new Map<Uid, Standing>()
    for (const uid of uids) {
      const run = this.runs.get(uid)
      if (!run) continue
      const published = this.published.get(uid)?.length ?? 0
      standings.set(uid, { seq: run.journal.length, published, isFinal: run.finishedAt !== null })
    }
    return standings
  }

  async chunks(uid: Uid, after: number, limit: number): Promise<readonly Chunk[]> {
    const rows = this.published.get(uid)?.slice(after, after + limit) ?? []
    return rows.map(({ epoch: _, sent: __, ...chunk }) => chunk)
  }

  override async prune(keepMs: number, after: Uid | null) {
    const answer = await super.prune(keepMs, after)
    for (const uid of this.published.keys()) if (!this.runs.has(uid)) this.published.delete(uid)
    return answer
  }

  async follow(): Promise<Cursor> {
    const now = this.now()
    if (this.followedUntil <= now) {
      this.lastKey += 1
      this.begun = this.lastKey + 1
    }
    this.followedUntil = now + FOLLOWED_MS
    const kept = this.changed.findIndex(({ at }) => at >= now - FOLLOWED_MS)
    const gone = this.changed.splice(0, kept < 0 ? this.changed.length : kept)
    this.begun = Math.max(this.begun, (gone.at(-1)?.key ?? 0) + 1)
    return { key: String(this.lastKey + 1), id: '0', place: 0 }
  }

  async changes(workspace: string | null, after: Cursor) {
    const key = Number(after.key)
    const isWhole = key >= this.begun && key <= this.lastKey + 1
    if (!isWhole || this.followedUntil <= this.now()) return null
    // A place of 0 is before the change with this key.
    const behind = this.changed.filter((one) => one.key > key || (one.key === key && !after.place))
    const page = behind.slice(0, PAGE)
    const changes = page.flatMap((one) => this.shown(one, workspace))
    const end = page.length === PAGE ? page.at(-1) : undefined
    return { changes, next: end ? at(end) : { key: String(this.lastKey + 1), id: '0', place: 0 } }
  }

  private shown(one: Changed, workspace: string | null): Change[] {
    const row = this.runs.get(one.uid)
    if (!row || (workspace !== null && row.run.workspace !== workspace)) return []
    const { id: runId, workspace: own, definition } = row.run
    const found = row.journal[one.seq - 1]
    const { status, reason } = row
    const entry = found && {
      seq: found.seq,
      kind: found.kind,
      name: found.name,
      occurrence: found.occurrence,
    }
    const names = { runId, workspace: own, definition, status, reason }
    return [{ ...names, cursor: at(one), entry: entry ?? null, at: found?.at ?? one.at }]
  }

  /** As journal_changed_v1 and changed_v1. */
  protected note(uid: Uid, seq: number): void {
    if (this.followedUntil <= this.now()) return
    this.lastKey += 1
    this.changed.push({ key: this.lastKey, at: this.now(), uid, seq })
  }

  protected override append(row: MemoryRun, entry: NewEntry): void {
    super.append(row, entry)
    this.note(row.uid, row.journal.length)
  }

  override async fork(plan: ForkPlan) {
    const isKnown = this.runs.has(plan.uid)
    const answer = await super.fork(plan)
    const copied = isKnown ? 0 : (this.runs.get(plan.uid)?.journal.length ?? 0)
    for (let seq = 2; seq <= copied; seq += 1) this.note(plan.uid, seq)
    return answer
  }

  override async setPaused(to: Receiver, isPaused: boolean): Promise<PauseAnswer> {
    const before = this.find(to.workspace, to.id)?.stop
    const answer = await super.setPaused(to, isPaused)
    if (answer.kind === 'done' && this.runs.get(answer.uid)?.stop !== before) {
      this.note(answer.uid, 0)
    }
    return answer
  }
}

const at = ({ key }: Changed): Cursor => ({ key: String(key), id: '1', place: 1 })
