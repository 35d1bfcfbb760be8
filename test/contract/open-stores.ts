// The stores of the contract tests, on the databases of this test run. The only file here that knows how a server
// or an embedded database comes to be.

import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { openRedisStore } from '../../src/redis/open.js'
import type { Driver, Lane } from '../../src/store/driver.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { openMemoryStore } from '../../src/store/memory.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { provideRedis, type RedisServer } from '../support/redis.mjs'
import { unclosable } from '../support/world.js'
import type { OpenStore, StoreUnderTest } from './store-contract.js'

export { describeOn, freshSchema, urlOf }

interface OnPostgres extends StoreUnderTest {
  readonly driver: Driver
  readonly schema: string
  /** Statements that the store has sent so far, by lane. */
  readonly sent: Record<Lane, number>
}

/** A schema of its own on a server; `schema` lets a test look at the tables. */
export async function openPostgres(
  url: string,
  options: Parameters<OpenStore>[0] = {},
): Promise<OnPostgres> {
  const driver = await openPgDriver({ target: url })
  const schema = freshSchema()
  const sent = { commit: 0, beat: 0, read: 0 }
  const counting: Driver = {
    ...driver,
    query: (lane, sql, params) => {
      sent[lane] += 1
      return driver.query(lane, sql, params)
    },
  }
  const store = await openSqlStore({ driver: counting, schema, ...options })
  return {
    store,
    driver,
    schema,
    sent,
    advance: clockOf(driver, schema),
    async close() {
      await driver.script(`drop schema ${schema} cascade`)
      await store.close()
    },
  }
}

export function openPglite(): OpenStore {
  return sharing(() =>
    openEmbedded({
      directory: null,
      production: false,
      allowInProduction: false,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    }),
  )
}

/**
 * All tests of one file share one database, which is closed with the last of them. A schema is emptied and given to the
 * next test: making one takes longer than most tests.
 */
export function sharing(openDriver: () => Promise<Driver>): OpenStore {
  let shared: Promise<Driver> | null = null
  const free: { readonly schema: string; readonly emptying: string }[] = []
  afterAll(async () => {
    const driver = await shared
    if (!driver) return
    for (const { schema } of free) await driver.script(`drop schema ${schema} cascade`)
    await driver.close()
  })
  return async (options = {}) => {
    shared ??= openDriver()
    const driver = await shared
    const own = free.pop() ?? (await madeSchema(driver))
    const { schema, emptying } = own
    const shareable = { driver: unclosable(driver), schema, migrate: false }
    const store = await openSqlStore({ ...shareable, ...options })
    const advance = clockOf(driver, schema)
    let isMoved = false
    return {
      store,
      advance: (ms) => {
        isMoved = true
        return advance(ms)
      },
      close: async () => {
        await driver.script(emptying)
        if (isMoved) await clockOf(driver, schema)(0)
        free.push(own)
      },
    }
  }
}

async function madeSchema(driver: Driver) {
  const schema = freshSchema()
  await openSqlStore({ driver, schema })
  const tables = await driver.query(
    'read',
    `select tablename::text as "table" from pg_tables where schemaname = $1::text and tablename <> 'migrations'`,
    [schema],
  )
  return {
    schema,
    emptying: tables.map(({ table }) => `delete from ${schema}.${table};`).join('\n'),
  }
}

export const openMemory: OpenStore = async (options = {}) => {
  let offset = 0
  const now = () => Date.now() + offset
  return {
    store: openMemoryStore({ now, ...options }),
    advance: async (ms) => {
      offset += ms
    },
    close: async () => {},
  }
}

/** All tests of one file share one Redis, each with keys of its own. */
export function openRedis(): OpenStore {
  let shared: Promise<{ server: RedisServer; client: Redis }> | null = null
  const begin = async () => {
    const server = await provideRedis()
    return { server, client: new Redis(server.url) }
  }
  afterAll(async () => {
    const redis = await shared
    redis?.client.disconnect()
    await redis?.server.stop()
  })
  return async (options = {}) => {
    shared ??= begin()
    const { server, client } = await shared
    const schema = freshSchema()
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const given = { url: server.url, schema, version: 'test', log, snapshotEvery: 3, ...options }
    const { store } = await openRedisStore(Redis, given)
    return {
      store,
      advance: async (ms) => {
        await client.hincrby(`perdure:{${schema}}:state`, 'ahead', ms)
      },
      close: () => store.close(),
    }
  }
}

/** Moves the clock of one schema for all connections, whatever pools they come from. */
function clockOf(driver: Driver, schema: string): (ms: number) => Promise<void> {
  let offset = 0
  return async (ms) => {
    offset += ms
    await driver.script(
      `create or replace function ${schema}.clock_v1() returns timestamptz language sql volatile as $f$
         select date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond' * ${offset} $f$`,
    )
  }
}
