// What a definition is at run time, and how one is recognised: by its brand, before anything else is asked.

import type { Limits } from '../model/admission.js'
import { checkOptions, nameInvalid, optionInvalid, PerdureError, shown } from '../model/errors.js'
import { DEFINITION_NAME } from '../model/ids.js'
import type { RetryPolicy, TaskOrder } from '../model/run.js'
import { type Duration, durationMs } from '../model/time.js'
import type { CustomType } from './graph/custom-type.js'
import type { HttpCaller } from './graph/http-call.js'
import type { Plan } from './graph/plan.js'
import type { GraphJson } from './graph/types.js'
import { readLimits } from './limits.js'
import type { Machine } from './machine/description.js'
import type { ThrowRecorded } from './recorded.js'
import { isSchema } from './schema.js'
import { type MadeTrigger, readTriggers } from './triggers.js'
import type { Construct, Definition, PgClient, Schema, Step, Wf, With } from './types.js'

/** Shared by all copies of the package. */
const BRAND = Symbol.for('perdure.definition')

export interface Facts {
  readonly name: string
  readonly version: string
  readonly description: string | null
  readonly input: Schema | null
  readonly signals: Readonly<Record<string, Schema>>
  readonly state: Schema | null
  /** Of what its steps publish. */
  readonly stream: Schema | null
  /** Of a run of it: from start to end. For a task: of one attempt. */
  readonly timeoutMs: number | null
  readonly triggers: readonly MadeTrigger[]
  readonly limits: Limits | null
}

export type Made =
  | (Facts & { readonly kind: 'workflow'; readonly fn: (wf: Wf, input: never) => unknown })
  | (Facts & {
      readonly kind: 'task'
      readonly retry: RetryPolicy
      readonly fn: (input: never, step: Step) => unknown
    })
  | (Facts & {
      readonly kind: 'machine'
      readonly machine: Machine
      /** The text of all its code: what tells one build from another. */
      readonly source: string
    })
  | (Facts & { readonly kind: 'graph'; readonly plan: Plan; readonly json: GraphJson })

export type EventSchemasGiven = Readonly<Record<string, Schema>> | null

/** What a style needs of the engine around it, beside the turn. */
export interface Surroundings {
  readonly log: Record<
    'debug' | 'info' | 'warn' | 'error',
    (message: string, data?: object) => void
  >
  readonly valueBytesMax: number
  /** Throws recorded errors, each of the class that the engine knows for it. */
  readonly throwRecorded: ThrowRecorded
  /** What wf.transaction gives to its function: the client itself, or what the user makes of it. */
  tx(client: PgClient): unknown
  /** Its runs are gone with their end, and what they start with them. */
  readonly isStateless: boolean
  /** Of a transition that says nothing of it; null: none. */
  readonly transitionTimeoutMs: number | null
  /** Schemas of events; null: none are declared, and every name is allowed. */
  readonly events: EventSchemasGiven
  /** Makes an instance of a machine's class, for one attempt; left out: new cls(). */
  readonly construct?: Construct | undefined
  /** Calls a service for a node. */
  readonly http: HttpCaller
  /** Types of nodes that users have registered. */
  readonly nodeTypes: ReadonlyMap<string, CustomType>
  /** The definition of that name that this engine has. */
  find(name: string): Made | undefined
}

export function branded<D extends Definition>(made: Made, more: object = {}): D {
  const { name, version, kind } = made
  const definition = Object.defineProperty({ name, version, kind, ...more }, BRAND, { value: made })
  return Object.freeze(definition) as unknown as D
}

/** Makes a class the definition itself. */
export function brandClass(cls: object, made: Made): void {
  Object.defineProperty(cls, BRAND, { value: made })
}

export function madeOf(value: unknown): Made | null {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return null
  // Its own: a class that extends a definition is not that definition.
  return Object.hasOwn(value, BRAND) ? (value as { [BRAND]: Made })[BRAND] : null
}

const REF = Symbol.for('perdure.ref')

/** A definition whose code lives elsewhere: `ref<typeof charge>('charge')`, `ref<In, Out>('charge')`. */
export function ref<D extends Definition>(name: D['name']): D
export function ref<In, Out>(
  name: string,
): Definition<string, With<{ input: In; parsed: In; output: Out }>>
export function ref(name: unknown): Definition {
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw nameInvalid('task', name)
  const definition = { name, version: '', kind: 'task' as const }
  return Object.freeze(
    Object.defineProperty(definition, REF, { value: name }),
  ) as unknown as Definition
}

/** The name that a ref() stands for. */
export function refName(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !(REF in value)) return null
  return (value as { [REF]: string })[REF]
}

export function isClass(what: unknown): boolean {
  // The prototype of a class cannot be replaced; that of a function can, and an arrow has none.
  return (
    typeof what === 'function' &&
    Object.getOwnPropertyDescriptor(what, 'prototype')?.writable === false
  )
}

/** Reads what workflow() and task() were given: (name, fn) or (name, options, fn). */
export function readDefinition<F>(
  kind: 'workflow' | 'task',
  known: readonly string[],
  args: readonly unknown[],
): { readonly facts: Facts; readonly options: Readonly<Record<string, unknown>>; readonly fn: F } {
  const [name, second, third] = args
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw nameInvalid(kind, name)
  const where = `${kind}("${name}")`
  const fn = args.length > 2 ? third : second
  const options = args.length > 2 ? (second ?? {}) : {}
  if (typeof fn !== 'function' || isClass(fn)) throw notAFunction(where, kind)
  if (typeof options !== 'object') throw optionInvalid('options', where, options, 'an object')
  checkOptions(options, where, known)
  const given = options as Readonly<Record<string, unknown>>
  return { facts: readFacts(name, where, given), options: given, fn: fn as F }
}

function notAFunction(where: string, kind: string): PerdureError {
  return new PerdureError('DEFINITION_INVALID', `${where} has no function.`, {
    hint: `write ${kind}('name', async (…) => { … }) or ${kind}('name', { …options }, async (…) => { … })`,
  })
}

export function readFacts(
  name: string,
  where: string,
  given: Readonly<Record<string, unknown>>,
): Facts {
  const { version = '1', description, input, signals = {}, state, stream, timeout } = given
  if (state !== undefined && !isSchema(state)) throw notASchema('state', where, state)
  if (stream !== undefined && !isSchema(stream)) throw notASchema('stream', where, stream)
  if (typeof version !== 'string' || !/^[\w.+-]{1,64}$/.test(version)) {
    throw optionInvalid('version', where, version, 'a text of 1 to 64 letters, digits and _ . + -')
  }
  if (description !== undefined && typeof description !== 'string') {
    throw optionInvalid('description', where, description, 'a text')
  }
  if (input !== undefined && !isSchema(input)) throw notASchema('input', where, input)
  if (typeof signals !== 'object' || signals === null) {
    throw optionInvalid('signals', where, signals, 'an object of schemas')
  }
  for (const [signal, schema] of Object.entries(signals)) {
    if (!isSchema(schema)) throw notASchema(`signals.${signal}`, where, schema)
  }
  return {
    name,
    version,
    description: description ?? null,
    input: input ?? null,
    signals: signals as Facts['signals'],
    state: state ?? null,
    stream: stream ?? null,
    timeoutMs: timeout === undefined ? null : durationMs(timeout as Duration),
    triggers: readTriggers(given.triggers, where),
    limits: readLimits(given.limits, where),
  }
}

export function notASchema(option: string, where: string, value: unknown): PerdureError {
  return optionInvalid(
    option,
    where,
    value,
    'a Standard Schema (Zod, Valibot, ArkType, …) or typed<T>()',
  )
}

/** What a call says about a task overrides what the task says, option by option. */
export function orderOf(retry: RetryPolicy | null, timeoutMs: number | null): TaskOrder | null {
  if (retry === null && timeoutMs === null) return null
  return { ...(retry && { retry }), ...(timeoutMs !== null && { timeoutMs }) }
}

/** wf.do('Ping', ping, { retries: 3 }) would pass the options as an input that nobody reads. */
export function refuseOptionsAsInput(
  made: Made,
  input: unknown,
  { where, before, options }: { where: string; before: string; options: readonly string[] },
): void {
  // A machine and a graph read their input wherever they like.
  if (made.kind === 'machine' || made.kind === 'graph') return
  const readsInput = made.fn.length > (made.kind === 'task' ? 0 : 1)
  if (readsInput || made.input !== null || typeof input !== 'object' || input === null) return
  const keys = Object.keys(input)
  if (keys.length === 0 || !keys.every((key) => options.includes(key))) return
  throw new PerdureError(
    'INPUT_INVALID',
    `${where} gives options where the input belongs: ${made.kind} "${made.name}" takes no input.`,
    {
      hint: `write ${before}, undefined, ${shown(input)})`,
      details: { issues: [] },
    },
  )
}
