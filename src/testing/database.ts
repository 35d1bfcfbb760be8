// One database in memory for all test engines of this process, opened at first use. Each engine has a schema of its
// own and one for the tables of the user. The schema of a closed engine is emptied and given to the next one: making
// one takes longer, and the plans of its functions are kept.

import { importPeer } from '../engine/peer.js'
import type { ToolStore } from '../kernel/store.js'
import { standardLog } from '../live-log.js'
import type { Driver, DriverTransaction } from '../store/driver.js'
import { openSqlStore } from '../store/sql-store.js'

export interface TestDatabase {
  /** A store as a process opens it that has just started: alone, so whoever was there before is dead. */
  openStore(owner: Owner): Promise<ToolStore>
  /** Sets the clock that every statement of the engine reads. */
  setNow(ms: number): Promise<void>
  close(): Promise<void>
}

/** The life that a store is for. */
export interface Owner {
  readonly alive: boolean
}
const NOBODY: Owner = { alive: true }

interface Schema {
  readonly name: string
  /** Empties every table but that of the migrations. */
  readonly emptying: string
  uses: number
}

/** Deleted rows stay until somebody vacuums, so a schema is not used for ever. */
const USES_MAX = 50

let shared: Promise<Driver> | null = null
let count = 0
const free: Schema[] = []

/** A failed opening is tried again by the next engine. */
function sharedDriver(): Promise<Driver> {
  shared ??= openDriver().catch((error: unknown) => {
    shared = null
    throw error
  })
  return shared
}

async function openDriver(): Promise<Driver> {
  const { openEmbedded } = await importPeer(
    '@electric-sql/pglite',
    'A test engine',
    () => import('../store/driver-embedded/open-embedded.js'),
  )
  const options = { directory: null, production: false, allowInProduction: false }
  return openEmbedded({ ...options, log: standardLog({ level: 'warn' }) })
}

export async function openTestDatabase(nowMs: number): Promise<TestDatabase> {
  const driver = await sharedDriver()
  const schema = free.pop() ?? (await makeSchema(driver))
  const { name } = schema
  const setNow = async (ms: number): Promise<void> => {
    await driver.query('commit', 'select set_config($1::text, $2::text, false) as now_ms', [
      settingOf(name),
      String(ms),
    ])
  }
  await setNow(nowMs)
  let isOpen = true
  return {
    openStore: (owner) => {
      const own = viewOf(driver, name, owner)
      return openSqlStore({ driver: own, schema: name, migrate: false, alone: true })
    },
    setNow,
    close: async () => {
      if (isOpen) await giveBack(driver, schema)
      isOpen = false
    },
  }
}

/** The tables as every engine has them; only the clock is another. */
async function makeSchema(driver: Driver): Promise<Schema> {
  count += 1
  const name = `test_${count}`
  await (await openSqlStore({ driver: viewOf(driver, name, NOBODY), schema: name })).close()
  await driver.script(`
    create schema ${userSchema(name)};
    create or replace function ${name}.clock_v1() returns timestamptz language sql volatile as
      $f$ select ${name}.instant_v1(current_setting('${settingOf(name)}')::float8) $f$;`)
  const tables = await driver.query(
    'read',
    `select tablename::text as "table" from pg_tables where schemaname = $1::text and tablename <> 'migrations'`,
    [name],
  )
  const emptying = tables.map(({ table }) => `delete from ${name}.${table};`).join('\n')
  return { name, emptying, uses: 0 }
}

async function giveBack(driver: Driver, schema: Schema): Promise<void> {
  const { name, emptying } = schema
  schema.uses += 1
  if (schema.uses >= USES_MAX) {
    return driver.script(`drop schema ${name} cascade; drop schema ${userSchema(name)} cascade;`)
  }
  await driver.script(
    `${emptying} drop schema ${userSchema(name)} cascade; create schema ${userSchema(name)};`,
  )
  free.push(schema)
}

const userSchema = (name: string): string => `${name}_user`
const settingOf = (name: string): string => `perdure_test.${name}`

/** The shared connection as one engine sees it: names without a schema are its own, and closing leaves it open. */
function viewOf(driver: Driver, name: string, owner: Owner): Driver {
  return {
    kind: driver.kind,
    description: 'the database of the test kit',
    query: (lane, sql, params) => driver.query(lane, sql, params),
    script: (sql) => driver.script(sql),
    begin: (limitMs) => beginFor(driver, userSchema(name), owner, limitMs),
    notify: () => {},
    listen: async () => async () => {},
    close: async () => {},
  }
}

async function beginFor(
  driver: Driver,
  schema: string,
  owner: Owner,
  limitMs: number,
): Promise<DriverTransaction> {
  const transaction = await driver.begin(limitMs)
  await transaction.query(`set local search_path to ${schema}, public`)
  const restore = await sequencesOf(transaction, schema)
  const rollback = async (): Promise<void> => {
    if (!owner.alive) await restore()
    await transaction.rollback()
  }
  return {
    query: (sql, params) => transaction.query(sql, params),
    commit: () => transaction.commit(),
    rollback,
    inside: (work) => transaction.inside?.(work) ?? work(),
  }
}

/** The tables of the user alone, for an engine that keeps its own elsewhere. */
export interface UserTables {
  begin(owner: Owner, limitMs: number): Promise<DriverTransaction>
  close(): Promise<void>
}

export async function openUserTables(): Promise<UserTables> {
  const driver = await sharedDriver()
  count += 1
  const schema = userSchema(`test_${count}`)
  await driver.script(`create schema ${schema}`)
  return {
    begin: (owner, limitMs) => beginFor(driver, schema, owner, limitMs),
    close: () => driver.script(`drop schema ${schema} cascade`),
  }
}

/**
 * Gives back the way to set the sequences of the user back to where they stand. Numbers that a dead worker took leave
 * a gap on a server. Here the scenario of crashEverywhere would find another id in its result each time, and that is
 * no mistake of the workflow.
 */
async function sequencesOf(
  transaction: DriverTransaction,
  schema: string,
): Promise<() => Promise<void>> {
  const { rows } = await transaction.query(
    `select format('%I.%I', schemaname, sequencename) as name, coalesce(last_value, start_value)::text as value,
        last_value is not null as called from pg_sequences where schemaname = $1`,
    [schema],
  )
  return async () => {
    try {
      for (const { name, value, called } of rows) {
        await transaction.query('select setval($1, $2, $3)', [name, value, called])
      }
    } catch {
      // A statement of the user had failed, or the sequence is not there any more.
    }
  }
}
