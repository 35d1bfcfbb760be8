// The public types of graphs.

import type { Duration } from '../../model/time.js'
import type {
  Definition,
  DefinitionOptions,
  Dict,
  EventName,
  HeardEvent,
  InputOf,
  Limits,
  Loose,
  Opt,
  OutputOf,
  RetryPolicy,
  Schema,
  Step,
  Target,
  Tasks,
  Trigger,
  With,
} from '../types.js'

/** An expression is an object; a text is always a text. Write cel`${score.value} > 80`, or { cel: 'score.value > 80' }. */
export interface Cel {
  readonly cel: string
}

type Nothing = Record<never, never>

export interface Configs {
  task: { task: string; input?: unknown }
  workflow: { workflow: string; input?: unknown }
  http: { url: string | Cel; method?: string | Cel; headers?: Dict; body?: unknown }
  set: Dict
  condition: { if: Cel }
  switch: { on: unknown; cases: readonly { name: string; is: unknown }[] }
  fork: Nothing
  merge: Nothing
  trigger: Nothing
  end: Nothing
  return: { output?: unknown }
  cancel: { reason?: string | Cel }
  delay: { for: Duration | Cel } | { until: string | Cel }
  'wait-for-event':
    | { mode: 'time'; for: Duration | Cel }
    | { mode: 'time'; until: string | Cel }
    | { mode: 'event'; event: EventName; match?: Dict }
    | {
        mode: 'condition'
        if: Cel
        every?: Duration
        poll?: { task: string; input?: unknown }
      }
  'try-catch': Opt<{ categories: readonly string[] }>
  retry: RetryPolicy
  'on-error': Nothing
  loop: Opt<{ as: string; parallel: number; most: number }> &
    ({ items: Cel | readonly unknown[] } | { while: Cel })
  emit: { event: EventName; payload?: unknown }
  'machine-event': { machine: string; id: unknown; event: unknown }
}

export type NodeOptions = Opt<{ retry: number | RetryPolicy; timeout: Duration }>

type NodeFields = Opt<{ name: string; position: { x: number; y: number } }>

/** Of the types that come with the engine; others may be registered (nodeType). */
export type GraphNode<Id extends string = string> = {
  [K in keyof Configs]: { id: Id; type: K; parent?: NoInfer<Id> } & NodeFields &
    NodeOptions &
    (Nothing extends Configs[K] ? { config?: Configs[K] } : { config: Configs[K] })
}[keyof Configs]

/** A node of a type of your own (nodeType): its name has a dot. */
export type CustomNode<Id extends string = string> = {
  id: Id
  type: `${string}.${string}`
  parent?: NoInfer<Id>
  config?: Dict
} & NodeFields &
  NodeOptions

export interface GraphJson<Id extends string = string> {
  id: string
  version?: string
  description?: string
  triggers?: readonly Trigger[]
  settings?: Limits & Opt<{ timeout: Duration; waitTimeout: Duration }>
  nodes: readonly (GraphNode<Id> | CustomNode<Id>)[]
  edges: readonly { from: NoInfer<Id> | 'trigger'; to: NoInfer<Id>; when?: string | boolean }[]
  /** What a run gives back; without it, its variables. */
  output?: unknown
}

export type GraphOptions<R, I> = DefinitionOptions &
  Opt<{
    input: Schema<R, I>
    triggers: readonly Trigger[]
    settings: GraphJson['settings']
  }>

export type GraphDefinition<N extends string, I, R, O> = Definition<
  N,
  With<{ input: R; parsed: I; output: O }>
> & { readonly json: GraphJson }

/** What a node gives, as the builder knows it. */
export type Ref<T = Loose> = { readonly '~ref': T } & (T extends readonly (infer E)[]
  ? { readonly [index: number]: Ref<E> }
  : T extends object
    ? { readonly [K in keyof T]-?: Ref<NonNullable<T[K]>> }
    : unknown)

export type Refs<T> = T | Ref<T> | Cel | (T extends object ? { [K in keyof T]: Refs<T[K]> } : never)

export type Unref<O> = O extends { readonly '~ref': infer T }
  ? T
  : O extends object
    ? { [K in keyof O]: Unref<O[K]> }
    : O

/** What a catch is told. */
export interface NodeError {
  readonly message: string
  readonly name: string
  readonly code: string | null
  readonly nodeId: string
  readonly nodeType: string
  readonly category: string
}

export type Branch<T = unknown> = () => T

/** The verbs of wf without values: each call appends a node after the one before it, in the branch it is called in. */
export interface GraphBuilder<I> {
  readonly input: Ref<I>
  do<D extends Target<Tasks>>(
    id: string,
    target: D,
    input?: Refs<InputOf<D>>,
    options?: NodeOptions,
  ): Ref<OutputOf<D>>
  set<V extends Dict>(id: string, variables: V): { readonly [K in keyof V]: Ref<Unref<V[K]>> }
  http(
    id: string,
    config: Configs['http'],
    options?: NodeOptions,
  ): Ref<{ status: number; headers: Dict<string>; body: Loose }>
  condition(id: string, when: Cel, branches: Opt<{ then: Branch; else: Branch }>): void
  switch(id: string, on: Ref | Cel, cases: Dict<Branch>, otherwise?: Branch): void
  fork<B extends Dict<Branch>>(id: string, branches: B): { [K in keyof B]: ReturnType<B[K]> }
  delay(id: string, duration: Duration): void
  waitForEvent<K extends EventName>(
    id: string,
    event: K,
    options?: Opt<{ match: Dict; timeout: Duration }>,
  ): Ref<HeardEvent<K>>
  waitUntil(
    id: string,
    condition: Cel,
    options?: Opt<{
      every: Duration
      timeout: Duration
      poll: { task: string; input?: unknown }
    }>,
  ): void
  tryCatch<T>(id: string, body: Branch<T>, handler?: (error: Ref<NodeError>) => unknown): T
  retry<T>(id: string, policy: RetryPolicy, body: Branch<T>): T
  onError(id: string, handler: (error: Ref<NodeError>) => unknown): void
  loop<E>(
    id: string,
    items: Ref<readonly E[]> | readonly E[],
    body: (item: Ref<E>) => unknown,
    options?: Opt<{ parallel: number; as: string }>,
  ): void
  emit<K extends EventName>(id: string, event: K, payload?: unknown): void
  /** A node of any type, as in the JSON. */
  node(id: string, type: string, config?: Dict, options?: NodeOptions): Ref
}

/** What the code of a type of your own is given, beside its config. */
export interface NodeContext {
  readonly workspaceId: string
  readonly executionId: string
  readonly workflowId: string
  readonly triggeredBy: string
  readonly nodeId: string
  readonly variables: Readonly<Record<string, unknown>>
  /** Its key, its AbortSignal, its attempt. */
  readonly step: Step
}
