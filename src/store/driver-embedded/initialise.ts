// Making a data directory: in a process of its own, because initdb keeps half a gigabyte, and
// under another name until it is whole, because a half-made one cannot be told from a whole one.
// The caller holds the lock of the directory.

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import type { Log } from '../../kernel/ports.js'
import { databaseVersion, embeddedFailed } from '../../model/errors.js'

/** What the pinned PGlite contains. It cannot be asked before a directory is open. */
export const POSTGRES_MAJOR = 18

/** 16 MB instead of 128: half the memory at the same speed. The option replaces the defaults. */
export const START_PARAMS = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB']

const CLUSTER = 'postgres'
const UNFINISHED = 'initialising-'
const STAMP = 'perdure.json'

/** The directory for PGlite inside `directory`, made if it is not there. */
export async function initialised(directory: string, log: Log): Promise<string> {
  const cluster = join(directory, CLUSTER)
  removeUnfinished(directory, log)
  if (!fs.existsSync(join(cluster, 'PG_VERSION'))) {
    try {
      await make(directory, cluster)
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
  const text = `${JSON.stringify({ pglite: pglite().version, postgres: POSTGRES_MAJOR })}\n`
  const path = join(cluster, STAMP)
  if (fs.existsSync(path) && fs.readFileSync(path, 'utf8') === text) return
  fs.writeFileSync(path, text)
}

/** We hold the lock, so whoever began these is dead or about to notice that its parent is. */
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

async function make(directory: string, cluster: string): Promise<void> {
  const unfinished = join(directory, `${UNFINISHED}${randomUUID()}`)
  try {
    await runChild(unfinished, directory)
    stamp(unfinished)
    fs.renameSync(unfinished, cluster)
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** As a text on the command line, so that it needs no compiled file and no loader. */
function childScript(dataDir: string): string {
  return `
    import { PGlite } from ${JSON.stringify(pglite().url)}
    process.stdin.on('error', () => process.exit(1)).on('end', () => process.exit(1)).resume()
    const db = await PGlite.create(${JSON.stringify({ dataDir, startParams: START_PARAMS })})
    await db.close()
    process.exit(0)`
}

function runChild(dataDir: string, cwd: string): Promise<void> {
  // A debugger's port or a loader of the parent is not for the child.
  const { NODE_OPTIONS: _, ...env } = process.env
  // Its input ends when this process does, however it does: then the child goes too.
  const child = spawn(process.execPath, ['--input-type=module', '--eval', childScript(dataDir)], {
    cwd,
    env: { ...env, ELECTRON_RUN_AS_NODE: '1' },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) return resolve()
      reject(new Error(`initdb ended with ${signal ?? `code ${code}`}. ${complaint}`.trim()))
    })
  })
}

function pglite(): { readonly url: string; readonly version: string } {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const root = dirname(dirname(entry))
  const { version } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  return { url: pathToFileURL(join(root, 'dist', 'index.js')).href, version }
}
