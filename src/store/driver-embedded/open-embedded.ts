// Opening the embedded database: refuse production, lock, initialise, open.
//
// The directory holds `postgres/` (PGlite's data), `lock`, and while one is being made `initialising-…/`. The
// lock lies inside it, because the directory may be a volume that several containers share.

import * as fs from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { Log } from '../../kernel/ports.js'
import {
  databaseUnsafe,
  embeddedFailed,
  embeddedInProduction,
  PerdureError,
} from '../../model/errors.js'
import { packedCluster } from './cluster.js'
import { Connection } from './connection.js'
import { EmbeddedDriver } from './driver.js'
import { initialised, START_PARAMS, stamp } from './initialise.js'
import { DirectoryLock, LOCK_TIMING, type LockTiming } from './lock.js'

const OTHERS_WRITE = 0o002

export interface EmbeddedOptions {
  /** Null: in memory, gone with the process. */
  readonly directory: string | null
  readonly production: boolean
  readonly allowInProduction: boolean
  readonly log: Log
  /** For tests. */
  readonly timing?: Partial<LockTiming>
}

export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDriver> {
  if (options.production && !options.allowInProduction) throw embeddedInProduction()
  const { directory, log } = options
  const description = `embedded in ${shown(directory)}`
  if (directory === null) {
    const db = await PGlite.create({ startParams: START_PARAMS, ...fromPacked() })
    return new EmbeddedDriver(new Connection(db, null), description, log)
  }
  try {
    const connection = await openDirectory(directory, options)
    return new EmbeddedDriver(connection, description, log)
  } catch (error) {
    throw PerdureError.is(error) ? error : embeddedFailed(shown(directory), 'opened', error)
  }
}

async function openDirectory(directory: string, options: EmbeddedOptions): Promise<Connection> {
  const { log } = options
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  checkSafe(directory)
  // Two names of one directory must give one lock.
  const place = fs.realpathSync(directory)
  const lock = await DirectoryLock.acquire({
    directory: shown(directory),
    path: join(place, 'lock'),
    timing: { ...LOCK_TIMING, ...options.timing },
    log,
  })
  try {
    const cluster = await initialised(place, log)
    const db = await PGlite.create({ dataDir: cluster, startParams: START_PARAMS })
    stamp(cluster)
    return new Connection(db, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

/** What others of this machine could put there would be read as ours, and what we write could go elsewhere. */
function checkSafe(directory: string): void {
  for (const path of [directory, join(directory, 'lock'), join(directory, 'postgres')]) {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    if (!stat?.isSymbolicLink()) continue
    const isWhole = path === directory
    throw databaseUnsafe(
      shown(directory),
      `${isWhole ? 'the directory' : shown(path)} is a symbolic link to ${fs.readlinkSync(path)}`,
      isWhole ? 'name the directory that it leads to: file:<directory>' : `remove ${shown(path)}`,
    )
  }
  const { mode } = fs.statSync(directory)
  // Windows has no such bits.
  if (process.platform === 'win32' || (mode & OTHERS_WRITE) === 0) return
  throw databaseUnsafe(
    shown(directory),
    `everybody on this machine may write to the directory (mode ${(mode & 0o777).toString(8)})`,
    `chmod o-w ${shown(directory)}, or name a directory inside it (it is made), then start again`,
  )
}

function fromPacked(): { readonly loadDataDir?: Blob } {
  const packed = packedCluster()
  return packed ? { loadDataDir: new Blob([packed]) } : {}
}

/** What people see at the start. */
export function embeddedBanner(directory: string | null): string {
  const survives =
    directory === null ? 'gone with this process' : 'survives crashes, not power cuts'
  return `embedded in ${shown(directory)} (${survives}; set DATABASE_URL for PostgreSQL)`
}

function shown(directory: string | null): string {
  if (directory === null) return 'memory'
  const from = relative(process.cwd(), resolve(directory))
  return from === '' || from.startsWith('..') || isAbsolute(from) ? resolve(directory) : from
}
