// A database with a schema of its own, engines on it, and a look behind them.

import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { AnyClass } from '../../src/authoring/types.js'
import { composeEngine, type Instead } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Definition, type Engine, PerdureError } from '../../src/index.js'
import { type Counters, newCounters } from '../../src/kernel/counters.js'
import type { Log } from '../../src/kernel/ports.js'
import type { Delta, Store, ToolStore } from '../../src/kernel/store.js'
import { openHints } from '../../src/live-hints.js'
import type { EntryKind, NewEntry } from '../../src/model/run.js'
import type { Opened } from '../../src/open-store.js'
import { openRedisStore } from '../../src/redis/open.js'
import type { Driver, SqlValue } from '../../src/store/driver.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { type Database, freshSchema, urlOf } from './databases.js'
import { instead } from './instead.js'
import { provideRedis, type RedisServer } from './redis.mjs'

type Row = Record<string, SqlValue>

export interface More {
  /** Of createEngine. */
  readonly options?: object
  readonly env?: Readonly<Record<string, string>>
  readonly kernel?: Instead['kernel']
  /** Stands between the engine and its database. */
  readonly driver?: (driver: Driver) => Driver
  readonly store?: (opened: Opened) => Opened
  readonly retentionEveryMs?: number
}

export interface Probed {
  readonly counters: Counters
  /** What was logged, as "level: message". */
  readonly lines: string[]
}

export type RunRow = Readonly<{
  uid: string
  status: string
  reason: string | null
  owner: string | null
  epoch: number
  seq: number
  dueAt: number | null
}>

export type SentMessage = Readonly<{ kind: string; takenSeq: number | null }>

export interface World {
  readonly schema: string
  /** Is closed when the test ends. */
  open<const W extends readonly (Definition | AnyClass)[]>(
    workflows: W,
    more?: More,
  ): Promise<Engine<W> & Probed>
  /** `@schema@` is the world's schema. */
  sql(text: string, params?: readonly SqlValue[]): Promise<readonly Row[]>
  /** The row of a run of the default workspace. */
  row(id: string): Promise<RunRow>
  /** What was sent to a run of the default workspace, and which entry says that it was taken. */
  messages(id: string): Promise<readonly SentMessage[]>
  /** How many rows each table has. */
  counts(): Promise<Row>
  /** The database refuses every commit with such an entry, until the answer is called. */
  refuse(kind: EntryKind, name: string): Promise<() => Promise<void>>
  /** The database's time, in milliseconds. */
  now(): Promise<number>
  /** Moves the database's clock forward, for everybody and at once. */
  advance(ms: number): Promise<void>
}

/** One world for all tests of a describe: they use definitions and ids of their own. */
export function worldOn(database: Database): World {
  if (database.name === 'redis') return worldOnRedis()
  const schema = freshSchema()
  let base: { driver: Driver; query: Driver['query'] } | null = null
  let offsetMs = 0

  beforeAll(async () => {
    base = await openBase(database)
    await (await openSqlStore({ driver: unclosable(base.driver), schema })).close()
  })
  afterAll(async () => {
    await base?.driver.script(`drop schema ${schema} cascade`)
    if (database.name !== 'pglite') await base?.driver.close()
  })

  const sql: World['sql'] = async (text, params = []) => {
    if (base === null) throw new Error('the world is not there yet')
    return base.query('read', text.replaceAll('@schema@', schema), params)
  }
  const one = async (text: string, params: readonly SqlValue[] = []): Promise<Row> => {
    const [row] = await sql(text, params)
    if (row === undefined) throw new Error(`no row: ${text} ${params.join()}`)
    return row
  }
  const openDriver = async (): Promise<Driver> => {
    if (base === null) throw new Error('the world is not there yet')
    return database.name === 'pglite'
      ? unclosable(base.driver)
      : openPgDriver({ target: urlOf(database) })
  }

  return {
    schema,
    sql,
    open: (workflows, more = {}) =>
      engineIn(schema, workflows, more, async (log) => {
        const bare = await openDriver()
        const driver = more.driver?.(bare) ?? bare
        const store = await openSqlStore({ driver, schema })
        return { store, hints: await openHints(driver, schema, log) }
      }) as never,
    async row(id) {
      const row = await one(
        `select uid::text, status, reason, owner::text, epoch, seq, (extract(epoch from due_at) * 1000)::float8 as due
           from @schema@.runs where workspace = 'default' and id = $1::text`,
        [id],
      )
      return { ...row, dueAt: row.due } as unknown as RunRow
    },
    messages: async (id) =>
      (await sql(
        `select m.kind, m.taken_seq as "takenSeq" from @schema@.messages m join @schema@.runs r on r.uid = m.uid
          where r.workspace = 'default' and r.id = $1::text order by m.no`,
        [id],
      )) as unknown as readonly SentMessage[],
    counts: () =>
      one(`select (select count(*)::int from @schema@.runs) as runs,
          (select count(*)::int from @schema@.journal) as journal,
          (select count(*)::int from @schema@.messages) as messages`),
    async refuse(kind, name) {
      await sql(`create function @schema@.refuse() returns trigger language plpgsql as
        'begin raise exception using errcode = ''23514'', message = ''not this one''; end'`)
      await sql(`create trigger refuse before insert on @schema@.journal for each row
        when (new.kind = '${kind}' and new.name = '${name}') execute function @schema@.refuse()`)
      return async () => void (await sql('drop function @schema@.refuse() cascade'))
    },
    now: async () => Number((await one('select @schema@.ms_v1(@schema@.clock_v1()) as now')).now),
    async advance(ms) {
      offsetMs += ms
      // The setting of a session reaches that session alone; this reaches all of them.
      await sql(`create or replace function @schema@.clock_v1() returns timestamptz language sql volatile as
        'select date_trunc(''milliseconds'', clock_timestamp()) + ${offsetMs} * interval ''1 millisecond'''`)
    },
  }
}

/** A Redis of its own for a describe. It has no SQL. */
function worldOnRedis(): World {
  const schema = freshSchema()
  const state = `perdure:{${schema}}:state`
  let base: { readonly server: RedisServer; readonly client: Redis; readonly store: ToolStore }
  let refused: Pick<NewEntry, 'kind' | 'name'> | null = null
  const open = async (log: Log): Promise<Opened> => {
    const opened = await openRedisStore(Redis, {
      url: base.server.url,
      schema,
      version: 'test',
      log,
    })
    const commit: Store['commit'] = (by, deltas, options) =>
      opened.store.commit(by, refused ? deltas.map(unstorable(refused)) : deltas, options)
    return { ...opened, store: instead(opened.store, { commit }) }
  }

  beforeAll(async () => {
    const server = await provideRedis()
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const given = { url: server.url, schema, version: 'test', log, snapshotEvery: 50 }
    const { store } = await openRedisStore(Redis, given)
    base = { server, client: new Redis(server.url), store }
  })
  afterAll(async () => {
    await base.store.close()
    base.client.disconnect()
    await base.server.stop()
  })
  const records = async () => {
    const all = await base.store.selectRuns({ workspace: null, definition: null, ids: null })
    return base.store.runRecords(all.map(({ uid }) => uid))
  }
  const record = async (id: string) => {
    const found = (await records()).find((one) => one.id === id && one.workspace === 'default')
    if (!found) throw new Error(`no run ${id}`)
    return found
  }
  return {
    schema,
    sql: () => Promise.reject(new Error('Redis has no SQL')),
    open: (workflows, more = {}) => engineIn(schema, workflows, more, open) as never,
    async row(id) {
      const { uid, status, reason, owner, epoch, seq, dueAt } = await record(id)
      return { uid, status, reason, owner, epoch, seq, dueAt }
    },
    messages: async (id) =>
      (await record(id)).messages.map(({ kind, takenSeq }) => ({ kind, takenSeq })),
    async refuse(kind, name) {
      refused = { kind, name }
      return async () => {
        refused = null
      }
    },
    async counts() {
      const all = await records()
      const journal = all.reduce((sum, one) => sum + one.journal.length, 0)
      const messages = all.reduce((sum, one) => sum + one.messages.length, 0)
      return { runs: all.length, journal, messages }
    },
    now: async () => (await base.store.dueSchedules(1)).now,
    advance: async (ms) => void (await base.client.hincrby(state, 'ahead', ms)),
  }
}

/** With a text in such an entry that the store refuses, and with it all of the delta. */
function unstorable({ kind, name }: Pick<NewEntry, 'kind' | 'name'>): (delta: Delta) => Delta {
  return (delta) => {
    if (delta.kind !== 'turn') return delta
    const entries = delta.entries.map((entry) =>
      entry.kind === kind && entry.name === name ? { ...entry, payload: '\0' } : entry,
    )
    return { ...delta, entries }
  }
}

/** An engine that is closed when the test ends. */
async function engineIn(
  schema: string,
  workflows: readonly unknown[],
  more: More,
  open: (log: Log) => Promise<Opened>,
): Promise<unknown> {
  const lines: string[] = []
  const say = (level: string) => (message: string) => void lines.push(`${level}: ${message}`)
  const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  const given = { database: 'memory:', schema, workflows, log, ...more.options }
  const settings = readEngineOptions(given, more.env ?? {})
  const opened = await open(log)
  const counters = newCounters()
  const engine = await composeEngine(settings, {
    opened: more.store?.(opened) ?? opened,
    kernel: { counters, pollMs: 50, ...more.kernel },
    ...(more.retentionEveryMs !== undefined && { retentionEveryMs: more.retentionEveryMs }),
  })
  onTestFinished(() => engine.close())
  return Object.assign(engine as unknown as Engine<never>, { counters, lines })
}

async function openBase(
  database: Database,
): Promise<{ readonly driver: Driver; readonly query: Driver['query'] }> {
  const driver =
    database.name === 'pglite'
      ? await theEmbedded()
      : await openPgDriver({ target: urlOf(database) })
  return { driver, query: (lane, sql, params) => driver.query(lane, sql, params) }
}

let embedded: Promise<Driver> | null = null

/** One for all files of this process: to start it costs seconds. Each world has a schema of its own. */
function theEmbedded(): Promise<Driver> {
  const silent = () => {}
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  embedded ??= openEmbedded({ directory: null, production: false, allowInProduction: false, log })
  return embedded
}

/** Several engines share the one connection of an embedded database, and tests that of a server. */
export function unclosable(driver: Driver): Driver {
  return {
    kind: driver.kind,
    description: driver.description,
    query: (lane, sql, params) => driver.query(lane, sql, params),
    script: (sql) => driver.script(sql),
    begin: (limitMs) => driver.begin(limitMs),
    notify: (channel, payload) => driver.notify(channel, payload),
    listen: (channel, listener) => driver.listen(channel, listener),
    close: async () => {},
  }
}

/** A name that no other test of the schema uses. */
export const fresh = (word = 'w'): string => `${word}-${randomUUID().slice(0, 8)}`

/** Polls until it fits. */
export const eventually = <T>(look: () => Promise<T> | T) =>
  expect.poll(look, { timeout: 10_000, interval: 10 })

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms))

/** The PerdureError that it rejects with. */
export async function refusalOf(promise: Promise<unknown>): Promise<PerdureError> {
  const error: unknown = await promise.then(
    () => new Error('it did not reject'),
    (reason: unknown) => reason,
  )
  if (!PerdureError.is(error)) throw error
  return error
}

/** Something that the test lets happen. */
export function gate<T = void>(): {
  readonly passed: Promise<T>
  readonly open: (value: T) => void
} {
  let open: (value: T) => void = () => {}
  const passed = new Promise<T>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

/** Everything of a paged answer. */
export async function all<T>(paged: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of paged) items.push(item)
  return items
}

/** What happened to a run. That a step was asked for is written only if it takes long: a matter of the machine. */
export async function kindsOf(
  engine: { readonly history: (id: string) => AsyncIterable<{ readonly kind: string }> },
  id: string,
): Promise<string[]> {
  const kinds = (await all(engine.history(id))).map(({ kind }) => kind)
  return kinds.filter((kind) => kind !== 'step.asked')
}
