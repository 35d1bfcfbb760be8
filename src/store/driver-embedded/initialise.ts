// Making a data directory: under another name until it is whole, because a half-made one cannot be told from a whole one.
// It is unpacked from the one that comes with the package; without that initdb makes it, which takes seconds and half a
// gigabyte. The caller holds the lock of the directory.

import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { Log } from '../../kernel/ports.js'
import { databaseVersion, embeddedFailed } from '../../model/errors.js'
import { packedCluster, pgliteVersion, unpack } from './cluster.js'

/** What the pinned PGlite contains. It cannot be asked before a directory is open. */
export const POSTGRES_MAJOR = 18

/** 16 MB instead of 128: half the memory at the same speed. The option replaces the defaults. */
export const START_PARAMS = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB']

const CLUSTER = 'postgres'
const UNFINISHED = 'initialising-'
const STAMP = 'perdure.json'

/** The directory for PGlite inside `directory`, made if it is not there. */
export async function initialised(
  directory: string,
  log: Log,
  packed = packedCluster,
): Promise<string> {
  const cluster = join(directory, CLUSTER)
  removeUnfinished(directory, log)
  if (!fs.existsSync(join(cluster, 'PG_VERSION'))) {
    try {
      await make(directory, cluster, packed())
    } catch (error) {
      throw embeddedFailed(directory, 'created', error)
    }
  }
  const found = fs.readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (found !== String(POSTGRES_MAJOR)) throw databaseVersion(directory, found, POSTGRES_MAJOR)
  return cluster
}

/** Notes which PGlite has opened the directory last: for people, and for a later release that must convert. */
export function stamp(cluster: string): void {
  const text = `${JSON.stringify({ pglite: pgliteVersion(), postgres: POSTGRES_MAJOR })}\n`
  const path = join(cluster, STAMP)
  if (fs.existsSync(path) && fs.readFileSync(path, 'utf8') === text) return
  fs.writeFileSync(path, text)
}

/** We hold the lock, so whoever began these is dead. */
function removeUnfinished(directory: string, log: Log): void {
  for (const name of fs.readdirSync(directory)) {
    if (!name.startsWith(UNFINISHED)) continue
    try {
      fs.rmSync(join(directory, name), { recursive: true, force: true, maxRetries: 5 })
    } catch (error) {
      log.debug('an unfinished data directory is left for the next start', { name, error })
    }
  }
}

async function make(directory: string, cluster: string, packed: Buffer | null): Promise<void> {
  const unfinished = join(directory, `${UNFINISHED}${randomUUID()}`)
  try {
    if (packed) unpack(packed, unfinished)
    else await (await PGlite.create({ dataDir: unfinished, startParams: START_PARAMS })).close()
    stamp(unfinished)
    fs.renameSync(unfinished, cluster)
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true, maxRetries: 5 })
  }
}
