// A database as tools open it: nothing is migrated unless that is what they do, and no worker's row is touched.

import { existsSync } from 'node:fs'
import { readEngineOptions, type Settings } from '../engine/options.js'
import type { Log } from '../kernel/ports.js'
import type { ToolStore } from '../kernel/store.js'
import { standardLog } from '../live-log.js'
import { openDriver } from '../open-store.js'
import type { Driver } from '../store/driver.js'
import { migrate, pendingMigrations } from '../store/migrate.js'
import { openSqlStore } from '../store/sql-store.js'
import { databaseMissing, databaseOlder } from './errors.js'

export interface Place {
  /** As createEngine takes it. */
  readonly database?: string | undefined
  readonly schema?: string | undefined
}

export interface OpenedPlace {
  readonly driver: Driver
  /** Its tables may be of another version, or not be there. */
  readonly store: ToolStore
  readonly schema: string
  readonly settings: Settings
  readonly log: Log
}

/** `place` may have the other options of an engine beside these. `isMaking`: an embedded database that is not there is made. */
export async function withDatabase<T>(
  { database, schema: named, ...more }: Place,
  work: (place: OpenedPlace) => Promise<T>,
  isMaking = false,
): Promise<T> {
  const settings = readEngineOptions(
    { ...more, ...(database && { database }), ...(named && { schema: named }) },
    process.env,
  )
  const file = settings.database.kind === 'file' ? settings.database.directory : null
  if (file !== null && !isMaking && !existsSync(file)) throw databaseMissing(file)
  const log = settings.log ?? standardLog()
  const driver = await openDriver({ ...settings, allowEmbeddedInProduction: true }, log)
  try {
    const { schema } = settings
    // Says what is wrong with a server that does not answer, or cannot be written to.
    const store = await openSqlStore({ driver, schema, migrate: false })
    return await work({ driver, store, schema, settings, log })
  } finally {
    await driver.close()
  }
}

/** With the tables of this version. Throws DATABASE_OLDER; `isMigrating`: it brings them there. */
export function withStore<T>(
  place: Place,
  work: (store: ToolStore, place: OpenedPlace) => Promise<T>,
  isMigrating = false,
): Promise<T> {
  const withTables = async (opened: OpenedPlace): Promise<T> => {
    const { driver, store, schema } = opened
    if (isMigrating) await migrate(driver, schema)
    const { applied, pending } = await pendingMigrations(driver, schema)
    if (pending.length > 0) throw databaseOlder(driver, schema, applied, pending.length)
    return work(store, opened)
  }
  return withDatabase(place, withTables, isMigrating)
}
