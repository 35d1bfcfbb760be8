// The one connection
//
// Owns:      the PGlite instance and whose turn it is.
// Talks to:  PGlite (out), the lock (asks before every statement).
//
// Invariants
//   C1. One user of the connection at a time, in the order in which they came; a transaction is one user.
//   C2. No statement runs once the lock is lost (K3), no matter how long it stood in the queue.
//   C3. PGlite answers within the same task, so a chain of awaited statements would keep every timer from
//       firing: heartbeats and limits. The connection lets the event loop turn at least every BREATH_MS.

import { setImmediate as turn } from 'node:timers/promises'
import type { PGlite, QueryOptions, Results } from '@electric-sql/pglite'
import { asDriverError, lostError } from './failure.js'
import type { DirectoryLock } from './lock.js'

const BREATH_MS = 10

export class Connection {
  readonly #db: PGlite
  readonly #lock: DirectoryLock | null
  #last: Promise<unknown> = Promise.resolve()
  #breathedAt = performance.now()

  constructor(db: PGlite, lock: DirectoryLock | null) {
    this.#db = db
    this.#lock = lock
  }

  /** Waits for the connection and has it until `work` is settled. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => {})
    return mine
  }

  /** Only for whoever has the connection. */
  query(sql: string, params: unknown[], options: QueryOptions): Promise<Results> {
    return this.#statement(() => this.#db.query(sql, params, options))
  }

  /** Statements without parameters, and the result of the last one. Only for whoever has the connection. */
  exec(sql: string): Promise<Results | undefined> {
    return this.#statement(async () => (await this.#db.exec(sql)).at(-1))
  }

  isInTransaction(): boolean {
    return this.#db.isInTransaction()
  }

  /** Writes a checkpoint, so a loser of the lock leaves it out. */
  async close(): Promise<void> {
    try {
      if (!this.#lock?.lost()) await this.#db.close()
    } finally {
      this.#lock?.release()
    }
  }

  async #statement<T>(run: () => Promise<T>): Promise<T> {
    try {
      const lost = this.#lock?.lost()
      if (lost) throw lostError(lost)
      return await run()
    } catch (error) {
      throw asDriverError(error)
    } finally {
      // After the statement, not before it: two of them keep their order.
      if (performance.now() - this.#breathedAt > BREATH_MS) {
        await turn()
        this.#breathedAt = performance.now()
      }
    }
  }
}
