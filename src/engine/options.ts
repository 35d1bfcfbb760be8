// The options of createEngine, read before anything is touched: one clear error, and nothing has changed.

import { createHash } from 'node:crypto'
import {
  type EventSchemasGiven,
  isClass,
  type Made,
  madeOf,
  refName,
} from '../authoring/definition.js'
import type { CustomType } from '../authoring/graph/custom-type.js'
import { isSchema } from '../authoring/schema.js'
import type { Construct, Log, PgClient } from '../authoring/types.js'
import type { Telemetry, Transport } from '../kernel/ports.js'
import type { WebhookTarget } from '../kernel/store.js'
import type { ErrorClasses } from '../model/error-shape.js'
import { checkOptions, optionInvalid, shown } from '../model/errors.js'
import { SCHEMA_NAME } from '../model/ids.js'
import {
  CONCURRENCY,
  LEASE_MS,
  RETENTION_MIN_MS,
  RETENTION_MS,
  TRANSITION_TIMEOUT_MS,
  VALUE_BYTES_MAX,
} from '../model/limits.js'
import { type Duration, durationMs } from '../model/time.js'
import { DELIVERY } from '../model/webhook.js'
import type { HttpOptions } from './engine-options.js'
import { databaseInvalid, definitionInvalid, listenInvalid, schemaNameInvalid } from './errors.js'
import { readHttp } from './http-options.js'
import { readNodeTypes } from './node-types.js'
import { readTargets } from './webhook-delivery.js'

const OPTIONS = [
  'database',
  'listen',
  'transport',
  'schema',
  'workflows',
  'nodeTypes',
  'http',
  'webhooks',
  'worker',
  'errors',
  'events',
  'tx',
  'construct',
  'build',
  'retention',
  'maxValueBytes',
  'allowEmbeddedInProduction',
  'log',
  'telemetry',
]
const WHERE = 'createEngine'
const POSTGRES_URL = /^postgres(ql)?:\/\/./
const REDIS_URL = /^rediss?:\/\/./
const LEVELS = ['debug', 'info', 'warn', 'error'] as const

type Given = Readonly<Record<string, unknown>>
type Environment = Readonly<Record<string, string | undefined>>

export interface PoolLike {
  query(...args: readonly unknown[]): unknown
  connect(...args: readonly unknown[]): unknown
  /** What it was made with: the engine opens connections of its own, to the same database. */
  readonly options: object
}

export type Database =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'pool'; readonly pool: PoolLike }
  | { readonly kind: 'file'; readonly directory: string }
  | { readonly kind: 'memory' }
  | { readonly kind: 'redis'; readonly url: string }

export interface Settings {
  readonly database: Database
  /** Of the server itself, for LISTEN; false: nothing is listened to; null: as `database`. */
  readonly listen: string | false | null
  /** null: NOTIFY. */
  readonly transport: Transport | null
  readonly schema: string
  readonly definitions: ReadonlyMap<string, Made>
  readonly nodeTypes: ReadonlyMap<string, CustomType>
  readonly http: HttpOptions
  /** null: nothing is said of them. */
  readonly webhooks: readonly WebhookTarget[] | null
  readonly errors: ErrorClasses
  readonly events: EventSchemasGiven
  readonly tx: (client: PgClient) => unknown
  readonly construct: Construct | undefined
  readonly worker: boolean
  readonly concurrency: number
  readonly leaseMs: number
  readonly build: string
  readonly valueBytesMax: number
  /** Of transitions that say nothing of it; null: none. */
  readonly transitionTimeoutMs: number | null
  /** null: for ever. */
  readonly retentionMs: number | null
  readonly production: boolean
  readonly allowEmbeddedInProduction: boolean
  /** null: the engine's own. */
  readonly log: Log | null
  readonly telemetry: Telemetry | null
}

export function readEngineOptions(options: unknown, env: Environment): Settings {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', WHERE, options, 'an object')
  }
  checkOptions(options, WHERE, OPTIONS)
  const given = options as Given
  const definitions = readDefinitions(given.workflows)
  const nodeTypes = readNodeTypes(given.nodeTypes, definitions)
  return {
    database: readDatabase(given.database, env),
    listen: readListen(given.listen, env),
    transport: readTransport(given.transport),
    schema: readSchema(given.schema),
    definitions,
    nodeTypes,
    http: readHttp(given.http),
    webhooks: readTargets(given.webhooks),
    errors: readErrors(given.errors),
    events: readEvents(given.events),
    tx: readTx(given.tx),
    construct: readConstruct(given.construct),
    ...readWorker(given.worker),
    build: readBuild(given.build, definitions, env),
    valueBytesMax: readBytes(given.maxValueBytes),
    transitionTimeoutMs: readTransitionTimeout(env.DEFAULT_TRANSITION_TIMEOUT),
    retentionMs: readRetention(given.retention),
    production: env.NODE_ENV === 'production',
    allowEmbeddedInProduction: readFlag(given, 'allowEmbeddedInProduction'),
    log: readLog(given.log),
    telemetry: readTelemetry(given.telemetry),
  }
}

function readDefinitions(workflows: unknown): ReadonlyMap<string, Made> {
  if (workflows === undefined) return new Map()
  if (!Array.isArray(workflows)) {
    throw optionInvalid('workflows', WHERE, workflows, 'a list of definitions')
  }
  const byName = new Map<string, Made>()
  for (const [index, value] of workflows.entries()) {
    const made = madeOf(value)
    if (!made) throw notADefinition(index, value)
    if (made.name === DELIVERY) {
      const hint = "give it another name: this one is the engine's own"
      throw definitionInvalid(`A definition cannot be called "${DELIVERY}".`, hint)
    }
    if (byName.has(made.name)) {
      throw definitionInvalid(
        `Two definitions in workflows are called "${made.name}".`,
        'give one of them another name, or leave it out',
      )
    }
    byName.set(made.name, made)
  }
  return byName
}

/** By name: what is recorded of an error is the name of its class. */
function readErrors(errors: unknown): ErrorClasses {
  const expected = 'a list of classes of errors'
  if (errors === undefined) return new Map()
  if (!Array.isArray(errors)) throw optionInvalid('errors', WHERE, errors, expected)
  const byName = new Map<string, { readonly prototype: object }>()
  for (const value of errors as readonly unknown[]) {
    const isOne = typeof value === 'function' && value.prototype instanceof Error
    if (!isOne || value.name === '') throw optionInvalid('errors', WHERE, value, expected)
    const known = byName.get(value.name)
    if (known !== undefined && known !== value) {
      throw optionInvalid('errors', WHERE, value, 'a list of classes with different names')
    }
    byName.set(value.name, value as unknown as { readonly prototype: object })
  }
  return byName
}

function readEvents(events: unknown): EventSchemasGiven {
  if (events === undefined) return null
  const isDict = typeof events === 'object' && events !== null && !Array.isArray(events)
  if (!isDict || !Object.values(events).every(isSchema)) {
    throw optionInvalid('events', WHERE, events, 'an object of schemas, by the names of events')
  }
  return events as EventSchemasGiven
}

function readTx(tx: unknown): (client: PgClient) => unknown {
  if (tx === undefined) return (client) => client
  if (typeof tx === 'function') return tx as (client: PgClient) => unknown
  throw optionInvalid('tx', WHERE, tx, 'a function: (client) => …')
}

function readConstruct(construct: unknown): Construct | undefined {
  if (construct === undefined || typeof construct === 'function') {
    return construct as Construct | undefined
  }
  throw optionInvalid('construct', WHERE, construct, 'a function: (cls) => new cls()')
}

function notADefinition(index: number, value: unknown) {
  const name = refName(value)
  if (name !== null) {
    return definitionInvalid(
      `workflows[${index}] is ref("${name}"), which has no code.`,
      'give what workflow(), task() and machine() return; a ref is for calling what another process has',
    )
  }
  if (isClass(value)) {
    const { name } = value as { readonly name: string }
    return definitionInvalid(
      `workflows[${index}] is no definition: class ${name || '(anonymous)'} has no @Workflow.`,
      "write @Workflow({ name: '…' }) above the class",
    )
  }
  return definitionInvalid(
    `workflows[${index}] is no definition: ${shown(value)}.`,
    'give what workflow(), task() and machine() return, or a class under @Workflow',
  )
}

function readDatabase(given: unknown, env: Environment): Database {
  const database = given ?? (env.PERDURE_DATABASE_URL || env.DATABASE_URL || 'file:.perdure/data')
  if (typeof database === 'object') {
    const pool = database as Partial<PoolLike>
    const isPool = typeof pool.query === 'function' && typeof pool.connect === 'function'
    if (isPool && typeof pool.options === 'object') return { kind: 'pool', pool: pool as PoolLike }
    throw databaseInvalid('an object without query(), connect() and options')
  }
  if (typeof database !== 'string') throw databaseInvalid(shown(database))
  if (POSTGRES_URL.test(database)) return { kind: 'postgres', url: database }
  if (REDIS_URL.test(database)) return { kind: 'redis', url: database }
  if (database === 'memory:') return { kind: 'memory' }
  if (database.startsWith('file:') && database.length > 'file:'.length) {
    return { kind: 'file', directory: directoryOf(database) }
  }
  // Never the whole text: it may hold a password.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(database)?.[0]
  throw databaseInvalid(scheme ? `"${scheme}…"` : 'a text without a known scheme')
}

/** 'file:<dir>', and as people also write it, 'file:///absolute'. */
function directoryOf(text: string): string {
  return text.startsWith('file://') ? text.slice('file://'.length) : text.slice('file:'.length)
}

function readListen(given: unknown, env: Environment): string | false | null {
  const listen = given ?? (env.PERDURE_LISTEN_URL || null)
  if (listen === null || listen === false) return listen
  if (typeof listen === 'string' && POSTGRES_URL.test(listen)) return listen
  // Not shown: it may hold a password.
  throw listenInvalid()
}

function readTransport(transport: unknown): Transport | null {
  if (transport === undefined) return null
  const fits = typeof transport === 'object' && transport !== null && 'open' in transport
  if (fits) return transport as Transport
  throw optionInvalid('transport', WHERE, transport, 'bullmq() of perdure/bullmq')
}

function readSchema(schema: unknown): string {
  if (schema === undefined) return 'perdure'
  if (typeof schema !== 'string' || !SCHEMA_NAME.test(schema)) throw schemaNameInvalid(schema)
  return schema
}

function readWorker(worker: unknown): Pick<Settings, 'worker' | 'concurrency' | 'leaseMs'> {
  const usual = { worker: true, concurrency: CONCURRENCY, leaseMs: LEASE_MS }
  if (worker === undefined) return usual
  if (typeof worker === 'boolean') return { ...usual, worker }
  if (typeof worker !== 'object' || worker === null) {
    throw optionInvalid('worker', WHERE, worker, 'true, false or { concurrency, lease }')
  }
  checkOptions(worker, `worker of ${WHERE}`, ['concurrency', 'lease'])
  const { concurrency = CONCURRENCY, lease } = worker as Given
  if (!Number.isInteger(concurrency) || Number(concurrency) < 1 || Number(concurrency) > 10_000) {
    throw optionInvalid('worker.concurrency', WHERE, concurrency, 'a whole number from 1 to 10000')
  }
  const leaseMs = lease === undefined ? LEASE_MS : durationMs(lease as Duration)
  if (leaseMs < 100 || leaseMs > 3_600_000) {
    throw optionInvalid('worker.lease', WHERE, lease, "from '100ms' to '1h'")
  }
  return { worker: true, concurrency: Number(concurrency), leaseMs }
}

/** Without a name the deploy is known by its code: the same on every start, another when a function changes. */
function readBuild(
  build: unknown,
  definitions: ReadonlyMap<string, Made>,
  env: Environment,
): string {
  const named = build ?? (env.PERDURE_BUILD || undefined)
  if (named !== undefined) {
    if (typeof named === 'string' && /^[\x21-\x7e]{1,128}$/.test(named)) return named
    throw optionInvalid('build', WHERE, named, 'a text of 1 to 128 characters without spaces')
  }
  const hash = createHash('sha256')
  for (const name of [...definitions.keys()].sort()) {
    const made = definitions.get(name)
    if (made) hash.update(`${name}@${made.version} ${codeOf(made)}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

function codeOf(made: Made): string {
  if (made.kind === 'machine') return made.source
  return made.kind === 'graph'
    ? JSON.stringify(made.json)
    : Function.prototype.toString.call(made.fn)
}

/** In milliseconds, as it is written in the environment; 0: none. */
function readTransitionTimeout(text: string | undefined): number | null {
  if (text === undefined || text === '') return TRANSITION_TIMEOUT_MS
  if (/^\d{1,12}$/.test(text)) return Number(text) === 0 ? null : Number(text)
  const expected = 'milliseconds, or 0 for none'
  throw optionInvalid('DEFAULT_TRANSITION_TIMEOUT', 'the environment', text, expected)
}

function readBytes(bytes: unknown): number {
  if (bytes === undefined) return VALUE_BYTES_MAX
  // PostgreSQL holds no text beyond 1 GB, and a value is copied several times on its way.
  if (Number.isInteger(bytes) && Number(bytes) >= 1_024 && Number(bytes) <= 256 * 1024 * 1024) {
    return Number(bytes)
  }
  throw optionInvalid('maxValueBytes', WHERE, bytes, 'a whole number from 1024 to 268435456')
}

function readRetention(retention: unknown): number | null {
  if (retention === undefined) return RETENTION_MS
  if (retention === false) return null
  const ms = durationMs(retention as Duration)
  if (ms >= RETENTION_MIN_MS) return ms
  throw optionInvalid('retention', WHERE, retention, "false, or at least '1min'")
}

function readFlag(given: Given, option: string): boolean {
  const value = given[option] ?? false
  if (typeof value === 'boolean') return value
  throw optionInvalid(option, WHERE, value, 'true or false')
}

function readLog(log: unknown): Log | null {
  if (log === undefined) return null
  const fits = typeof log === 'object' && log !== null
  if (fits && LEVELS.every((level) => typeof (log as Given)[level] === 'function')) {
    return log as Log
  }
  throw optionInvalid('log', WHERE, log, `an object with ${LEVELS.join(', ')}`)
}

function readTelemetry(telemetry: unknown): Telemetry | null {
  if (telemetry === undefined) return null
  const fits = typeof telemetry === 'object' && telemetry !== null && 'turn' in telemetry
  if (fits) return telemetry as Telemetry
  throw optionInvalid('telemetry', WHERE, telemetry, 'openTelemetry() of perdure/otel')
}
