// A transaction for user code: it has the one connection until it ends, so it ends soon.

import type { DriverError, DriverTransaction, QueryConfig, Row, SqlValue } from '../driver.js'
import type { Connection } from './connection.js'
import { abortedError, asUserSees, endedBySqlError, endedError, overLimitError } from './failure.js'
import { runInside } from './inside.js'
import { ENGINE_OPTIONS, prepared, userOptions } from './values.js'

type Answer = Awaited<ReturnType<DriverTransaction['query']>>

export class EmbeddedTransaction implements DriverTransaction {
  readonly #connection: Connection
  readonly #limitMs: number
  readonly #deadline: number
  readonly #timer: NodeJS.Timeout
  #free: () => void = () => {}
  /** Why no statement is taken any more. */
  #over: DriverError | null = null
  #last: Promise<unknown> = Promise.resolve()

  /** Settles when the connection is free again. */
  readonly freed: Promise<void>

  static async begin(connection: Connection, limitMs: number): Promise<EmbeddedTransaction> {
    await connection.exec('begin')
    return new EmbeddedTransaction(connection, limitMs)
  }

  private constructor(connection: Connection, limitMs: number) {
    this.#connection = connection
    this.#limitMs = limitMs
    this.#deadline = performance.now() + limitMs
    this.freed = new Promise((resolve) => {
      this.#free = resolve
    })
    this.#timer = setTimeout(() => this.#expire(), limitMs)
  }

  get open(): boolean {
    return this.#over === null
  }

  /** Runs user code so that the driver knows of it: its reads see this transaction, its writes are refused. */
  inside<T>(work: () => T): T {
    return runInside(this, work)
  }

  query(sql: string | QueryConfig, params?: readonly unknown[]): Promise<Answer> {
    const { text, values = [], ...how } = typeof sql === 'string' ? { text: sql } : sql
    return this.#serial(async () => {
      await this.#check()
      const asked = this.#connection.query(text, (params ?? values).map(prepared), userOptions(how))
      const result = await asked.catch((error: unknown) => {
        throw asUserSees(error)
      })
      if (!this.#connection.isInTransaction()) {
        await this.#end(endedBySqlError(), 'rollback')
        throw endedBySqlError()
      }
      const { rows, rowCount = null, command } = result
      return { rows, rowCount, ...(command && { command }) }
    })
  }

  /** A read of the engine made by user code inside. */
  read(sql: string, params: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.#serial(async () => {
      await this.#check()
      const result = await this.#connection.query(sql, params.map(prepared), ENGINE_OPTIONS)
      return result.rows as Row[]
    })
  }

  commit(): Promise<void> {
    return this.#serial(async () => {
      await this.#check()
      await this.#end(endedError('committed'), 'commit')
    })
  }

  /** Also after a failure or the limit, when there is nothing left to do. */
  rollback(): Promise<void> {
    return this.#serial(async () => {
      if (this.#over === null) await this.#end(endedError('rolled back'), 'rollback')
    })
  }

  /** What was asked for without waiting still happens in order, and nothing after the end: it would be outside. */
  #serial<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => {})
    return mine
  }

  /** The timer cannot fire while a statement runs, so the clock is asked as well. */
  async #check(): Promise<void> {
    const over = overLimitError(this.#limitMs)
    if (this.#over === null && performance.now() > this.#deadline) await this.#end(over, 'rollback')
    if (this.#over !== null) throw this.#over
  }

  #expire(): void {
    this.#serial(async () => {
      if (this.#over === null) await this.#end(overLimitError(this.#limitMs), 'rollback')
    }).catch(() => {})
  }

  #end(over: DriverError, how: 'commit' | 'rollback'): Promise<void> {
    this.#over = over
    clearTimeout(this.#timer)
    return this.#finish(how).finally(() => this.#free())
  }

  async #finish(how: 'commit' | 'rollback'): Promise<void> {
    const result = await this.#connection.exec(how)
    if (how === 'commit' && result?.command === 'ROLLBACK') throw abortedError()
  }
}
