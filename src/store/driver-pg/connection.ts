// How connections are made, and what their errors mean.

import type { Client, ClientBase, ClientConfig } from 'pg'
import { CONNECT_MS } from '../../model/limits.js'
import { DriverError } from '../driver.js'

/** A connection string, or the options of the user's own pool: their pool itself is never borrowed from. */
export type Target = string | ClientConfig

/** One statement of the kernel may take so long on the server. */
export const STATEMENT_MS = 10_000
/** Then the answer is given up, and its connection with it. */
export const ANSWER_MS = 15_000

/** A connection that is half open never hears that it is to end: after this it is dropped. */
const GOODBYE_MS = 1_000

/** To be called when a client was told to end. Gives the way to call it off. */
export function dropLater(client: ClientBase): () => void {
  const { connection } = client as ClientBase & Pick<Client, 'connection'>
  const timer = setTimeout(() => connection.stream.destroy(), GOODBYE_MS).unref()
  return () => clearTimeout(timer)
}

export function clientConfig(
  target: Target,
  statementMs: number | null,
  answerMs: number,
): ClientConfig {
  const given: ClientConfig = typeof target === 'string' ? { connectionString: target } : target
  const config: ClientConfig = {
    ...given,
    application_name: 'perdure',
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: answerMs,
  }
  delete config.statement_timeout
  // A start-up parameter; a pooler that does not know it is tried again without (see lanes.ts).
  if (statementMs !== null) config.statement_timeout = statementMs
  return config
}

/** Where it is, for people: never with a password. */
export function describeTarget(target: Target): string {
  if (typeof target !== 'string') {
    const host = target.host ?? process.env.PGHOST ?? 'localhost'
    const port = target.port ?? process.env.PGPORT ?? 5432
    if (target.connectionString !== undefined) return describeTarget(target.connectionString)
    return `postgresql://${host}:${port}/${target.database ?? ''}`
  }
  try {
    const url = new URL(target)
    const host = url.searchParams.get('host') ?? (url.hostname || 'localhost')
    return `postgresql://${host}:${url.port || '5432'}${url.pathname}`
  } catch {
    return 'postgresql'
  }
}

/** The connection is gone, was refused, or the server has no room or is no primary: 08, 57P, 53, 25006. */
const CONNECTION_STATES = /^(08|57P|53|25006)/

export function asDriverError(error: unknown): DriverError {
  if (error instanceof DriverError) return error
  const cause = error instanceof Error ? error : new Error(String(error))
  const code = (cause as { code?: unknown }).code
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E')) {
    return new DriverError(cause.message, code, CONNECTION_STATES.test(code), { cause })
  }
  // No SQLSTATE: the socket (ECONNREFUSED, ECONNRESET, ETIMEDOUT …), or the client that lost it.
  const message = cause.message || (typeof code === 'string' ? code : 'the connection was lost')
  return new DriverError(message, '08006', true, { cause })
}
