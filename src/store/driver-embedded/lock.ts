// The lock of a data directory
//
// Owns:      the lock file, its heartbeat, and the list of directories that this process has open.
// Talks to:  the file system. The driver asks `lost` before every statement.
//
// Invariants
//   K1. A lock is never taken from a process that is seen alive.
//   K2. The holder writes its heartbeat through the descriptor it opened, never through the path: after a
//       take-over it touches its own, unlinked file.
//   K3. A holder whose nonce is not in the file any more never runs another statement; even a read may write
//       pages, and so may closing.
//   K4. A take-over happens only by the one process that made `<lock>.next`, and only if the file still is the
//       one that was judged.

import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../kernel/ports.js'
import { databaseLocked, databaseLockLost, type PerdureError } from '../../model/errors.js'
import { type Holder, identify, judge, lookAt, parseHolder } from './holder.js'

export interface LockTiming {
  readonly heartbeatMs: number
  /** A holder that cannot be looked at is dead after so long without a heartbeat. */
  readonly watchMs: number
}
export const LOCK_TIMING: LockTiming = { heartbeatMs: 2_000, watchMs: 10_000 }

/** Contenders that keep getting in each other's way; each round waits a little longer. */
const ROUNDS_MAX = 30

interface Place {
  readonly directory: string
  readonly path: string
  readonly timing: LockTiming
  readonly log: Log
}

/** Shared by all copies of this module in the thread; another thread is told by its heartbeat. */
const OPENED = Symbol.for('perdure.embedded.opened')
const shared = globalThis as { [OPENED]?: Set<string> }
shared[OPENED] ??= new Set()
const opened = shared[OPENED]

export class DirectoryLock {
  readonly #place: Place
  readonly #holder: Holder
  readonly #descriptor: number
  readonly #inode: bigint
  readonly #timer: NodeJS.Timeout
  #lost: PerdureError | null = null
  #released = false

  static async acquire(place: Place): Promise<DirectoryLock> {
    const { path, directory } = place
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      if (opened.has(path)) {
        throw databaseLocked(directory, path, { pid: process.pid, self: true })
      }
      const holder = newHolder()
      const descriptor = create(path, holder)
      if (descriptor !== null) return new DirectoryLock(place, holder, descriptor)
      const found = read(path)
      if (found === null) continue
      if ((await settled(found, path, place)) === 'alive') {
        const pid = parseHolder(found)?.pid ?? null
        throw databaseLocked(directory, path, { pid, self: false })
      }
      const taken = await takeOver(found, holder, place)
      if (taken !== null) return new DirectoryLock(place, holder, taken)
      await sleep(Math.random() * 10 * round)
    }
    throw databaseLocked(directory, path, { pid: null, self: false })
  }

  private constructor(place: Place, holder: Holder, descriptor: number) {
    opened.add(place.path)
    this.#place = place
    this.#holder = holder
    this.#descriptor = descriptor
    this.#inode = fs.fstatSync(descriptor, { bigint: true }).ino
    this.#timer = setInterval(() => this.#beat(), place.timing.heartbeatMs).unref()
  }

  /** Why this process may not touch the data any more, or null. Costs one stat while all is well. */
  lost(): PerdureError | null {
    if (this.#lost !== null || this.#released) return this.#lost
    // While the descriptor is open no other file can get its number: the same number is the same file.
    const seen = fs.statSync(this.#place.path, { bigint: true, throwIfNoEntry: false })
    return seen?.ino === this.#inode ? null : this.#verify()
  }

  release(): void {
    if (this.#released) return
    const lost = this.lost()
    this.#released = true
    clearInterval(this.#timer)
    if (lost === null) fs.rmSync(this.#place.path, { force: true })
    fs.closeSync(this.#descriptor)
    opened.delete(this.#place.path)
  }

  #beat(): void {
    try {
      if (this.#verify() === null) write(this.#descriptor, this.#holder)
    } catch (error) {
      // A disk that is full or away. Others in our namespace still see the process.
      this.#place.log.warn('the heartbeat of the embedded database could not be written', { error })
    }
  }

  #verify(): PerdureError | null {
    if (this.#lost !== null) return this.#lost
    const { directory, path, log } = this.#place
    const now = parseHolder(read(path) ?? '')
    if (now?.nonce === this.#holder.nonce) return null
    this.#lost = databaseLockLost(directory, now?.pid ?? null)
    clearInterval(this.#timer)
    log.error(this.#lost.message, { hint: this.#lost.hint })
    return this.#lost
  }
}

/** Judges what is in the file; where that is not possible, watches whether it moves. */
async function settled(found: string, path: string, place: Place): Promise<'alive' | 'dead'> {
  const holder = parseHolder(found)
  const verdict = holder === null ? 'unclear' : judge(holder, identify(), Date.now(), lookAt)
  if (verdict !== 'unclear') return verdict
  const { timing, log, directory } = place
  log.warn(
    `the embedded database in ${directory} is locked from another container or machine; watching its heartbeat for ${timing.watchMs / 1_000} s`,
    { pid: holder?.pid },
  )
  const until = performance.now() + timing.watchMs
  while (performance.now() < until) {
    await sleep(Math.min(100, timing.watchMs / 5))
    const now = read(path)
    // Gone or another's: not this one's end to decide. The take-over looks again.
    if (now === null) return 'dead'
    if (now === found) continue
    const other = parseHolder(now)
    if (holder === null && other !== null) return settled(now, path, place)
    return other?.nonce === holder?.nonce ? 'alive' : 'dead'
  }
  return 'dead'
}

/** The descriptor of the new lock, or null if another was faster. */
async function takeOver(found: string, holder: Holder, place: Place): Promise<number | null> {
  const { path, log, directory } = place
  const next = `${path}.next`
  const descriptor = create(next, holder)
  if (descriptor === null) {
    const contender = read(next)
    if (contender !== null && (await settled(contender, next, place)) === 'dead') {
      if (read(next) === contender) fs.rmSync(next, { force: true })
    }
    return null
  }
  try {
    // K4: what was judged, heartbeat included.
    if (read(path) === found) fs.renameSync(next, path)
    else fs.rmSync(next, { force: true })
    if (parseHolder(read(path) ?? '')?.nonce === holder.nonce) {
      log.info(`took over the embedded database in ${directory} from a process that has ended`, {
        pid: parseHolder(found)?.pid,
      })
      return descriptor
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  fs.closeSync(descriptor)
  return null
}

function newHolder(): Holder {
  return { ...identify(), nonce: randomUUID(), heartbeat: Date.now() }
}

function create(path: string, holder: Holder): number | null {
  let descriptor: number
  try {
    descriptor = fs.openSync(path, 'wx', 0o644)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
    throw error
  }
  try {
    write(descriptor, holder)
    return descriptor
  } catch (error) {
    // Empty it would be watched by every later open.
    fs.closeSync(descriptor)
    fs.rmSync(path, { force: true })
    throw error
  }
}

/** Always the same length, in one write: a reader sees the old or the new text. */
function write(descriptor: number, holder: Holder): void {
  fs.writeSync(descriptor, `${JSON.stringify({ ...holder, heartbeat: Date.now() })}\n`, 0)
}

function read(path: string): string | null {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
