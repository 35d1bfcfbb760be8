// A machine as a decorated class. The decorators are both at once: those of the standard, and those of
// experimentalDecorators, as NestJS uses them.

import { checkOptions, didYouMean, nameInvalid, optionInvalid } from '../../model/errors.js'
import { DEFINITION_NAME } from '../../model/ids.js'
import { brandClass, isClass, madeOf, notASchema, readFacts } from '../definition.js'
import { isSchema } from '../schema.js'
import type { Loose, Schema } from '../types.js'
import {
  type ArgumentsOf,
  argumentsOf,
  checkName,
  type Declared,
  invalid,
  readTransition,
  type Spelling,
  sayOf,
} from './declared.js'
import type { Call, Guard as GuardOf } from './description.js'
import {
  type AnyFunction,
  type ClassValue,
  type Note,
  type NotedMethod,
  notedMethods,
  takeNote,
} from './notes.js'
import { machineOf, signalsOf } from './places.js'
import { sourceOf } from './source.js'
import type {
  AnyMethod,
  AutomaticTransition,
  ClassDecoratorOf,
  ClassOptions,
  GuardCode,
  MethodDecoratorOf,
  TransitionCode,
  WaitCode,
  WaitTransition,
} from './types.js'

const OPTIONS = [
  'name',
  'version',
  'description',
  'timeout',
  'triggers',
  'limits',
  'input',
  'state',
  'output',
]
const SCHEMAS = ['input', 'state', 'output'] as const

type Given = Readonly<Record<string, unknown>>
/** Standard only: what is to happen when the class is complete, its static fields too. */
interface ClassContext {
  readonly metadata?: object | undefined
  addInitializer?(initializer: () => void): void
}

/** Makes a class a definition: its methods under @Transition lead from place to place. */
export function Workflow(options: ClassOptions): ClassDecoratorOf {
  return (cls: unknown, context?: unknown) => {
    if (!isClass(cls)) {
      throw invalid('@Workflow stands on something that is not a class.', 'write it above a class')
    }
    const { metadata, addInitializer } = (context ?? {}) as ClassContext
    const define = () => defineClass(cls as ClassValue, options, metadata)
    // The static schemas are there only when the standard says that the class is complete.
    if (addInitializer) addInitializer.call(context, define)
    else define()
  }
}

/**
 * Automatic: method(state, ctx), at once or `after` a time in the place. With `wait`: method(state, payload, ctx), and the
 * payload is what `schema` gives. Write it above decorators that put something else in the place of the method.
 */
export function Transition<P = Loose>(options: WaitTransition<P>): MethodDecoratorOf<WaitCode<P>>
export function Transition(options: AutomaticTransition): MethodDecoratorOf<TransitionCode>
export function Transition(options: unknown): MethodDecoratorOf<AnyMethod> {
  return noting('@Transition', { kind: 'transition', options })
}

/** The transitions of the method run only if this says true: (state, ctx), or (state, payload, ctx) of one that waits. */
export function Guard<K extends string>(
  method: K,
): MethodDecoratorOf<AnyMethod, { [P in K]: GuardCode }>
export function Guard(guard: GuardCode): MethodDecoratorOf<AnyMethod>
export function Guard(guard: unknown): MethodDecoratorOf<AnyMethod> {
  return noting('@Guard', { kind: 'guard', guard })
}

function noting(decorator: string, note: Note): MethodDecoratorOf<AnyMethod> {
  return (...args: readonly unknown[]) => takeNote(decorator, note, args)
}

function defineClass(cls: ClassValue, options: unknown, metadata: object | undefined): void {
  const about = `class ${cls.name || '(anonymous)'}`
  const where = `@Workflow of ${about}`
  if (madeOf(cls)) throw invalid(`${about} has @Workflow twice.`, 'keep one')
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, "an object, as { name: 'review' }")
  }
  checkOptions(options, where, OPTIONS)
  const given: Given = { ...options, ...schemasOf(cls, options as Given, where) }
  const { name, output } = given
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw nameInvalid('machine', name)
  const spelling: Spelling = { about, noun: 'Method' }
  const declared = notedMethods(cls, metadata).flatMap((one) => declaredBy(cls, one, spelling))
  const facts = readFacts(name, where, {
    ...given,
    output: undefined,
    signals: signalsOf(declared),
  })
  const machine = machineOf(declared, spelling, {
    state: facts.state,
    output: (output as Schema | undefined) ?? null,
    self: (construct) => (construct ? construct(cls) : new cls()),
  })
  brandClass(cls, {
    ...facts,
    kind: 'machine',
    machine,
    source: sourceOf([...codes(cls), declared]),
  })
}

/** Its text, and that of what it extends. */
function codes(cls: ClassValue): unknown[] {
  const parent: unknown = Object.getPrototypeOf(cls)
  return isClass(parent) ? [...codes(parent as ClassValue), cls] : [cls]
}

/** Static, or in the options. */
function schemasOf(cls: ClassValue, options: Given, where: string): Given {
  const found: Record<string, unknown> = {}
  for (const name of SCHEMAS) {
    const ofClass: unknown = Reflect.get(cls, name)
    const ofOptions = options[name]
    if (ofClass !== undefined && ofOptions !== undefined && ofClass !== ofOptions) {
      throw invalid(
        `The schema "${name}" is in ${where}, and is static in the class too.`,
        'keep the static one: types are read from there',
      )
    }
    const schema = ofClass ?? ofOptions
    if (schema !== undefined && !isSchema(schema)) throw notASchema(name, where, schema)
    found[name] = schema
  }
  return found
}

function declaredBy(cls: ClassValue, method: NotedMethod, spelling: Spelling): Declared[] {
  const { name, notes } = method
  const what = sayOf(spelling, name)
  checkName(`a transition of ${spelling.about}`, name)
  const guards = notes.flatMap((note) => (note.kind === 'guard' ? [note.guard] : []))
  const transitions = notes.flatMap((note) => (note.kind === 'transition' ? [note.options] : []))
  if (transitions.length === 0) {
    throw invalid(`${what} has a guard, and no transition.`, 'add @Transition, or leave @Guard out')
  }
  if (guards.length > 1) {
    throw invalid(`${what} has ${guards.length} guards.`, 'write one that asks all of them')
  }
  return transitions.map((options) => {
    const settings = readTransition(options, what)
    const argsOf = argumentsOf(settings.wait)
    const code = (call: Call) => called(call, name, argsOf(call))
    const [guard] = guards
    return {
      name,
      settings,
      guard: guard === undefined ? null : guardOf(cls, guard, { what, argsOf }),
      code,
    }
  })
}

function called({ self }: Call, name: string, args: readonly unknown[]): unknown {
  return Reflect.apply(Reflect.get(self ?? {}, name) as AnyFunction, self, args)
}

function guardOf(
  cls: ClassValue,
  guard: unknown,
  { what, argsOf }: { readonly what: string; readonly argsOf: ArgumentsOf },
): GuardOf {
  if (typeof guard === 'function') {
    return (call) => Reflect.apply(guard, call.self, argsOf(call))
  }
  if (typeof guard !== 'string') {
    const where = `@Guard of ${what[0]?.toLowerCase()}${what.slice(1)}`
    throw optionInvalid('guard', where, guard, 'the name of a method, or a function')
  }
  const known = methodsOf(cls.prototype)
  if (!known.includes(guard)) {
    const near = didYouMean(guard, known)
    throw invalid(
      `${what} asks guard "${guard}", which the class does not have.`,
      near ? `did you mean "${near}"?` : 'write a method of that name, or give @Guard a function',
    )
  }
  return (call) => called(call, guard, argsOf(call))
}

function methodsOf(prototype: object): readonly string[] {
  const names: string[] = []
  let at: object | null = prototype
  for (; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    const all = Object.entries(Object.getOwnPropertyDescriptors(at))
    const methods = all.filter(([, { value }]) => typeof value === 'function')
    names.push(...methods.map(([name]) => name).filter((name) => name !== 'constructor'))
  }
  return names
}
