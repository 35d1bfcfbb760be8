// The options of an engine.

import type { CustomType } from '../authoring/graph/custom-type.js'
import type {
  Construct,
  Dict,
  ErrorClass,
  Log,
  Opt,
  PgClient,
  Schema,
  Tx,
} from '../authoring/types.js'
import type { Telemetry, Transport } from '../kernel/ports.js'
import type { Duration } from '../model/time.js'
import type { WebhookTargetOptions } from './webhook-types.js'

export interface BoundSecret {
  /** The whole value of the header, as 'Bearer …'. */
  readonly value: string
  /** It is sent to these alone: 'api.example.com', or 'host:port'. */
  readonly hosts: readonly string[]
}

/** What the nodes of graphs may call. */
export type HttpOptions = Opt<{
  /** May be reached although they are private: 'host:port', an address, or a range as '10.0.0.0/8'. */
  allow: readonly string[]
  /** Must not be reached: the engine's own address, above all. */
  deny: readonly string[]
  /**
   * The value of a header, for the hosts that it is bound to. A node names it: { secret: 'NAME' }. Stored nowhere. Also the key of
   * webhooks that are signed; it is sent to nobody, and needs no hosts.
   */
  secrets: (name: string) => BoundSecret | undefined | Promise<BoundSecret | undefined>
}>

export type EngineOptions<W> = Opt<{
  /** 'postgres://…', 'redis://…', 'file:<dir>', 'memory:' or a pg.Pool. Default: PERDURE_DATABASE_URL, DATABASE_URL, else 'file:.perdure/data'. */
  database:
    | string
    | { query: (...args: never[]) => unknown; connect: (...args: never[]) => unknown }
  /**
   * Where notifications are heard if `database` is a pooler in transaction mode: the address of the server itself. false: nowhere,
   * and what other processes store is found by polling. Default: PERDURE_LISTEN_URL, else as `database`.
   */
  listen: string | false
  /** What carries hints between processes in the place of NOTIFY: bullmq() of perdure/bullmq. `listen` is then not used. */
  transport: Transport
  /** Of the database. Default 'perdure'. */
  schema: string
  workflows: W
  /** Types of nodes for graphs: nodeType(…). */
  nodeTypes: readonly CustomType[]
  http: HttpOptions
  /** Who is told of the ends of runs. Stored: all processes know them. [] takes away what is stored. */
  webhooks: readonly WebhookTargetOptions[]
  /** false: this process starts, signals and reads, and executes nothing. */
  worker: boolean | Opt<{ concurrency: number; lease: Duration }>
  /** Classes of errors that come back as themselves, so that instanceof holds on every replay. */
  errors: readonly ErrorClass[]
  /** Schemas of events, by name. Say so in Register: { events: typeof events }. */
  events: Dict<Schema>
  /**
   * Makes an instance of a machine's class for each attempt of a transition: a container that injects services, for one. Default:
   * (cls) => new cls().
   */
  construct: Construct
  /** Makes the user's ORM of a client, for wf.transaction. Say what it is in Register: { tx: MyTx }. */
  tx: (client: PgClient) => Tx
  /** Names this deploy, for divergence and missing code. */
  build: string
  /** How long finished runs are kept; false: for ever. Default '30 days'. */
  retention: Duration | false
  maxValueBytes: number
  allowEmbeddedInProduction: boolean
  /** Default: lines on stderr, as LOG_LEVEL and LOG_FORMAT say. */
  log: Log
  /** Spans of runs, turns and steps: openTelemetry() of perdure/otel. */
  telemetry: Telemetry
}>
