// The store port on SQL. The rules are in sql/migrations; here is packing, retrying and naming of errors.

import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Call,
  CallFate,
  Claimed,
  Committed,
  DefinitionStore,
  Delta,
  EventStore,
  FeedEntry,
  Fence,
  LimitStore,
  Loaded,
  OperatingStore,
  Owned,
  Reply,
  RunReader,
  ScheduleStore,
  Settled,
  Store,
  StreamStore,
  ToolStore,
  WebhookStore,
  Worker,
} from '../kernel/store.js'
import { PerdureError } from '../model/errors.js'
import type { RunId, Uid, WorkerId } from '../model/ids.js'
import { CONNECT_MS, MAILBOX_MAX } from '../model/limits.js'
import type { FinalStatus } from '../model/run.js'
import { type Call as CommitCall, commitBatch } from './commit.js'
import { type Driver, DriverError, type Row, type SqlValue } from './driver.js'
import { asStoreError, withRetries } from './errors.js'
import { limitParams, sqlLimits } from './limits.js'
import { checkSchemaName, migrate } from './migrate.js'
import { sqlMoving } from './moving.js'
import { sqlOperating } from './operating.js'
import { definitionsText, sqlReader } from './reader.js'
import { entryOf } from './reader-rows.js'
import { type Sql, sqlOf } from './sql.js'
import { openStepTransaction } from './step-transaction.js'
import { sqlStreams } from './streams.js'
import { claimedOf } from './unpack-answers.js'
import { loadedOf } from './unpack-load.js'
import {
  list,
  metaOf,
  metaText,
  numberOf,
  numberOfOrNull,
  onlyRow,
  pack,
  packSparse,
  records,
  textOf,
  textOrNull,
  words,
} from './wire.js'

export interface SqlStoreOptions {
  readonly driver: Driver
  readonly schema: string
  /** false: the schema must be there. */
  readonly migrate?: boolean
  /** Nobody else can be on this database: workers that are in it have died, however young their lease is. */
  readonly alone?: boolean
  readonly mailboxMax?: number
  readonly connectMs?: number
}

/** Feed rows that listeners have heard are kept for a day. */
const FEED_KEEP_MS = 24 * 60 * 60 * 1000
/** free_v1 gives back a thousand runs per call. */
const FREED_PER_CALL = 1_000
/** reap_v1 hands on so many rows of the feed per call. */
const INHERITED_PER_CALL = 50
const LEAVE_TRIES_MAX = 200

/** Checks the server, migrates, and gives the store. Closing the store closes the driver. */
export async function openSqlStore(options: SqlStoreOptions): Promise<ToolStore> {
  const { driver, schema } = options
  checkSchemaName(schema)
  const sql = sqlOf(schema)
  await checkServer(driver, sql, schema, options.connectMs ?? CONNECT_MS)
  if (options.migrate !== false) await migrate(driver, schema)
  if (options.alone) await driver.query('commit', sql.forgetAll, [])
  const store = new SqlStore(driver, sql, options.mailboxMax ?? MAILBOX_MAX)
  return Object.assign(
    store,
    sqlOperating(driver, sql),
    sqlLimits(driver, sql),
    sqlMoving(driver, sql),
    sqlStreams(driver, sql),
  )
}

class SqlStore
  implements
    Omit<
      Store,
      keyof (OperatingStore &
        EventStore &
        ScheduleStore &
        LimitStore &
        DefinitionStore &
        WebhookStore &
        StreamStore)
    >
{
  readonly isSingle: boolean
  readonly read: RunReader
  private readonly driver: Driver
  private readonly sql: Sql
  private readonly mailboxMax: number
  /** Who reaps: the incarnation that has joined through this store. */
  private joined: WorkerId | null = null
  private isReapUnanswered = false

  constructor(driver: Driver, sql: Sql, mailboxMax: number) {
    this.driver = driver
    this.sql = sql
    this.mailboxMax = mailboxMax
    this.isSingle = driver.kind === 'embedded'
    this.read = sqlReader(driver, sql)
  }

  commit(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Promise<Committed> {
    const call: CommitCall = (params, query) => this.driver.query('commit', this.sql[query], params)
    const { mailboxMax } = this
    return commitBatch(call, by, deltas, { ...options, mailboxMax, inTransaction: null })
  }

  async claim(by: Worker, places: number, suspects: number) {
    const rows = await this.write(this.sql.claim, [...workerParams(by), places, suspects])
    const row = onlyRow(rows)
    return {
      now: numberOf(row, 'now_ms'),
      claimed: records(row.claimed).map(claimedOf),
      nextDueAt: numberOfOrNull(row, 'next_due_ms'),
    }
  }

  async load(what: Parameters<Store['load']>[0]): Promise<readonly Loaded[]> {
    const rows = await this.rows(this.sql.load, [
      list(what.map(({ fence }) => fence.uid)),
      list(what.map(({ fence }) => fence.owner)),
      list(what.map(({ fence }) => fence.epoch)),
      list(what.map(({ fromSeq }) => fromSeq)),
      list(what.map(({ fromNo }) => fromNo)),
    ])
    return loadedOf(
      what.map(({ fence }) => fence.uid),
      rows,
    )
  }

  async open(by: Worker, limitMs: number) {
    const transaction = await this.driver.begin(limitMs).catch((error: unknown) => {
      throw asStoreError(error)
    })
    const now = async () => (await this.commit(by, [], { resent: false, feed: false })).now
    const { sql, mailboxMax } = this
    return openStepTransaction({ transaction, sql, by, mailboxMax, now })
  }

  async resolve(fence: Fence, lastSeq: number) {
    const params = [fence.uid, fence.owner, fence.epoch, lastSeq]
    // Not on a commit connection: it may wait long.
    return textOf(onlyRow(await this.rows(this.sql.resolve, params)), 'fate') as 'applied'
  }

  async join(by: Worker) {
    const { id, build, definitions, leaseMs } = by
    const said = [id, build, definitionsText(definitions), leaseMs, ...limitParams(by)]
    const rows = await this.write(this.sql.join, said)
    this.joined = id
    return { now: numberOf(onlyRow(rows), 'now_ms') }
  }

  async declare(by: Worker): Promise<void> {
    await this.write(this.sql.declare, [by.id, definitionsText(by.definitions)])
  }

  async beat(by: Worker) {
    const query = () => this.driver.query('beat', this.sql.beat, [by.id, by.leaseMs])
    const row = onlyRow(await withRetries(query))
    return {
      alive: row.alive === true,
      now: numberOf(row, 'now_ms'),
      owned: records(row.owned).map((fields) => ownedOf(claimedOf(fields))),
    }
  }

  async leave(by: Worker): Promise<void> {
    for (let tries = 1; tries <= LEAVE_TRIES_MAX; tries += 1) {
      const left = numberOf(onlyRow(await this.write(this.sql.leave, [by.id])), 'left')
      if (left === 0) return
      if (left <= FREED_PER_CALL) await sleep(5)
    }
    await this.write(this.sql.forget, [by.id])
  }

  async reap(unmoved: Parameters<Store['reap']>[0], inherit: boolean) {
    const result = {
      workers: [] as { id: WorkerId; beat: number }[],
      dead: [] as WorkerId[],
      freed: 0,
      inheritedIds: [] as number[],
    }
    const ids = list(unmoved.map(({ id }) => id))
    const beats = list(unmoved.map(({ beat }) => beat))
    const heir = inherit ? this.joined : null
    // What calls without an answer have handed to us is named again, from its beginning.
    let againAfter = this.isReapUnanswered ? 0 : null
    if (inherit) this.isReapUnanswered = true
    for (let isMore = true; isMore; ) {
      const params = [ids, beats, heir, againAfter, FEED_KEEP_MS]
      const row = onlyRow(await this.write(this.sql.reap, params))
      const freed = numberOf(row, 'freed')
      const heard = words(row.inherited).map(Number)
      if (againAfter !== null) againAfter = Math.max(againAfter, ...heard)
      isMore = freed >= FREED_PER_CALL || heard.length >= INHERITED_PER_CALL
      result.freed += freed
      result.dead.push(...(words(row.dead) as WorkerId[]))
      result.inheritedIds.push(...heard)
      result.workers = words(row.workers).map((pair) => {
        const [id, beat] = pair.split(':')
        return { id: id as WorkerId, beat: Number(beat) }
      })
    }
    const { inheritedIds } = result
    const rows =
      inheritedIds.length > 0 ? await this.rows(this.sql.inherited, [list(inheritedIds)]) : []
    if (inherit) this.isReapUnanswered = false
    return { ...result, inherited: rows.map(feedEntryOf) }
  }

  async reopen(chain: Parameters<Store['reopen']>[0]) {
    const entries = chain.map(({ entry }) => entry)
    const rows = await this.write(this.sql.reopen, [
      list(chain.map(({ uid }) => uid)),
      list(chain.map(({ attempt }) => attempt)),
      list(chain.map(({ due }) => due)),
      list(entries.map(({ at }) => at)),
      list(entries.map(({ kind }) => kind)),
      list(entries.map(({ occurrence }) => occurrence)),
      list(entries.map(({ attempt }) => attempt)),
      pack(entries.map(({ name }) => name)),
      packSparse(entries.map(({ meta }) => metaText(meta))),
      packSparse(entries.map(({ payload }) => payload)),
    ])
    return onlyRow(rows).done === true ? 'done' : 'changed'
  }

  async settled(tickets: Parameters<Store['settled']>[0]) {
    if (tickets.length === 0) return []
    const workspaces = pack(tickets.map(({ workspace }) => workspace))
    return (await this.rows(this.sql.settled, [workspaces, pack(tickets.map(({ id }) => id))])).map(
      settledOf,
    )
  }

  async called(calls: readonly Call[]) {
    if (calls.length === 0) return []
    const uids = list(calls.map(({ uid }) => uid))
    const rows = await this.rows(this.sql.called, [uids, list(calls.map(({ no }) => no))])
    return rows.map((row) => ({
      uid: textOf(row, 'uid') as Uid,
      no: numberOf(row, 'no'),
      fate: textOf(row, 'fate') as CallFate,
      reply: replyOf(row),
    }))
  }

  async delivered(feedIds: readonly number[]): Promise<void> {
    if (feedIds.length > 0) await this.write(this.sql.delivered, [list(feedIds)])
  }

  close(): Promise<void> {
    return this.driver.close()
  }

  private rows(text: string, params: readonly SqlValue[]): Promise<readonly Row[]> {
    return withRetries(() => this.driver.query('read', text, params))
  }

  private write(text: string, params: readonly SqlValue[]): Promise<readonly Row[]> {
    return withRetries(() => this.driver.query('commit', text, params))
  }
}

function replyOf(row: Row): Reply | null {
  const kind = textOrNull(row, 'kind') as Reply['kind'] | null
  return kind === null ? null : { kind, payload: textOrNull(row, 'payload') }
}

function workerParams(by: Worker): SqlValue[] {
  const names = pack(by.definitions.map(({ name }) => name))
  return [by.id, by.build, names, pack(by.definitions.map(({ version }) => version))]
}

function ownedOf(row: Claimed): Owned {
  return { uid: row.uid, epoch: row.epoch, inbox: row.inbox, stop: row.stop, row }
}

function settledOf(row: Row): Settled {
  return {
    workspace: textOf(row, 'workspace'),
    id: textOf(row, 'id') as RunId,
    uid: textOf(row, 'uid') as Uid,
    status: textOf(row, 'status') as FinalStatus,
    payload: textOrNull(row, 'payload'),
    reason: metaOf(textOrNull(row, 'meta'))?.reason ?? null,
  }
}

function feedEntryOf(row: Row): FeedEntry {
  return {
    uid: textOf(row, 'uid') as Uid,
    id: textOf(row, 'id') as RunId,
    workspace: textOf(row, 'workspace'),
    definition: textOf(row, 'def'),
    entry: entryOf(row),
  }
}

/** A server that is starting is waited for; one that refuses or does not answer is named at once. */
async function checkServer(driver: Driver, sql: Sql, schema: string, connectMs: number) {
  const until = performance.now() + connectMs
  for (;;) {
    const waiting = new AbortController()
    try {
      const leftMs = Math.max(1, until - performance.now())
      const late = sleep(leftMs, 'late' as const, { ref: false, signal: waiting.signal })
      const answer = await Promise.race([driver.query('read', sql.server, [schema]), late])
      if (answer === 'late') throw new DriverError('no answer', '08006', true)
      if (onlyRow(answer).standby !== true) return
      throw unavailable(driver, 'it is a standby and cannot be written to')
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      const isStarting = error.sqlState === '57P03' && performance.now() + 200 < until
      if (!isStarting) throw unavailable(driver, error.message, error)
      await sleep(200)
    } finally {
      waiting.abort()
    }
  }
}

function unavailable(driver: Driver, why: string, cause?: unknown): PerdureError {
  return new PerdureError(
    'DATABASE_UNAVAILABLE',
    `The database ${driver.description} cannot be used: ${why}.`,
    { hint: 'check that it runs, that the address is right and that it is the primary', cause },
  )
}
