// From the database option to an open store. The only place that knows which drivers there are; each is loaded
// when it is asked for.

import { sqlMissing } from './engine/errors.js'
import type { Settings } from './engine/options.js'
import { importPeer } from './engine/peer.js'
import type { Hints, Log } from './kernel/ports.js'
import type { ToolStore } from './kernel/store.js'
import { NO_HINTS, openHints } from './live-hints.js'
import type { Driver } from './store/driver.js'
import { VERSION } from './version.js'

export interface Opened {
  readonly store: ToolStore
  readonly hints: Hints
}

export async function openStore(settings: Settings, log: Log): Promise<Opened> {
  const { schema, database } = settings
  if (database.kind === 'redis') return openRedis(settings, database.url, log)
  const driver = await openDriver(settings, log)
  try {
    const { openSqlStore } = await import('./store/sql-store.js')
    // The embedded database is locked for one process: after a crash nobody waits for the lease of the dead one.
    const store = await openSqlStore({ driver, schema, alone: driver.kind === 'embedded' })
    const { transport, worker: executes } = settings
    const hints = transport
      ? await transport.open({ schema, executes, log })
      : await openHints(driver, schema, log)
    return { store, hints }
  } catch (error) {
    await driver.close()
    throw error
  }
}

async function openRedis(settings: Settings, url: string, log: Log): Promise<Opened> {
  const { schema, transport, worker: executes } = settings
  const { Redis } = await importPeer('ioredis', 'Redis as the database', () => import('ioredis'))
  const { openRedisStore } = await import('./redis/open.js')
  const opened = await openRedisStore(Redis, { url, schema, version: VERSION, log })
  if (!transport) return opened
  try {
    return { store: opened.store, hints: await transport.open({ schema, executes, log }) }
  } catch (error) {
    await opened.store.close()
    throw error
  }
}

/** A database that speaks SQL. */
export async function openDriver(
  settings: Pick<Settings, 'database' | 'listen' | 'production' | 'allowEmbeddedInProduction'>,
  log: Log,
): Promise<Driver> {
  const { database, listen, production, allowEmbeddedInProduction } = settings
  if (database.kind === 'redis') throw sqlMissing()
  if (database.kind === 'postgres' || database.kind === 'pool') {
    const { openPgDriver } = await importPeer(
      'pg',
      'A PostgreSQL database',
      () => import('./store/driver-pg/driver.js'),
    )
    const target = database.kind === 'pool' ? database.pool.options : database.url
    return openPgDriver({ target, ...(listen !== null && { listenTarget: listen }) })
  }
  const { openEmbedded } = await importPeer(
    '@electric-sql/pglite',
    'The embedded database',
    () => import('./store/driver-embedded/open-embedded.js'),
  )
  return openEmbedded({
    directory: database.kind === 'file' ? database.directory : null,
    production,
    allowInProduction: allowEmbeddedInProduction,
    log,
  })
}

/** For stateless runs: nothing is shared, nothing stays. */
export async function openMemory(now: () => number = steadyNow): Promise<Opened> {
  const { openMemoryStore } = await import('./store/memory.js')
  return { store: openMemoryStore({ now }), hints: NO_HINTS }
}

/** Wall time that no adjustment of the system's clock turns back. */
const steadyNow = (): number => Math.floor(performance.timeOrigin + performance.now())
