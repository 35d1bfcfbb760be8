// The client behind a transaction of the caller: one of pg, or what Kysely, Drizzle or TypeORM call a transaction.

import type { Client } from '../kernel/store.js'

interface Kysely {
  withoutPlugins(): { executeQuery(query: unknown): Promise<{ rows: Record<string, unknown>[] }> }
}

/** null: it is none of them. */
export function clientIn(given: unknown): Client | null {
  if (typeof given !== 'object' || given === null) return null
  if (isTypeOrm(given)) return typeOrm(given)
  if ('query' in given && typeof given.query === 'function') {
    // Drizzle's `query` is an object, so this is a client of pg, or the engine's own.
    return given as Client
  }
  if ('isTransaction' in given && given.isTransaction === true && 'withoutPlugins' in given) {
    return kysely(given as unknown as Kysely)
  }
  return drizzle(given)
}

/** An EntityManager or a QueryRunner: `query` gives the rows alone. */
const isTypeOrm = (given: object): given is { query: TypeOrmQuery } =>
  'query' in given &&
  typeof given.query === 'function' &&
  ('queryRunner' in given || 'isTransactionActive' in given)

type TypeOrmQuery = (
  sql: string,
  params: unknown[],
) => Promise<Record<string, unknown>[] | undefined>

const typeOrm = (manager: { query: TypeOrmQuery }): Client => ({
  async query(sql, params = []) {
    const rows = (await manager.query(sql, [...params])) ?? []
    return { rows, rowCount: rows.length }
  },
})

/** A compiled query, as CompiledQuery.raw() makes it. Plugins would give other names to the columns. */
const kysely = (transaction: Kysely): Client => ({
  async query(sql, parameters = []) {
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
    const compiled = { sql, parameters, query, queryId: { queryId: 'perdure' } }
    const { rows } = await transaction.withoutPlugins().executeQuery(compiled)
    return { rows, rowCount: rows.length }
  },
})

/** The session of a transaction has the client that it holds. */
function drizzle(given: { _?: { session?: { client?: unknown } } }): Client | null {
  const client = given._?.session?.client
  if (typeof client !== 'object' || client === null) return null
  return 'query' in client && typeof client.query === 'function' ? (client as Client) : null
}
