// Redis as the database: opens the log, and gives the store and the hints on it.

import type { Redis } from 'ioredis'
import type { Hints, Log } from '../kernel/ports.js'
import type { ToolStore } from '../kernel/store.js'
import { Connection } from './connection.js'
import { openRedisHints } from './hints.js'
import { RedisLog } from './log.js'
import { redisStore } from './store.js'

export interface RedisStoreOptions {
  readonly url: string
  readonly schema: string
  /** Of Perdure: all processes must apply the log alike. */
  readonly version: string
  readonly log: Log
  readonly mailboxMax?: number
  /** Entries of the log. */
  readonly snapshotEvery?: number
}

/** Closing the store closes the connections of the hints too. */
export async function openRedisStore(
  Client: typeof Redis,
  { url, ...options }: RedisStoreOptions,
): Promise<{ readonly store: ToolStore; readonly hints: Hints }> {
  const connection = new Connection(Client, url, options.log)
  await connection.open()
  try {
    const log = new RedisLog(connection, options)
    await log.open()
    const store = redisStore(log, () => connection.close())
    return { store, hints: openRedisHints(connection, options.schema) }
  } catch (error) {
    connection.close()
    throw error
  }
}
