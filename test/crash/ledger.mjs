// Where a victim writes down that a piece of user code begins, outside the engine: a table of another database
// over a connection of its own, or (beside the embedded database) a file that is only appended to.

import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export const LEDGER_TABLE = `create table if not exists executions (
  nonce text primary key, world text not null, run text not null, step text not null, key text not null,
  attempt int not null, life text not null, began float8 not null, at timestamptz not null default clock_timestamp())`

/** @param {{ url?: string, file?: string, world: string, life: string }} options */
export function openLedger({ url, file, world, life }) {
  let count = 0
  const lines = url ? viaTable(url, world) : viaFile(file)
  return {
    /** Resolves when it is stored: only then the step goes on. */
    begun: (step, name) => {
      count += 1
      const { key, attempt, run } = step
      return lines.add({
        ...{ nonce: `${life}:${count}`, run: run.id, step: name, key, attempt, life },
        began: Date.now(),
      })
    },
    close: () => lines.close(),
  }
}

function viaFile(file) {
  return {
    add: async (row) => appendFileSync(file, `${JSON.stringify({ ...row, at: Date.now() })}\n`),
    close: async () => {},
  }
}

function viaTable(connectionString, world) {
  const pool = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    async add({ nonce, run, step, key, attempt, life, began }) {
      const values = [nonce, world, run, step, key, attempt, life, began]
      for (;;) {
        try {
          await pool.query(
            'insert into executions values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing',
            values,
          )
          return
        } catch {
          await sleep(50) // the server is away; the nonce makes it one row
        }
      }
    },
    close: () => pool.end(),
  }
}
