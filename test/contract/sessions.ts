// Real connections that a test can stop between two statements.

import pg from 'pg'
import { expect, test } from 'vitest'
import type { Answer, Claimed, Delta, Worker } from '../../src/kernel/store.js'
import { MAILBOX_MAX } from '../../src/model/limits.js'
import type { SqlValue } from '../../src/store/driver.js'
import { packCommit } from '../../src/store/pack-commit.js'
import { type Sql, sqlOf } from '../../src/store/sql.js'
import { claimedOf, unpackAnswers } from '../../src/store/unpack-answers.js'
import { records } from '../../src/store/wire.js'
import { openPostgres, urlOf } from './open-stores.js'

type Opened = Awaited<ReturnType<typeof openPostgres>>

export interface Sessions extends Opened {
  /** A connection with a transaction that stays open until the test ends it. */
  begin(): Promise<Session>
  sql: Sql
  /** Rows of a query on a connection of its own. */
  rows(text: string, params?: readonly SqlValue[]): Promise<Record<string, unknown>[]>
  /** Resolves when so many statements of this schema wait for a lock. */
  waiting(count?: number): Promise<void>
}

export class Session {
  readonly client: pg.Client
  private readonly sql: Sql

  constructor(client: pg.Client, sql: Sql) {
    this.client = client
    this.sql = sql
  }

  /** The commit call, applied but not committed. */
  async commit(by: Worker, ...deltas: readonly Delta[]): Promise<readonly Answer[]> {
    const {
      params,
      places,
      by: query,
    } = packCommit(by, deltas, {
      resent: false,
      feed: false,
      feedInto: null,
      inTransaction: null,
      mailboxMax: MAILBOX_MAX,
      suspectFrom: 2,
    })
    const [row] = (await this.client.query(this.sql[query], [...params])).rows
    return unpackAnswers(row, deltas, places)
  }

  async claim(by: Worker, places: number): Promise<readonly Claimed[]> {
    const names = by.definitions.map(({ name }) => `\u001f${name}`).join('')
    const versions = by.definitions.map(({ version }) => `\u001f${version}`).join('')
    const params = [by.id, by.build, names, versions, places, 0]
    const [row] = (await this.client.query(this.sql.claim, params)).rows
    return records(row.claimed).map(claimedOf)
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    await this.client.query(how)
    await this.client.end()
  }
}

/** A test with a schema of its own and connections that are closed behind it. */
export function onSessions(
  database: Parameters<typeof urlOf>[0],
  title: string,
  body: (s: Sessions) => Promise<void>,
): void {
  test(title, async () => {
    const opened = await openPostgres(urlOf(database))
    const sql = sqlOf(opened.schema)
    const clients: pg.Client[] = []
    const connect = async () => {
      const client = new pg.Client(urlOf(database))
      client.on('error', () => {})
      await client.connect()
      clients.push(client)
      return client
    }
    const watcher = await connect()
    const rows: Sessions['rows'] = async (text, params = []) =>
      (await watcher.query(text.replaceAll('@schema@', opened.schema), [...params])).rows
    const s: Sessions = {
      ...opened,
      sql,
      rows,
      async begin() {
        const client = await connect()
        await client.query('begin')
        return new Session(client, sql)
      },
      async waiting(count = 1) {
        const blocked = `select count(*)::int as n from pg_stat_activity
          where wait_event_type = 'Lock' and query like '%' || $1 || '.%' and pid <> pg_backend_pid()`
        await expect
          .poll(async () => (await rows(blocked, [opened.schema]))[0]?.n, { interval: 2 })
          .toBeGreaterThanOrEqual(count)
      },
    }
    try {
      await body(s)
    } finally {
      await Promise.all(clients.map((client) => client.end().catch(() => {})))
      await opened.close()
    }
  })
}
