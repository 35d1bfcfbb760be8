// The public types of machines.

import type { Duration } from '../../model/time.js'
import type { Documents } from '../document-types.js'
import type {
  AnyClass,
  AnyEvent,
  Args,
  Definition,
  DefinitionOptions,
  Emitted,
  EventName,
  InOf,
  InputOf,
  InTransition,
  Loose,
  Opt,
  OutOf,
  Result,
  RetryPolicy,
  Schema,
  Target,
  Tasks,
  Tx,
} from '../types.js'

/** What the code of a transition is given, beside its state and its payload. */
export interface TransitionContext<I = unknown> extends InTransition {
  readonly input: I
  readonly documents: Documents
  /** What is written through `tx` commits with the transition, even though this returns earlier; or not at all. */
  transaction<O>(fn: (tx: Tx) => Promise<O>): Promise<O>
  /** The child exists only if this transition commits. `callback`: the wait transition, or event, that gets its Outcome. */
  start<D extends Target<Tasks>>(
    child: D,
    ...args: Args<InputOf<D>, Opt<{ id: string; callback: string; timeout: Duration }>>
  ): Promise<{ readonly id: string }>
  /**
   * Several children, and one callback: `all` when each has completed (its output: theirs, in order) or one has not (that
   * one's Outcome; the others are cancelled), `allSettled` when each has ended (their Outcomes), `sequence` one after the
   * other (as `all`).
   */
  all(children: readonly ChildOf[], options: { callback: string }): Promise<readonly Started[]>
  allSettled(
    children: readonly ChildOf[],
    options: { callback: string },
  ): Promise<readonly Started[]>
  sequence(children: readonly ChildOf[], options: { callback: string }): Promise<readonly Started[]>
  /** Goes out only if this transition commits. */
  emit<K extends EventName>(event: K, payload: Emitted<K>): void
}

export type ChildOf = readonly [
  child: Target<Tasks>,
  input?: unknown,
  options?: Opt<{ id: string; timeout: Duration }>,
]
export interface Started {
  readonly id: string
}

// ── classes ─────────────────────────────────────────────────────────────────────────────────────────────────

export type ClassOptions = DefinitionOptions & { name: string } & Opt<{
    input: Schema
    state: Schema
    output: Schema
  }>

type TransitionOptions = { to: string } & Opt<{
  /** Default 'start'. */
  from: string | readonly string[]
  /** Of several automatic ones the highest is asked first. Default 0. */
  priority: number
  /** Of its code. 0: none. Default: 5 minutes, or DEFAULT_TRANSITION_TIMEOUT. */
  timeout: Duration
  /** `place`: where the run goes when it has failed for good. */
  retry: number | (RetryPolicy & Opt<{ place: string }>)
}>
/** It runs when somebody sends it. The payload is what `schema` makes of what was sent. */
export type WaitTransition<P> = TransitionOptions & {
  wait: true
  schema?: Schema<unknown, P> | undefined
}
/** It runs at once, or `after` a time in the place. */
export type AutomaticTransition = TransitionOptions & {
  wait?: false | undefined
  after?: Duration | undefined
}

export type AnyMethod = (...args: Loose) => Loose
export type WaitCode<P> = (state: Loose, payload: P, ctx: TransitionContext<Loose>) => Loose
export type TransitionCode = (state: Loose, ctx: TransitionContext<Loose>) => Loose
export type GuardCode = (state: Loose, payload: Loose, ctx: Loose) => Result<boolean>

/** Decorators fit experimentalDecorators and the standard, and check what they stand on. */
export type ClassDecoratorOf = <C extends AnyClass>(
  cls: C,
  context?: ClassDecoratorContext<C>,
) => void
export interface MethodDecoratorOf<M extends AnyMethod, Self = unknown> {
  <F extends M>(target: Self, key: string | symbol, descriptor: TypedPropertyDescriptor<F>): void
  <F extends M, This extends Self>(method: F, context: ClassMethodDecoratorContext<This, F>): void
}

// ── objects of transitions ──────────────────────────────────────────────────────────────────────────────────

/** The class machine as a plain object: `run` is the method. */
export type TransitionObject<St, I, P> =
  | (WaitTransition<P> &
      Opt<{
        guard: (state: Said<St>, payload: Said<P>, ctx: ContextOf<I>) => Result<boolean>
        run: (state: Said<St>, payload: Said<P>, ctx: ContextOf<I>) => unknown
      }>)
  | (AutomaticTransition &
      Opt<{
        guard: (state: Said<St>, ctx: ContextOf<I>) => Result<boolean>
        run: (state: Said<St>, ctx: ContextOf<I>) => unknown
      }>)

/** Schemas say what it is; without one, whoever reads it does. */
type Said<T> = unknown extends T ? Loose : NoInfer<T>
type ContextOf<I> = TransitionContext<Said<I>>

/** By the names of the transitions: P is what schemas give, G what they are given. */
export type TransitionsConfig<I, R, St, O, P, G> = DefinitionOptions &
  Opt<{
    input: Schema<R, I>
    state: Schema<unknown, St>
    output: Schema<unknown, O>
  }> & {
    transitions: { [K in keyof P]: TransitionObject<St, I, P[K]> } & {
      [K in keyof G]: { schema?: Schema<G[K], unknown> | undefined }
    }
  }

export type TransitionsDefinition<N extends string, I, R, St, O, P, G> = Definition<
  N,
  {
    input: R
    parsed: I
    output: O
    state: St
    stream: unknown
    event: AnyEvent
    /** Also of those that do not wait: only the engine can tell, and refuses them. */
    sends: { [K in keyof G & string]: G[K] }
    signals: { [K in keyof P & string]: P[K] }
  }
>

// ── states and events ───────────────────────────────────────────────────────────────────────────────────────

type EventOf<E, K = keyof E & string> = string extends keyof E
  ? AnyEvent
  : K extends keyof E
    ? { type: K } & OutOf<E[K]>
    : { type: K }
type SentOf<E, K = keyof E & string> = string extends keyof E
  ? AnyEvent
  : K extends keyof E
    ? { type: K } & InOf<E[K]>
    : never

export type ActionArgs<C, Ev> = { context: C; event: Ev } & Omit<
  TransitionContext,
  'input' | 'place' | 'setOutput'
>
type Action<C, Ev> = (args: ActionArgs<C, Ev>) => unknown
type Actions<C, Ev> = Action<C, Ev> | readonly Action<C, Ev>[]
type Rule<C, Ev, S> =
  | S
  | Opt<{
      /** Left out: it stays, nothing is left or entered, and the actions run. */
      target: S
      /** Synchronous. */
      guard: (args: { context: Readonly<C>; event: Ev }) => boolean
      actions: Actions<C, Ev>
    }>
/** The first whose guard says true applies. */
type Rules<C, Ev, S> = Rule<C, Ev, S> | readonly Rule<C, Ev, S>[]
export type StateConfig<C, E, S> = Opt<{
  on: { [K in (keyof E & string) | 'TIMEOUT']?: Rules<C, EventOf<E, K>, S> }
  /** Tried when it is entered, and after each transition in it. */
  always: Rules<C, EventOf<E>, S>
  entry: Actions<C, EventOf<E>>
  exit: Actions<C, EventOf<E>>
  /** So long after it was entered it gets the event TIMEOUT. */
  timeoutMinutes: number
  timeout: Duration
  final: boolean
}>

export type EventsConfig<C, S extends string, E, O> = DefinitionOptions &
  Opt<{
    /** What can be sent, without `type`; left out, events are loose. */
    events: E
    output: (end: { state: S; context: C }) => O
    /** How many transitions one event may make. Default 100. */
    maxTransitionDepth: number
    /** The event of timeouts. Default 'TIMEOUT'. */
    timeoutEvent: string
  }> & {
    initial: NoInfer<S>
    /** Of a new run; an input is laid over it. */
    context: C | (() => C)
    states: { [K in S]: StateConfig<C, E, NoInfer<S>> }
  }

export type EventsDefinition<N extends string, C, S extends string, E, O> = Definition<
  N,
  {
    input: Partial<C> | undefined
    parsed: Partial<C> | undefined
    output: O
    state: C
    stream: unknown
    event: SentOf<E>
    sends: { [K in keyof E & string]: InOf<E[K]> }
    signals: { [K in keyof E & string]: OutOf<E[K]> }
  }
> & { readonly '~place': S }

/** What machine() is given: states and events, or transitions. One type, so that the compiler points at what is wrong in it. */
export type MachineConfig<C, S extends string, E, O, I, R, St, O2, P, G> =
  | (EventsConfig<C, S, E, O> & { transitions?: undefined })
  | (TransitionsConfig<I, R, St, O2, P, G> & { states?: undefined })

/** What became of an event. */
export type Sent<S = string, C = unknown> = Readonly<{
  id: string
  state: S
  transitions: number
  done: boolean
  snapshot: Readonly<{
    schema: 'durable-workflow-snapshot'
    version: 1
    engine: string
    state: S
    status: 'active' | 'done' | 'error'
    context: C
  }>
}>
