// What the SQL store needs of a database connection. Two drivers stand under the same SQL: pg and PGlite.

/** Which connection a statement may use. Beats and commits never wait for the user's queries. */
export type Lane = 'commit' | 'beat' | 'read'

/** Statements cast to int4, float8, bool or text, so that both drivers give the same JavaScript values. */
export type SqlValue = string | number | boolean | null
export type Row = Readonly<Record<string, SqlValue>>

export interface Driver {
  readonly kind: 'postgres' | 'embedded'
  /** For people: where the data is, without a password. */
  readonly description: string
  /** One unnamed statement in a transaction of its own. Throws what the database threw, as a DriverError. */
  query(lane: Lane, sql: string, params: readonly SqlValue[]): Promise<readonly Row[]>
  /** Several statements without parameters, as one transaction: migrations. */
  script(sql: string): Promise<void>
  /**
   * A transaction for user code; limits on the server keep a stopped process from holding locks. `isLong`: of a tool, for which
   * everything else may wait.
   */
  begin(limitMs: number, isLong?: boolean): Promise<DriverTransaction>
  /** Hints between processes. Embedded: within the process. */
  notify(channel: string, payload: string): void
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** As pg takes it, in place of a text: ORMs on top of it do so. */
export interface QueryConfig {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly rowMode?: 'array'
  readonly types?: { getTypeParser(oid: number, format?: 'text'): (text: string) => unknown }
}

export interface DriverTransaction {
  /** As the user's client would: any parameters, plain rows, and what kind of statement it was. */
  query(
    sql: string | QueryConfig,
    params?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null; command?: string }>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Runs user code so that the driver knows of it: where there is one connection, its reads go through here. */
  inside?<T>(work: () => T): T
}

/** A database error with its SQLSTATE; `connection` when the connection itself is gone or refused (08, 57P, 53, 25006). */
export class DriverError extends Error {
  override readonly name = 'DriverError'
  readonly sqlState: string
  readonly connection: boolean
  constructor(message: string, sqlState: string, connection: boolean, options?: ErrorOptions) {
    super(message, options)
    this.sqlState = sqlState
    this.connection = connection
  }
}
