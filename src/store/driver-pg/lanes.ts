// Lanes: connections of our own, by what they are for.
//
// Owns:      one small pool per lane. A pool connects when it is first used and again by itself after an outage.
// Invariants
//   L1. A beat never waits for a commit, a commit never for a read or for user code.
//   L2. A connection whose answer did not come is destroyed, never used again.
//   L3. Who finds all connections of a lane at work waits in line, however long; only connecting has a limit.
//   L4. Every pool and client has an error listener: an unheard 'error' event ends the process.
//   L5. A connection that does not hear that it is to end is dropped: half open, it would hold the process.

import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import type { DriverError, Row, SqlValue } from '../driver.js'
import { asDriverError, clientConfig, dropLater, STATEMENT_MS, type Target } from './connection.js'

export interface LaneOptions {
  readonly target: Target
  readonly connections: number
  /** 0: kept for ever. */
  readonly idleMs: number
  /** An answer is waited for so long. */
  readonly answerMs: number
}

export interface Held {
  readonly client: PoolClient
  release(destroy: boolean): void
}

export class LanePool {
  private readonly options: LaneOptions
  private readonly makePool: (config: PoolConfig) => Pool
  private pool: Pool
  private free: number
  private readonly line: (() => void)[] = []
  /** All that have not ended. */
  private readonly clients = new Set<ClientBase>()
  /** A pooler between us and the server refuses start-up parameters it does not know. */
  private isPlain = false

  constructor(makePool: (config: PoolConfig) => Pool, options: LaneOptions) {
    this.makePool = makePool
    this.options = options
    this.free = options.connections
    this.pool = this.open()
  }

  async query(sql: string, params: readonly SqlValue[]): Promise<readonly Row[]> {
    const { client, release } = await this.connect()
    try {
      const result = await client.query<Row>(sql, [...params])
      release(false)
      return result.rows
    } catch (error) {
      const driverError = asDriverError(error)
      release(driverError.connection)
      throw driverError
    }
  }

  /** A connection that is given back once, destroyed or not. */
  async connect(): Promise<Held> {
    await this.turn()
    try {
      const client = await this.connected()
      return {
        client,
        release: (destroy) => {
          client.release(destroy)
          this.next()
        },
      }
    } catch (error) {
      this.next()
      throw error
    }
  }

  private turn(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1
      return Promise.resolve()
    }
    return new Promise((resolve) => this.line.push(resolve))
  }

  private next(): void {
    const first = this.line.shift()
    if (first === undefined) this.free += 1
    else first()
  }

  private async connected(): Promise<PoolClient> {
    try {
      return await this.checkout()
    } catch (error) {
      const driverError = asDriverError(error)
      if (!refusesParameters(driverError) || this.isPlain) throw driverError
      this.isPlain = true
      const refused = this.pool
      this.pool = this.open()
      await refused.end().catch(() => {})
      return await this.checkout()
    }
  }

  async close(): Promise<void> {
    await this.pool.end()
    for (const client of this.clients) dropLater(client)
  }

  private async checkout(): Promise<PoolClient> {
    try {
      return await this.pool.connect()
    } catch (error) {
      throw asDriverError(error)
    }
  }

  private open(): Pool {
    const { target, connections, idleMs, answerMs } = this.options
    const pool = this.makePool({
      ...clientConfig(target, this.isPlain ? null : STATEMENT_MS, answerMs),
      max: connections,
      idleTimeoutMillis: idleMs,
      allowExitOnIdle: false,
    })
    pool.on('error', () => {})
    pool.on('connect', (client: ClientBase) => {
      client.on('error', () => {})
      this.clients.add(client)
    })
    pool.on('remove', (client: ClientBase) => this.clients.delete(client))
    return pool
  }
}

function refusesParameters(error: DriverError): boolean {
  return error.sqlState === '08P01' && /startup parameter/i.test(error.message)
}
