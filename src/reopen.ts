// One open database under one engine after another: new code takes over while the old one ends what it has begun. The
// embedded database has room for one process, so that a new process would have to wait for the old one.

import { composeEngine } from './compose-engine.js'
import type { EngineOptions } from './engine/engine-options.js'
import { readEngineOptions } from './engine/options.js'
import type { Engine } from './engine/types.js'
import type { Hints } from './kernel/ports.js'
import { standardLog } from './live-log.js'
import { type Opened, openStore } from './open-store.js'

export interface Place {
  /** Where the data is, for people. */
  readonly description: string
  readonly isEmbedded: boolean
  /** Of the embedded database, where it is not in memory. */
  readonly directory: string | null
}

export interface Reopened extends Place {
  /** An engine of its own, with its own worker. Closing it leaves the database open. Its `database` and `schema` are not looked at. */
  open(options: EngineOptions<readonly unknown[]>): Promise<Engine>
  close(): Promise<void>
}

export async function openDatabase(options: EngineOptions<readonly unknown[]>): Promise<Reopened> {
  const settings = readEngineOptions(options, process.env)
  const opened = await openStore(settings, settings.log ?? standardLog())
  return {
    ...(await placeOf(options)),
    open: (own) => composeEngine(readEngineOptions(own, process.env), { opened: lent(opened) }),
    close: async () => {
      await opened.hints.close()
      await opened.store.close()
    },
  }
}

/** Without opening anything. */
export async function placeOf(options: EngineOptions<readonly unknown[]>): Promise<Place> {
  const { database } = readEngineOptions(options, process.env)
  if (database.kind === 'postgres' || database.kind === 'pool') {
    const { describeTarget } = await import('./store/driver-pg/connection.js')
    const target = database.kind === 'pool' ? database.pool.options : database.url
    return { description: describeTarget(target), isEmbedded: false, directory: null }
  }
  if (database.kind === 'redis') {
    const { describeRedis } = await import('./redis/connection.js')
    return { description: describeRedis(database.url), isEmbedded: false, directory: null }
  }
  const { embeddedBanner } = await import('./store/driver-embedded/open-embedded.js')
  const directory = database.kind === 'file' ? database.directory : null
  return { description: embeddedBanner(directory), isEmbedded: true, directory }
}

/** An engine closes what it was given: this leaves the database as it is. */
function lent({ store, hints }: Opened): Opened {
  return {
    store: new Proxy(store, {
      get: (from, name) => {
        if (name === 'close') return async () => {}
        const value: unknown = Reflect.get(from, name)
        return typeof value === 'function' ? value.bind(from) : value
      },
    }),
    hints: lentHints(hints),
  }
}

function lentHints(hints: Hints): Hints {
  const ends = new Set<() => void>()
  return {
    publish: (hint) => hints.publish(hint),
    ...(hints.wake && { wake: (runs) => hints.wake?.(runs) }),
    subscribe: (listener) => {
      const end = hints.subscribe(listener)
      ends.add(end)
      return () => {
        ends.delete(end)
        end()
      }
    },
    close: async () => {
      for (const end of ends) end()
    },
  }
}
