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
  const chain = new Chain(chart, state, call, eventOf(chart, type, call.payload))
  const rules = state.on.get(type) ?? []
  if (await chain.apply(rules, `event "${type}"`)) await chain.drain()
  return chain.moved
}

/** Enters the first state. */
export async function beginIn(chart: Chart, state: State, call: Call): Promise<Moved> {
  const chain = new Chain(chart, state, call, { type: BEGIN })
  await chain.enter()
  await chain.drain()
  return chain.moved
}

class Chain {
  private readonly chart: Chart
  private readonly call: Call
  private readonly event: SentEvent
  private readonly args: ActionArgs<unknown, SentEvent>
  private readonly moves: Move[] = []
  private state: State
  private isStaying = true

  constructor(chart: Chart, state: State, call: Call, event: SentEvent) {
    this.chart = chart
    this.state = state
    this.call = call
    this.event = event
    this.args = argsOf(call, event)
  }

  get moved(): Moved {
    const { moves, isStaying } = this
    const moved = { place: this.state.name, state: this.call.state, moves }
    return isStaying && moves.length > 0 ? { ...moved, isStaying } : moved
  }

  enter(): Promise<void> {
    this.isStaying = false
    return this.act(this.state.entry)
  }

  async drain(): Promise<void> {
    while (await this.apply(this.state.always, 'always')) {
      // Until none applies.
    }
  }

  /** The first rule whose guard says true; false: there is none. */
  async apply(rules: readonly Rule[], of: string): Promise<boolean> {
    const rule = rules.find((one, index) => this.allows(one, index, of))
    if (!rule) return false
    const { name: from, exit } = this.state
    const { depthMax } = this.chart
    if (this.moves.length >= depthMax) throw this.tooDeep(depthMax)
    const to = rule.target ?? from
    if (rule.target === null) await this.act(rule.actions)
    else {
      await this.act(exit)
      await this.act(rule.actions)
      this.state = this.stateNamed(rule.target)
      await this.enter()
    }
    this.moves.push({ from, to, event: this.event.type })
    return true
  }

  private allows({ guard }: Rule, index: number, of: string): boolean {
    if (guard === null) return true
    const where = `The guard of rule ${index + 1} of ${of} in state "${this.state.name}" of machine "${this.chart.name}"`
    return asBooleanNow(guard({ context: this.call.state, event: this.event }), where)
  }

  private async act(actions: readonly Action[]): Promise<void> {
    for (const action of actions) {
      if (!keepsInside(action)) await this.call.past()
      await noted(action, action(this.args))
    }
  }

  private stateNamed(name: string): State {
    const state = this.chart.states.get(name)
    if (state) return state
    throw new Error(`machine "${this.chart.name}" has no state "${name}"`)
  }

  private tooDeep(limit: number): PerdureError {
    const { id } = this.call.context.run
    return transitionTooDeep(id, { event: this.event.type, state: this.state.name, limit })
  }
}

/** Actions that were seen to give back no promise, and never one: what they do is done to the context. */
const inside = new WeakMap<Action, boolean>()

/** It may run before what came before it is stored. */
function keepsInside(action: Action): boolean {
  return inside.get(action) === true
}

function noted(action: Action, result: unknown): unknown {
  const isPromise = typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function'
  if (isPromise || !inside.has(action)) inside.set(action, !isPromise)
  return result
}

export const transitionTooDeep = (
  runId: string,
  of: { readonly event: string; readonly state: string; readonly limit: number },
): PerdureError =>
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
