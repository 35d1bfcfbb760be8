// The Driver port on PGlite: one connection for every lane.

import type { Log } from '../../kernel/ports.js'
import { insideTransaction } from '../../model/errors.js'
import { TRANSACTION_MS } from '../../model/limits.js'
import type { Driver, Lane, Row, SqlValue } from '../driver.js'
import type { Connection } from './connection.js'
import { closedError } from './failure.js'
import { currentTransaction } from './inside.js'
import { EmbeddedTransaction } from './transaction.js'
import { ENGINE_OPTIONS, prepared } from './values.js'

type Listener = (payload: string) => void

export class EmbeddedDriver implements Driver {
  readonly kind = 'embedded'
  readonly description: string
  readonly #connection: Connection
  readonly #log: Log
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #transactions = new WeakSet<object>()
  #closing: Promise<void> | null = null

  constructor(connection: Connection, description: string, log: Log) {
    this.#connection = connection
    this.description = description
    this.#log = log
  }

  /**
   * The open transaction of this driver that the calling code is inside of. Waiting for the connection there
   * would be waiting for oneself: reads go through the transaction, writes are refused.
   */
  inside(): EmbeddedTransaction | null {
    const found = currentTransaction()
    if (!(found instanceof EmbeddedTransaction) || !this.#transactions.has(found)) return null
    return found.open ? found : null
  }

  async query(lane: Lane, sql: string, params: readonly SqlValue[]): Promise<readonly Row[]> {
    const around = this.inside()
    if (around !== null && lane === 'read') return around.read(sql, params)
    if (around !== null && lane === 'commit') throw insideTransaction('A write of the engine')
    // A beat is nobody's await: it may stand in the queue.
    return this.#exclusive(async () => {
      const result = await this.#connection.query(sql, params.map(prepared), ENGINE_OPTIONS)
      return result.rows as Row[]
    })
  }

  async script(sql: string): Promise<void> {
    if (this.inside() !== null) throw insideTransaction('A migration')
    await this.#exclusive(async () => {
      await this.#connection.exec('begin')
      try {
        await this.#connection.exec(sql)
        await this.#connection.exec('commit')
      } catch (error) {
        await this.#connection.exec('rollback').catch(() => {})
        throw error
      }
    })
  }

  async begin(limitMs: number, isLong = false): Promise<EmbeddedTransaction> {
    if (this.inside() !== null) throw insideTransaction('Another transaction')
    return new Promise((resolve, reject) => {
      this.#exclusive(async () => {
        const transaction = await EmbeddedTransaction.begin(
          this.#connection,
          isLong ? limitMs : Math.min(limitMs, TRANSACTION_MS),
        )
        this.#transactions.add(transaction)
        resolve(transaction)
        await transaction.freed
      }).catch(reject)
    })
  }

  notify(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      setImmediate(() => {
        if (this.#listeners.get(channel)?.has(listener)) this.#deliver(listener, payload)
      })
    }
  }

  async listen(channel: string, listener: Listener): Promise<() => Promise<void>> {
    // One function given twice is two listeners.
    const own: Listener = (payload) => listener(payload)
    const listeners = this.#listeners.get(channel) ?? new Set()
    this.#listeners.set(channel, listeners.add(own))
    return async () => {
      listeners.delete(own)
    }
  }

  /** What is in the queue is still done; an open transaction ends by itself within its limit. */
  close(): Promise<void> {
    this.#closing ??= this.#connection.exclusive(() => {
      this.#listeners.clear()
      return this.#connection.close()
    })
    return this.#closing
  }

  #deliver(listener: Listener, payload: string): void {
    try {
      listener(payload)
    } catch (error) {
      this.#log.error('a listener of the embedded database threw', { error })
    }
  }

  async #exclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== null) throw closedError()
    return this.#connection.exclusive(work)
  }
}
