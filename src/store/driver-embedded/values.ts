// Values of user queries go in and come out as node-postgres has them, so that code written on the embedded
// database does the same on PostgreSQL.

import type { QueryOptions } from '@electric-sql/pglite'
import pg from 'pg'
import type { QueryConfig } from '../driver.js'

type Sent = string | Uint8Array | null

/** PGlite converts by the type the server names; the values here are converted already. */
const unchanged = (value: unknown): string => value as string
const SERIALIZERS = new Proxy({}, { get: () => unchanged })

/** For the engine's own statements, which cast to types that PGlite gives as they are. */
export const ENGINE_OPTIONS: QueryOptions = { serializers: SERIALIZERS }

/** Built for each query: people may set parsers on pg at any time, and ORMs bring theirs. */
export function userOptions({
  rowMode,
  types,
}: Omit<QueryConfig, 'text' | 'values'>): QueryOptions {
  const { getTypeParser } = types ?? pg.types
  const parsers: Record<number, (text: string) => unknown> = {}
  for (const oid of [...Object.values(pg.types.builtins), ...ARRAY_TYPES]) {
    parsers[oid] = getTypeParser(oid, 'text') as (text: string) => unknown
  }
  return { serializers: SERIALIZERS, parsers, ...(rowMode && { rowMode }) }
}

/** bool, bytea, char, int2, int4, text, varchar, int8, float4, float8, timestamp, date, timestamptz, numeric, uuid, json, jsonb. */
const ARRAY_TYPES = [
  1000, 1001, 1002, 1005, 1007, 1009, 1015, 1016, 1021, 1022, 1115, 1182, 1185, 1231, 2951, 199,
  3807,
] as unknown as (typeof pg.types.builtins.BOOL)[]

export function prepared(value: unknown): Sent {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') return String(value)
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  }
  if (value instanceof Date) return dated(value)
  if (Array.isArray(value)) return listed(value)
  return own(value)
}

function own(value: object): Sent {
  const { toPostgres } = value as { toPostgres?: (prepare: typeof prepared) => unknown }
  if (typeof toPostgres === 'function') return prepared(toPostgres.call(value, prepared))
  return JSON.stringify(value)
}

function listed(values: readonly unknown[]): string {
  const items = values.map((item) => {
    if (Array.isArray(item)) return listed(item)
    const sent = prepared(item)
    if (sent === null) return 'NULL'
    if (typeof sent !== 'string') return `\\\\x${Buffer.from(sent).toString('hex')}`
    return `"${sent.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
  })
  return `{${items.join(',')}}`
}

/** Local time with its offset: a column without a zone keeps what the clock on the wall says. */
function dated(date: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0')
  const year = date.getFullYear()
  const shown = String(year < 1 ? 1 - year : year).padStart(4, '0')
  const offset = -date.getTimezoneOffset()
  const away = Math.abs(offset)
  return (
    `${shown}-${two(date.getMonth() + 1)}-${two(date.getDate())}` +
    `T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}` +
    `.${String(date.getMilliseconds()).padStart(3, '0')}` +
    `${offset < 0 ? '-' : '+'}${two(Math.floor(away / 60))}:${two(away % 60)}${year < 1 ? ' BC' : ''}`
  )
}
