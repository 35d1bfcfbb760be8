// The driver on `pg`: connections of our own, one small pool per lane (see lanes.ts).

import type { Pool, PoolClient, PoolConfig } from 'pg'
import { PerdureError } from '../../model/errors.js'
import { COMMIT_CONNECTIONS, TRANSACTION_MAX_MS } from '../../model/limits.js'
import {
  type Driver,
  DriverError,
  type DriverTransaction,
  type Lane,
  type QueryConfig,
} from '../driver.js'
import { ListenConnection, Notifier } from './channels.js'
import {
  ANSWER_MS,
  asDriverError,
  clientConfig,
  describeTarget,
  type Target,
} from './connection.js'
import { type Held, LanePool } from './lanes.js'

export interface PgDriverOptions {
  /** A connection string, or the options of a pg.Pool. */
  readonly target: Target
  readonly commitConnections?: number
  readonly readConnections?: number
  /** Steps with a transaction of their own that may run at once. */
  readonly transactionConnections?: number
  /** For LISTEN where `target` is a transaction-mode pooler. false: no LISTEN, the poll alone wakes. */
  readonly listenTarget?: Target | false
}

const IDLE_MS = 30_000
const IDLE_IN_TRANSACTION_MS = 10_000
/** ROLLBACK behind a query that does not end is given up after this, with its connection. */
const ROLLBACK_MS = 2_000

export async function openPgDriver(options: PgDriverOptions): Promise<Driver> {
  const pg = await importPg()
  const makePool = (config: PoolConfig): Pool => new pg.Pool(config)
  const { target } = options
  const lane = (connections: number, idleMs: number, answerMs = ANSWER_MS) =>
    new LanePool(makePool, { target, connections, idleMs, answerMs })
  const lanes: Record<Lane, LanePool> = {
    commit: lane(options.commitConnections ?? COMMIT_CONNECTIONS, 0),
    beat: lane(1, 0),
    read: lane(options.readConnections ?? 4, IDLE_MS),
  }
  // Also for migrations: these two may take longer than the kernel's statements.
  const transactions = lane(
    options.transactionConnections ?? 4,
    IDLE_MS,
    TRANSACTION_MAX_MS + IDLE_IN_TRANSACTION_MS,
  )
  const hints = lane(1, IDLE_MS)
  const notifier = new Notifier(hints)
  const listenTarget = options.listenTarget ?? target
  const listening =
    listenTarget === false
      ? null
      : new ListenConnection(() => new pg.Client(clientConfig(listenTarget, null, ANSWER_MS)))

  return {
    kind: 'postgres',
    description: describeTarget(target),
    query: (name, sql, params) => lanes[name].query(sql, params),
    script: (sql) => runScript(transactions, sql),
    begin: (limitMs) => begin(transactions, limitMs),
    notify: (channel, payload) => notifier.notify(channel, payload),
    listen: async (channel, listener) =>
      listening === null ? async () => {} : listening.listen(channel, listener),
    async close() {
      await listening?.close()
      const all = [...Object.values(lanes), transactions, hints]
      await Promise.all(all.map((pool) => pool.close()))
    },
  }
}

async function importPg() {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw new PerdureError('PEER_MISSING', 'The package "pg" could not be loaded.', {
      hint: 'npm install pg',
      cause,
    })
  }
}

async function runScript(lane: LanePool, sql: string): Promise<void> {
  const { client, release } = await lane.connect()
  try {
    await client.query(`begin;\nset local statement_timeout = 0;\n${sql}\n;commit`)
    release(false)
  } catch (error) {
    release(true)
    throw asDriverError(error)
  }
}

async function begin(lane: LanePool, limitMs: number): Promise<DriverTransaction> {
  const held = await lane.connect()
  const { client } = held
  try {
    const version = await client.query<{ server_version_num: string }>('show server_version_num')
    const hasTransactionTimeout = Number(version.rows[0]?.server_version_num) >= 170_000
    const ms = Math.max(1, Math.ceil(limitMs))
    await client.query(
      [
        'begin isolation level read committed',
        `set local statement_timeout = ${ms}`,
        `set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
        ...(hasTransactionTimeout
          ? [`set local transaction_timeout = ${ms + IDLE_IN_TRANSACTION_MS}`]
          : []),
      ].join('; '),
    )
  } catch (error) {
    held.release(true)
    throw asDriverError(error)
  }
  return new PgTransaction(held)
}

class PgTransaction implements DriverTransaction {
  private readonly client: PoolClient
  private readonly release: Held['release']
  private isOver = false

  constructor({ client, release }: Held) {
    this.client = client
    this.release = release
  }

  async query(sql: string | QueryConfig, params: readonly unknown[] = []) {
    this.checkOpen()
    try {
      // Without parameters the simple protocol, as the user's own client does it.
      return await (params.length === 0
        ? this.client.query<Record<string, unknown>>(sql as string)
        : this.client.query<Record<string, unknown>>(sql as string, [...params]))
    } catch (error) {
      const driverError = asDriverError(error)
      // The user sees what their client would throw; only a lost connection is ours to name.
      throw driverError.connection ? driverError : error
    }
  }

  async commit(): Promise<void> {
    this.checkOpen()
    this.isOver = true
    let command: string
    try {
      command = (await this.client.query('commit')).command
    } catch (error) {
      const driverError = asDriverError(error)
      this.release(driverError.connection)
      throw driverError
    }
    this.release(false)
    // The server's answer to COMMIT of a transaction that had failed.
    if (command === 'ROLLBACK') throw new DriverError('rolled back', '25P02', false)
  }

  async rollback(): Promise<void> {
    if (this.isOver) return
    this.isOver = true
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), ROLLBACK_MS)
    })
    const answer = this.client.query('rollback').then(
      () => 'done' as const,
      () => 'lost' as const,
    )
    const outcome = await Promise.race([answer, tooLate])
    clearTimeout(timer)
    this.release(outcome !== 'done')
  }

  private checkOpen(): void {
    if (this.isOver) throw new Error('This transaction is over.')
  }
}
