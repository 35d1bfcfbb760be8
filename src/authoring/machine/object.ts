// The class machine as a plain object: the same options, `run` for the method, `guard` a function.

import { checkOptions, optionInvalid } from '../../model/errors.js'
import { type Made, notASchema, readFacts } from '../definition.js'
import { isSchema } from '../schema.js'
import {
  argumentsOf,
  checkName,
  type Declared,
  invalid,
  readTransition,
  type Spelling,
  sayOf,
  TRANSITION_OPTIONS,
} from './declared.js'
import type { Call } from './description.js'
import { machineOf, signalsOf } from './places.js'
import { sourceOf } from './source.js'

const OPTIONS = [
  'transitions',
  'version',
  'description',
  'timeout',
  'triggers',
  'limits',
  'input',
  'state',
  'output',
]
const KNOWN = [...TRANSITION_OPTIONS, 'guard', 'run']

type Given = Readonly<Record<string, unknown>>
type Code = (...args: readonly unknown[]) => unknown

export function transitionsMachine(name: string, config: Given): Made {
  const about = `machine("${name}")`
  checkOptions(config, about, OPTIONS)
  const { transitions, output, ...options } = config
  if (typeof transitions !== 'object' || transitions === null || Array.isArray(transitions)) {
    throw optionInvalid('transitions', about, transitions, 'an object of transitions, by name')
  }
  if (output !== undefined && !isSchema(output)) throw notASchema('output', about, output)
  const spelling: Spelling = { about, noun: 'Transition' }
  const declared = Object.entries(transitions).map(([key, given]) =>
    declaredAs(key, given, spelling),
  )
  const facts = readFacts(name, about, { ...options, signals: signalsOf(declared) })
  const parts = { state: facts.state, output: output ?? null, self: () => null }
  const machine = machineOf(declared, spelling, parts)
  return { ...facts, kind: 'machine', machine, source: sourceOf(transitions) }
}

function declaredAs(name: string, given: unknown, spelling: Spelling): Declared {
  const what = sayOf(spelling, name)
  checkName(`a transition of ${spelling.about}`, name)
  if (typeof given !== 'object' || given === null) {
    throw invalid(`${what} is no transition.`, "write { from: 'here', to: 'there', run }")
  }
  checkOptions(given, `${spelling.about}.transitions.${name}`, KNOWN)
  const { guard, run, ...options } = given as Given
  const settings = readTransition(options, what)
  const argsOf = argumentsOf(settings.wait)
  const code = functionOf('run', run, what)
  const asked = functionOf('guard', guard, what)
  return {
    name,
    settings,
    guard: asked && ((call: Call) => asked(...argsOf(call))),
    code: (call) => code?.(...argsOf(call)),
  }
}

function functionOf(option: string, value: unknown, what: string): Code | null {
  if (value === undefined) return null
  if (typeof value === 'function') return value as Code
  const where = `${what[0]?.toLowerCase()}${what.slice(1)}`
  throw optionInvalid(option, where, value, 'a function: (state, …) => …')
}
