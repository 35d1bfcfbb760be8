// A machine as states and events. A message is one event, and one transition of the description: it runs all that follows
// from it, until nothing does.

import { decode, encode } from '../../model/codec.js'
import { checkOptions, didYouMean, optionInvalid, PerdureError, shown } from '../../model/errors.js'
import { NO_RETRY } from '../../model/retry.js'
import { type Made, notASchema, readFacts } from '../definition.js'
import { isSchema, typed } from '../schema.js'
import type { Checked, Schema } from '../types.js'
import { checkName, invalid } from './declared.js'
import type { Machine, Place, Transition } from './description.js'
import { BEGIN, beginIn, type Chart, dispatch, dispatchNow, type Rule } from './dispatch.js'
import { sourceOf } from './source.js'
import { isDict, type Known, readState, type TimedState } from './states.js'

const OPTIONS = [
  'initial',
  'context',
  'events',
  'states',
  'output',
  'maxTransitionDepth',
  'timeoutEvent',
  'version',
  'description',
  'timeout',
  'triggers',
  'limits',
]
const DEPTH_MAX = 100

type Given = Readonly<Record<string, unknown>>
type Schemas = Readonly<Record<string, Schema>>

export function eventsMachine(name: string, config: Given): Made {
  const about = `machine("${name}")`
  checkOptions(config, about, OPTIONS)
  const { version, description, timeout, triggers, output } = config
  if (output !== undefined && typeof output !== 'function') {
    throw optionInvalid('output', about, output, 'a function: ({ state, context }) => …')
  }
  const timeoutEvent = readTimeoutEvent(config.timeoutEvent, about)
  const events = readEvents(config.events, about)
  const states = readStates(config.states, {
    about,
    events: events && [...Object.keys(events), timeoutEvent],
  })
  const initial = readInitial(config.initial, [...states.keys()], about)
  const chart: Chart = { name, states, depthMax: readDepth(config.maxTransitionDepth, about) }
  const machine: Machine = {
    ...placesOf(chart, states, { initial, timeoutEvent, schemas: events ?? {} }),
    state: null,
    output: null,
    begin: readContext(config.context, about),
    self: () => null,
    end: (state, context) => (output ? output({ state, context }) : { state, context }),
    takesEvents: true,
  }
  const facts = readFacts(name, about, {
    version,
    description,
    timeout,
    triggers,
    input: INPUT,
    signals: signalsOf(states, events ?? {}),
  })
  const { context, ...code } = config
  const made = typeof context === 'function' ? context : encode(context, 'the context')
  return { ...facts, kind: 'machine', machine, source: sourceOf([code, made]) }
}

// ── what it is made of ──────────────────────────────────────────────────────────────────────────────────────

function readEvents(events: unknown, about: string): Schemas | null {
  if (events === undefined) return null
  if (!isDict(events)) throw optionInvalid('events', about, events, 'an object of schemas')
  for (const [type, schema] of Object.entries(events)) {
    checkName(`an event of ${about}`, type)
    if (!isSchema(schema)) throw notASchema(`events.${type}`, about, schema)
  }
  return events as Schemas
}

function readStates(
  states: unknown,
  known: Omit<Known, 'states'>,
): ReadonlyMap<string, TimedState> {
  const { about } = known
  if (!isDict(states)) throw optionInvalid('states', about, states, 'an object of states, by name')
  const names = Object.keys(states)
  if (names.length === 0) {
    throw invalid(`${about} has no states.`, 'give it states: { open: { on: { … } }, … }')
  }
  const all = { ...known, states: names }
  return new Map(names.map((name) => [name, readState(name, states[name], all)]))
}

function readInitial(initial: unknown, states: readonly string[], about: string): string {
  if (typeof initial === 'string' && states.includes(initial)) return initial
  const near = typeof initial === 'string' ? didYouMean(initial, states) : null
  throw invalid(
    initial === undefined
      ? `${about} has no initial state.`
      : `${about} begins in ${shown(initial)}, which is no state.`,
    near ? `did you mean "${near}"?` : `give initial: one of ${states.join(', ')}`,
  )
}

function readTimeoutEvent(type: unknown, about: string): string {
  if (type === undefined) return 'TIMEOUT'
  if (typeof type !== 'string') {
    throw optionInvalid('timeoutEvent', about, type, 'the type of an event')
  }
  checkName(`an event of ${about}`, type)
  return type
}

function readDepth(depth: unknown, about: string): number {
  if (depth === undefined) return DEPTH_MAX
  if (typeof depth === 'number' && Number.isSafeInteger(depth) && depth > 0) return depth
  throw optionInvalid('maxTransitionDepth', about, depth, 'a whole number above 0')
}

/** A fresh copy for each run, with its input laid over it. */
function readContext(context: unknown, about: string): (input: unknown) => object {
  const what = `the context of ${about}`
  if (typeof context === 'function') {
    return (input) => ({ ...dictOf(context(), about), ...inputOf(input, about) })
  }
  // What cannot be stored is refused here, and not when the first run begins.
  const stored = encode(dictOf(context, about), what, Number.MAX_SAFE_INTEGER)
  return (input) => ({ ...(decode(stored) as object), ...inputOf(input, about) })
}

function dictOf(context: unknown, about: string): object {
  if (isDict(context)) return context
  throw optionInvalid('context', about, context, 'an object, or a function that makes one')
}

function inputOf(input: unknown, about: string): object {
  if (input === undefined || input === null) return {}
  if (isDict(input)) return input
  throw new PerdureError('INPUT_INVALID', `The input of ${about} is ${shown(input)}.`, {
    hint: NOT_AN_OBJECT,
    details: { issues: [{ message: NOT_AN_OBJECT }] },
  })
}

const NOT_AN_OBJECT = 'must be an object: it is laid over the context'

/** The door of start(): a number, say, cannot be laid over anything. */
const INPUT: Schema = {
  '~standard': {
    version: 1,
    vendor: 'perdure',
    validate: (value): Checked<unknown> =>
      value === undefined || value === null || isDict(value)
        ? { value }
        : { issues: [{ message: NOT_AN_OBJECT }] },
  },
}

/** What can be sent, in whichever state. */
function signalsOf(states: ReadonlyMap<string, TimedState>, schemas: Schemas): Schemas {
  const types = [...states.values()].flatMap(({ on }) => [...on.keys()])
  const loose = types.map((type) => [type, typed<unknown>()] as const)
  return { ...Object.fromEntries(loose), ...schemas }
}

// ── what it does ────────────────────────────────────────────────────────────────────────────────────────────

interface Plan {
  readonly initial: string
  readonly timeoutEvent: string
  readonly schemas: Schemas
}

function placesOf(
  chart: Chart,
  states: ReadonlyMap<string, TimedState>,
  plan: Plan,
): Pick<Machine, 'initial' | 'places' | 'begins'> {
  const { initial } = plan
  const first = states.get(initial)
  const begins = first && (first.entry.length > 0 || first.always.length > 0)
  return {
    initial,
    places: new Map([...states].map(([name, state]) => [name, placeOf(chart, state, plan)])),
    ...(begins && { begins: beginning(chart, first) }),
  }
}

function placeOf(chart: Chart, state: TimedState, { timeoutEvent, schemas }: Plan): Place {
  const { name, isFinal, on, timeoutMs } = state
  const transition = (type: string): Transition => ({
    ...PLAIN,
    name: type,
    schema: Object.hasOwn(schemas, type) ? (schemas[type] ?? null) : null,
    targets: targetsOf(name, on.get(type) ?? []),
    run: (call) => dispatch(chart, state, type, call),
    now: (call) => dispatchNow(chart, state, type, call),
  })
  return {
    name,
    isFinal,
    automatic: [],
    waiting: new Map([...on.keys()].map((type) => [type, transition(type)])),
    late:
      timeoutMs === null
        ? []
        : [{ afterMs: timeoutMs, transition: { ...transition(timeoutEvent), schema: null } }],
  }
}

function beginning(chart: Chart, state: TimedState): Transition {
  return {
    ...PLAIN,
    name: BEGIN,
    schema: null,
    targets: targetsOf(state.name, state.always),
    run: (call) => beginIn(chart, state, call),
  }
}

/** Rules are tried where they run; a failure is the sender's, and is not tried again. */
const PLAIN = { guard: null, retry: NO_RETRY, errorPlace: null, timeoutMs: undefined } as const

function targetsOf(state: string, rules: readonly Rule[]): readonly string[] {
  return [...new Set(rules.map(({ target }) => target ?? state))]
}
