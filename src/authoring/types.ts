// The public types of definitions, and what their code is given. One rule: declare once, in the definition;
// the engine and its handles read the types from there.

import type { Duration } from '../model/time.js'
import type { Documents } from './document-types.js'

// ── time, schemas ───────────────────────────────────────────────────────────────────────────────────────────

/** A Date, or a Temporal value that knows its epoch. Not a number: that would be a Duration. */
export type Instant = Date | { readonly epochMilliseconds: number }

/** Standard Schema v1 (Zod, Valibot, ArkType, …). */
export interface Schema<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: In; readonly output: Out } | undefined
    readonly validate: (value: unknown, ...rest: never[]) => Checked<Out> | Promise<Checked<Out>>
  }
}
export type Checked<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }
interface SchemaIssue {
  readonly message: string
  readonly path?: readonly unknown[] | undefined
}
export type InOf<S> = S extends Schema<infer In, unknown> ? In : unknown
export type OutOf<S> = S extends Schema<unknown, infer Out> ? Out : unknown

/** Also takes an explicit undefined. */
export type Opt<T> = { [K in keyof T]?: T[K] | undefined }
export type ErrorClass = abstract new (...args: never[]) => Error
export type Dict<T = unknown> = Record<string, T>
/** An object of which nothing is known. */
export type Nothing = Record<never, never>
/** As what JSON.parse gives: nobody has declared it, and whoever reads it says what it is. */
export type Loose = ReturnType<JSON['parse']>
export type AnyClass<T = object> = abstract new (...args: never[]) => T
/** Makes an instance of a class. */
export type Construct = (cls: new () => object) => object | Promise<object>

// ── definitions ─────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What a definition knows about itself. `input` and `sends` go in; `parsed` and `signals` are what the
 * schemas made of them: that is stored.
 */
export interface Types {
  input: unknown
  parsed: unknown
  output: unknown
  sends: Dict
  signals: Dict
  state: unknown
  /** What its steps publish. */
  stream: unknown
  /** What engine.send takes. */
  event: AnyEvent
}
export type AnyEvent = { type: string; [field: string]: Loose }

export interface Definition<N extends string = string, T extends Types = Types> {
  readonly name: N
  readonly version: string
  readonly kind: 'workflow' | 'task' | 'machine' | 'graph'
  /** Never there at run time. */
  readonly '~types': T
}

/** What is known of a definition of which only some is said. */
export type With<P> = Omit<Types, keyof P> & P extends infer T extends Types ? T : never

/** The input of a function that declares none: annotate the parameter, or give `input: schema`. */
export interface InputNotDeclared {
  readonly '~no': never
}

export type Args<I, O> = unknown extends I
  ? [input?: I, options?: O]
  : // biome-ignore lint/suspicious/noConfusingVoidType: a parameter may be annotated so
    [I] extends [InputNotDeclared | void | undefined]
    ? [input?: undefined, options?: O]
    : undefined extends I
      ? [input?: I, options?: O]
      : [input: I, options?: O]

/**
 * Opt-in types for what workflows name by a text, and for `tx`. Augment once:
 * `declare module 'perdure' { interface Register { tasks: typeof tasks; events: typeof events; tx: MyTx } }`
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented
export interface Register {}
type EventSchemas = Register extends { events: infer E } ? E : Dict<Schema<unknown>>
export type EventName = keyof EventSchemas & string
export type Emitted<K extends EventName> = InOf<EventSchemas[K]>
export type HeardEvent<K extends EventName> = OutOf<EventSchemas[K]>
export type Tasks = Register extends { tasks: infer W extends readonly unknown[] } ? W : readonly []

type NameOf<W> = W extends readonly (infer D)[]
  ? D extends Definition<infer N>
    ? N
    : string & {}
  : never
/** What names a definition: itself, the class, its name. Known names only, if all names are known; else any text. */
export type Target<W> = Definition | AnyClass | ([NameOf<W>] extends [never] ? string : NameOf<W>)
export type TypesOf<D, W = Tasks> =
  D extends Definition<string, infer T> ? T : D extends AnyClass ? ClassTypes<D> : Named<W, D>
type Find<X, D> =
  X extends Definition<infer N, infer T>
    ? string extends N
      ? never
      : D extends N
        ? T
        : never
    : never
type Named<W, D> = W extends readonly (infer X)[]
  ? [Find<X, D>] extends [never]
    ? Types
    : Find<X, D>
  : Types

/** A class under @Workflow. Static `input`, `state`, `output` schemas type it; payloads come from its methods. */
type ClassTypes<C> = With<{
  input: C extends { input: infer S } ? InOf<S> : unknown
  parsed: C extends { input: infer S } ? OutOf<S> : unknown
  output: C extends { output: infer S } ? OutOf<S> : unknown
  state: C extends { state: infer S } ? OutOf<S> : unknown
  sends: C extends AnyClass<infer M> ? Payloads<M> : Dict
  signals: C extends AnyClass<infer M> ? Payloads<M> : Dict
}>
type Payloads<M> = { [K in keyof M as Takes<M[K]> extends never ? never : K]: Takes<M[K]>[0] }
/** In a tuple, so that a payload may be anything; never: it takes none, because it is given (state, ctx). */
type Takes<M> = M extends (state: never, payload: infer P, ...rest: never[]) => unknown
  ? IsLoose<P> extends true
    ? [P]
    : [P] extends [InTransition]
      ? never
      : [P]
  : never
type IsLoose<T> = 0 extends 1 & T ? true : false

export type InputOf<D> = TypesOf<D>['input']
export type OutputOf<D> = TypesOf<D>['output']

// ── retry ───────────────────────────────────────────────────────────────────────────────────────────────────

/** `attempts` counts retries: 3 means 4 executions. Defaults: delay 1 s, exponential, at most 30 s. */
export type RetryPolicy = Opt<{
  attempts: number
  delay: Duration
  backoff: 'fixed' | 'exponential'
  maxDelay: Duration
  jitter: boolean
  /** By name: it is data, so that it travels with a queued step. */
  stopOn: readonly (string | ErrorClass)[]
}>
/** Either `retry`, or `retries` with an optional fixed `retryDelay`. */
export type RetryOptions =
  | { retry?: number | RetryPolicy | undefined; retries?: undefined; retryDelay?: undefined }
  | { retries?: number | undefined; retryDelay?: Duration | undefined; retry?: undefined }

// ── functions ───────────────────────────────────────────────────────────────────────────────────────────────

export type DefinitionOptions = Opt<{
  version: string
  description: string
  timeout: Duration
  triggers: readonly Trigger[]
  limits: Limits
}>

/** What starts runs by itself. (The verb `trigger` is another thing: a call to a run.) */
export type Trigger =
  | { type: 'manual' }
  /** A run for each request to its address. `path`: words before the secret part of that. */
  | {
      type: 'webhook'
      path?: string | undefined
      /** Only requests that are signed: as Standard Webhooks says, or with the HMAC of the body in `header`. */
      hmac?: WebhookSignature | undefined
      /** What makes two requests the same: they have one run. Default: the header webhook-id, if it is there. */
      dedupe?: { header: string } | { expression: string } | undefined
      /** Headers that the run gets beside content-type, user-agent, webhook-id and webhook-timestamp. */
      headers?: readonly string[] | undefined
    }
  /** A run for each event of that name whose fields have these values; its payload is the input. */
  | { type: 'event'; event: EventName; match?: Dict | undefined }
  | {
      type: 'cron'
      cron: string
      timezone?: string | undefined
      missed?: 'skip' | 'once' | undefined
      input?: unknown
    }

export type WebhookSignature = Readonly<{
  /** The name of a secret: http.secrets of the engine has its value. */
  secret: string
}> &
  Opt<{
    /** As 'x-hub-signature-256': an HMAC-SHA256 of the body alone. Left out: Standard Webhooks. */
    header: string
    /** What stands before it. Default 'sha256='. */
    prefix: string
    encoding: 'hex' | 'base64'
  }>

/** Counted in the database, over all workers. What is over a limit stays pending. */
export type Limits = Opt<{
  /** Runs of this definition at once. */
  concurrency: number
  /** Runs of one workspace at once, of all definitions that have this limit. */
  perWorkspace: number
  /** Runs of this definition with the same key at once; a path into the input, or a function of it. */
  perKey: Readonly<{ key: string | ((input: never) => unknown) }> &
    Opt<{ concurrency: number; rate: RateOptions }>
  /** Runs of this definition that begin within that time, at most. */
  rate: RateOptions
}>
export type RateOptions = Readonly<{ runs: number; per: Duration }>

export type FnTypes<I, R, O, S, St = unknown, X = unknown> = {
  state: St
  stream: X
  event: AnyEvent
  input: R
  parsed: I
  output: O
  sends: { [K in keyof S]: InOf<S[K]> }
  signals: { [K in keyof S]: OutOf<S[K]> }
}
export type Result<O> = O | Promise<O>

export type RunRef = Readonly<{
  id: string
  workflow: string
  version: string
  workspace: string
  parentId: string | null
  createdAt: Date
}>
export type Log = Record<
  'debug' | 'info' | 'warn' | 'error',
  (message: string, data?: object) => void
>

export interface Step<X = unknown> {
  /** The idempotency key for the outside: the same for all attempts of this step, different for every other step. */
  readonly key: string
  readonly attempt: number
  readonly retryCount: number
  /** Aborts on the step's timeout, on cancel, and when this worker lost the run. Pass it to fetch. */
  readonly signal: AbortSignal
  readonly run: RunRef
  readonly log: Log
  /** Live output, for handle.stream; no part of the history. Throws STREAM_FULL, VALUE_TOO_LARGE. */
  publish(value: X): void
}

/** The step that a transition of a machine is: what tells its context from a payload. */
export interface InTransition extends Step {
  readonly place: string
  /** A result before the end. */
  setOutput(output: unknown): void
}

/** `undo` runs when the run, or the scope around the step, fails, is cancelled or times out; newest first. */
export type StepOptions<O = unknown> = RetryOptions &
  Opt<{ timeout: Duration; undo: (output: O, step: Step) => unknown }>
export type DoArgs<F> = F extends (...args: never[]) => infer R
  ? [options?: StepOptions<Awaited<R>>]
  : Args<InputOf<F>, StepOptions<OutputOf<F>>>
export type DoResult<F> = F extends (...args: never[]) => infer R ? Awaited<R> : OutputOf<F>

type Until = Duration | Instant
export type WaitOptions = { schema?: Schema | undefined } & (
  | { timeout?: Until | undefined; orNull?: false | undefined }
  | { timeout: Until; orNull: true }
)
export type Waited<P, O> =
  | (O extends { schema: infer S extends Schema } ? OutOf<S> : P)
  | (O extends { orNull: true } ? null : never)
export type Key<T extends Types> = keyof T['signals'] & string
export type Taken<S, A> = A extends keyof S
  ? S[A]
  : A extends readonly (infer K extends keyof S)[]
    ? { [P in K]: { readonly name: P; readonly payload: S[P] } }[K]
    : never

export type Race<B> = {
  [K in keyof B]: B[K] extends (...args: never[]) => infer R
    ? { readonly winner: K; readonly value: Awaited<R> }
    : never
}[keyof B]
/** What wf.done gives back. */
export interface Done<R> {
  readonly '~done': R
}

/** Plain node-postgres shape, or what createEngine({ tx }) makes of it: say so in Register: { tx: MyTx }. */
export type Tx = Register extends { tx: infer X } ? X : PgClient
/** Plain node-postgres shape. */
export interface PgClient {
  query<R = Dict>(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number | null }>
}

/** What a caller may have a transaction open with: a client of pg, or what Kysely, Drizzle or TypeORM give to a callback. */
export type OpenTransaction =
  | PgClient
  | { query(sql: string, params?: unknown[]): Promise<unknown> }
  | { readonly isTransaction: true; withoutPlugins(): unknown }
  | { readonly _: { readonly session: unknown } }

/** Another run, as a workflow sees it: every call is recorded, and made once. */
export interface RemoteRun<T extends Types = Types> {
  readonly id: string
  /** The output; or throws WORKFLOW_FAILED, WORKFLOW_CANCELLED, WORKFLOW_TIMED_OUT with the recorded error as `cause`. */
  result(options?: Opt<{ timeout: Duration }>): Promise<T['output']>
  signal<K extends Key<T>>(name: K, ...args: Args<T['sends'][K], never>): Promise<void>
  cancel(reason?: string): Promise<void>
}

export interface Wf<T extends Types = Types> {
  readonly run: RunRef
  /** Silent while the run is replayed. */
  readonly log: Log
  /** What the run shows to people. Each call is a step of its own, and recorded. */
  readonly documents: Documents
  /** Aborts when the run is cancelled or times out. Inside a step use step.signal. */
  readonly signal: AbortSignal
  /** A function runs here and now; a task, workflow or name becomes a run of its own. Recorded once. */
  do<F extends ((step: Step<T['stream']>) => unknown) | Target<Tasks>>(
    name: string,
    what: F,
    ...args: DoArgs<F>
  ): Promise<DoResult<F>>
  /** What is written through `tx` commits together with the journal entry: exactly once. */
  transaction<O>(
    name: string,
    fn: (tx: Tx, step: Step<T['stream']>) => Result<O>,
    options?: StepOptions<NoInfer<O>>,
  ): Promise<O>
  sleep(name: string, duration: Duration): Promise<void>
  sleepUntil(name: string, when: Instant): Promise<void>
  /**
   * The oldest signal of that name (or of several), even one that came before. Past `timeout`: WAIT_TIMED_OUT,
   * or null with orNull.
   */
  waitFor<const A extends Key<T> | readonly Key<T>[], const O extends WaitOptions = Nothing>(
    what: A,
    options?: O,
  ): Promise<Waited<Taken<T['signals'], A>, O>>
  /** The next event of the workspace (engine.emit, wf.emit) whose fields equal `match`. */
  waitForEvent<
    K extends EventName,
    const O extends WaitOptions & { readonly match?: Dict | undefined } = Nothing,
  >(event: K, options?: O): Promise<Waited<HeardEvent<K>, O>>
  /** Starts a child without waiting for it. It is cancelled when this run ends; `detached` lets it outlive it. */
  start<D extends Target<Tasks>>(
    name: string,
    target: D,
    ...args: Args<InputOf<D>, Opt<{ id: string; detached: boolean; timeout: Duration }>>
  ): Promise<RemoteRun<TypesOf<D>>>
  /** Another run, to signal, await or cancel durably. */
  handle<D extends Target<Tasks>>(target: D, id: string): RemoteRun<TypesOf<D>>
  /** Goes out with the next commit of this run. */
  emit<K extends EventName>(event: K, payload: Emitted<K>): void
  /** Steps that belong together, with one timeout; if it throws, its undos have run before. */
  scope<O>(
    name: string,
    fn: (wf: Wf<T>) => Promise<O>,
    options?: Opt<{ timeout: Duration }>,
  ): Promise<O>
  /** The first branch to settle decides; the others are withdrawn, with their waits, timers and children, and undone. */
  race<B extends Dict<(wf: Wf<T>) => unknown>>(name: string, branches: B): Promise<Race<B>>
  /** A loop for years: give back the next state, or wf.done(result). Replay needs only the current round. */
  loop<S, R = never>(
    name: string,
    initial: S,
    round: (wf: Wf<T> & { done<X>(result: X): Done<X> }, state: S) => Promise<NoInfer<S> | Done<R>>,
  ): Promise<R>
  /** What get(id).state shows from the next commit on. */
  setState(state: T['state']): void
  /** Ends the run as cancelled, at the call. Write `return wf.cancel(…)`. */
  cancel(reason?: string): Promise<never>
  /** Is this change part of the run's history? New runs: true. */
  patched(id: string): boolean
  /** Time of the last answer; the same on every replay. */
  now(): Date
  random(): number
  uuid(): string
}
