// One event, until the machine is stable again: the rule that applies, and then `always` until none does.

import { PerdureError, shown } from '../../model/errors.js'
import type { Call, Move, Moved } from './description.js'
import { asBooleanNow } from './guard.js'
import type { ActionArgs } from './types.js'

export type Action = (args: ActionArgs<unknown, SentEvent>) => unknown
export type RuleGuard = (args: { readonly context: unknown; readonly event: SentEvent }) => unknown

export interface SentEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface Rule {
  /** null: it stays, and nothing is left or entered. */
  readonly target: string | null
  readonly guard: RuleGuard | null
  readonly actions: readonly Action[]
}

export interface State {
  readonly name: string
  readonly isFinal: boolean
  readonly on: ReadonlyMap<string, readonly Rule[]>
  readonly always: readonly Rule[]
  readonly entry: readonly Action[]
  readonly exit: readonly Action[]
}

/** All that is the same for every run. */
export interface Chart {
  readonly name: string
  readonly states: ReadonlyMap<string, State>
  readonly depthMax: number
}

/** The type of the event that a run begins with. */
export const BEGIN = '(begin)'

/** What a message of that type does in that state. None of its rules applies: nothing. */
export async function dispatch(
  chart: Chart,
  state: State,
  type: string,
  call: Call,
): Promise<Moved> {
  const chain = new Chain(chart, state, call.state, eventOf(chart, type, call.payload))
  await chain.act(call)
  return chain.moved
}

/** The same at once, on a draft of the context. null: something has to be awaited, or reaches out of the context, or fails. */
export function dispatchNow(
  chart: Chart,
  state: State,
  type: string,
  { state: draft, payload }: Pick<Call, 'state' | 'payload'>,
): Moved | null {
  if (reaching.has(rulesOf(state, type))) return null
  try {
    const chain = new Chain(chart, state, draft, eventOf(chart, type, payload))
    return chain.actNow() ? chain.moved : null
  } catch {
    return null
  }
}

/** Enters the first state. */
export async function beginIn(chart: Chart, state: State, call: Call): Promise<Moved> {
  const chain = new Chain(chart, state, call.state, { type: BEGIN })
  chain.begins()
  await chain.act(call)
  return chain.moved
}

const NO_ACTIONS: readonly Action[] = []

class Chain {
  private readonly chart: Chart
  private readonly context: unknown
  private readonly event: SentEvent
  private readonly moves: Move[] = []
  /** What the event may set off where it comes. */
  private readonly rules: readonly Rule[]
  private state: State
  private isStaying = true
  /** The event, or the beginning, has had its rule: what follows is `always`. */
  private isSetOff = false
  /** Those of one rule, and how many of them have been asked for; then the state that they lead to is entered. */
  private actions = NO_ACTIONS
  private asked = 0
  private target: State | null = null

  constructor(chart: Chart, state: State, context: unknown, event: SentEvent) {
    this.chart = chart
    this.state = state
    this.context = context
    this.event = event
    this.rules = rulesOf(state, event.type)
  }

  get moved(): Moved {
    const { moves, isStaying } = this
    const { name: place } = this.state
    return isStaying && moves.length > 0
      ? { place, state: this.context, moves, isStaying }
      : { place, state: this.context, moves }
  }

  /** With the first state, and not with what the event sets off. */
  begins(): void {
    this.isSetOff = true
    this.enter(this.state)
  }

  async act(call: Call): Promise<void> {
    const args = argsOf(call, this.event)
    try {
      for (let action = this.next(); action; action = this.next()) {
        if (!keepsInside(action)) await call.past()
        await this.noted(action, action(args))
      }
    } catch (error) {
      throw error instanceof TooDeep ? error.of(call.context.run.id) : error
    }
  }

  /** false: one of them is not known to keep inside. */
  actNow(): boolean {
    const args = new ArgsNow(this.context, this.event)
    for (let action = this.next(); action; action = this.next()) {
      if (!keepsInside(action)) return false
      if (!this.isDoneNow(action, args)) {
        reaching.add(this.rules)
        return false
      }
    }
    return true
  }

  /** The actions in their order: each has ended when the next is asked for. null: it is stable. */
  private next(): Action | null {
    for (;;) {
      const action = this.actions[this.asked]
      this.asked += 1
      if (action) return action
      if (this.target) this.enter(this.target)
      else if (!this.apply()) return null
    }
  }

  private enter(state: State): void {
    this.isStaying = false
    this.state = state
    this.target = null
    this.does(state.entry)
  }

  private does(actions: readonly Action[]): void {
    this.actions = actions
    this.asked = 0
  }

  /** The first rule whose guard says true; false: there is none. */
  private apply(): boolean {
    const { chart, state, event, moves, isSetOff } = this
    const rules = isSetOff ? state.always : this.rules
    const rule = rules.find((one, index) => this.allows(one, index))
    if (!rule) return false
    this.isSetOff = true
    const { name: from, exit } = state
    const { depthMax: limit } = chart
    if (moves.length >= limit) throw new TooDeep({ event: event.type, state: from, limit })
    if (rule.target !== null) this.target = this.stateNamed(rule.target)
    this.does(rule.target === null || exit.length === 0 ? rule.actions : [...exit, ...rule.actions])
    moves.push({ from, to: rule.target ?? from, event: event.type })
    return true
  }

  private allows({ guard }: Rule, index: number): boolean {
    if (guard === null) return true
    const said = guard({ context: this.context, event: this.event })
    if (typeof said === 'boolean') return said
    const of = this.isSetOff ? 'always' : `event "${this.event.type}"`
    const where = `The guard of rule ${index + 1} of ${of} in state "${this.state.name}" of machine "${this.chart.name}"`
    return asBooleanNow(said, where)
  }

  private isDoneNow(action: Action, args: ArgsNow): boolean {
    try {
      const result = this.noted(action, action(args.given))
      if (!isPromise(result)) return !args.wantsMore
      void result.then(null, () => {})
      return false
    } catch (error) {
      if (args.wantsMore) return false
      throw error
    }
  }

  private stateNamed(name: string): State {
    const state = this.chart.states.get(name)
    if (state) return state
    throw new Error(`machine "${this.chart.name}" has no state "${name}"`)
  }

  private noted(action: Action, result: unknown): unknown {
    const isAwaited = isPromise(result)
    if (isAwaited) reaching.add(this.rules)
    if (isAwaited || !inside.has(action)) inside.set(action, !isAwaited)
    return result
  }
}

/** Actions that were seen to give back no promise, and never one: what they do is done to the context. */
const inside = new WeakMap<Action, boolean>()
/** Of which an action was seen to reach out of the context. */
const reaching = new WeakSet<readonly Rule[]>()

const NO_RULES: readonly Rule[] = []

function rulesOf(state: State, type: string): readonly Rule[] {
  return state.on.get(type) ?? NO_RULES
}

/** It may run before what came before it is stored. */
function keepsInside(action: Action): boolean {
  return inside.get(action) === true
}

function isPromise(result: unknown): result is PromiseLike<unknown> {
  return typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

/** What actions are given that run at once. One that looks for more than this is a step. */
class ArgsNow implements ProxyHandler<Pick<ActionArgs<unknown, SentEvent>, 'context' | 'event'>> {
  /** Also if the action has caught what it was told. */
  wantsMore = false
  readonly given: ActionArgs<unknown, SentEvent>

  constructor(context: unknown, event: SentEvent) {
    this.given = new Proxy({ context, event }, this) as ActionArgs<unknown, SentEvent>
  }

  get(known: { context: unknown; event: SentEvent }, name: string | symbol): unknown {
    return name === 'context' || name === 'event' ? known[name] : this.more(name)
  }

  has(_: unknown, name: string | symbol): never {
    return this.more(name)
  }

  ownKeys(): never {
    return this.more('all of it')
  }

  private more(name: string | symbol): never {
    this.wantsMore = true
    throw new Error(`${String(name)} is there where the action is run as a step`)
  }
}

type Depth = { readonly event: string; readonly state: string; readonly limit: number }

/** Who catches it knows the run. */
class TooDeep extends Error {
  readonly #depth: Depth

  constructor(depth: Depth) {
    super('too many transitions')
    this.#depth = depth
  }

  of(runId: string): PerdureError {
    return transitionTooDeep(runId, this.#depth)
  }
}

export const transitionTooDeep = (runId: string, of: Depth): PerdureError =>
  new PerdureError(
    'TRANSITION_TOO_DEEP',
    `Run ${runId}: event "${of.event}" made transition ${of.limit + 1} in state "${of.state}", and the limit is ${of.limit}.`,
    {
      hint: 'let a guard end the circle of "always", or raise maxTransitionDepth; nothing was changed',
      runId,
      details: { depth: of.limit + 1, limit: of.limit },
    },
  )

/** A message is its type and its fields. */
function eventOf({ name }: Chart, type: string, payload: unknown): SentEvent {
  if (payload === undefined || payload === null) return { type }
  if (typeof payload === 'object' && !Array.isArray(payload)) return { ...payload, type }
  const message = `The payload of event "${type}" of machine "${name}" is ${shown(payload)}, and not an object of fields.`
  throw new PerdureError('PAYLOAD_INVALID', message, {
    hint: "send { type: 'NAME', field: value }, or trigger('NAME', { field: value })",
    details: { issues: [{ message: 'must be an object' }] },
  })
}

/** What an action is given. Written out, because what a context has is not its own. */
function argsOf({ state, context: ctx }: Call, event: SentEvent): ActionArgs<unknown, SentEvent> {
  const args: ActionArgs<unknown, SentEvent> = {
    context: state,
    event,
    get key() {
      return ctx.key
    },
    get attempt() {
      return ctx.attempt
    },
    get retryCount() {
      return ctx.retryCount
    },
    get signal() {
      return ctx.signal
    },
    get run() {
      return ctx.run
    },
    get log() {
      return ctx.log
    },
    get documents() {
      return ctx.documents
    },
    publish: (value) => ctx.publish(value),
    transaction: (fn) => ctx.transaction(fn),
    start: (child, ...more) => ctx.start(child, ...more),
    all: (children, options) => ctx.all(children, options),
    allSettled: (children, options) => ctx.allSettled(children, options),
    sequence: (children, options) => ctx.sequence(children, options),
    emit: (name, payload) => ctx.emit(name, payload),
  }
  return args
}
