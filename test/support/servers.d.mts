export interface PostgresOptions {
  readonly version: 15 | 18
  /** On for benches and for tests of what a crash may lose; off (the default) is faster. */
  readonly fsync?: boolean
  /** Lines of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface Postgres {
  readonly url: string
  readonly version: 15 | 18
  /** null while it is down. */
  readonly pid: number | null
  readonly dataDir: string
  /** fast: sessions are ended in order; immediate: as after a crash. Port and data stay. */
  restart(mode?: 'fast' | 'immediate'): Promise<void>
  /** The server and its backends, at once. start() brings it back through recovery. */
  kill9(): Promise<void>
  start(): Promise<void>
  /** Stops it for good and removes its files. */
  stop(): Promise<void>
}

/** A new, empty server of our own. Throws with the reason when there are no binaries that run here. */
export function startPostgres(options: PostgresOptions): Promise<Postgres>

/** The server named by TEST_DATABASE_URL_15 or _18, else one of our own. */
export function providePostgres(options: PostgresOptions): Promise<Pick<Postgres, 'url' | 'stop'>>

/** Whether startPostgres can be tried: TEST_DATABASE_URL_… does not help a test that has to stop its server. */
export function hasBinaries(version: 15 | 18): boolean
