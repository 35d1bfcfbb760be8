// The states of an event machine, read once. Everything wrong with them is said where they are.

import { checkOptions, didYouMean, optionInvalid, shown } from '../../model/errors.js'
import { type Duration, durationMs } from '../../model/time.js'
import { checkName, invalid } from './declared.js'
import type { Action, Rule, RuleGuard, State } from './dispatch.js'

const OPTIONS = ['on', 'always', 'entry', 'exit', 'timeoutMinutes', 'timeout', 'final']
const RULE_OPTIONS = ['target', 'guard', 'actions']
const MINUTE_MS = 60_000

type Given = Readonly<Record<string, unknown>>

/** A state, with how long a run may be in it. */
export interface TimedState extends State {
  readonly timeoutMs: number | null
}

export interface Known {
  /** 'machine("picking")' */
  readonly about: string
  readonly states: readonly string[]
  /** null: none are declared, and any is allowed. */
  readonly events: readonly string[] | null
}

export function isDict(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readState(name: string, given: unknown, known: Known): TimedState {
  const where = `state "${name}" of ${known.about}`
  checkName(`a state of ${known.about}`, name)
  if (!isDict(given)) throw optionInvalid(name, known.about, given, 'a state, as { on: { … } }')
  checkOptions(given, where, OPTIONS)
  const { on = {}, always, entry, exit, final = false } = given
  if (typeof final !== 'boolean') throw optionInvalid('final', where, final, 'true or false')
  if (!isDict(on)) throw optionInvalid('on', where, on, 'an object of rules, by event')
  const events = Object.entries(on).filter(([, rules]) => rules !== undefined)
  const timeoutMs = readTimeout(given, where)
  const ways = [
    ...(events.length > 0 ? ['on'] : []),
    ...(always === undefined ? [] : ['always']),
    ...(timeoutMs === null ? [] : ['timeout']),
  ]
  if (final && ways.length > 0) {
    throw invalid(
      `State "${name}" of ${known.about} is final, and has "${ways[0]}".`,
      `a run that is there is over: leave out final: true, or "${ways[0]}"`,
    )
  }
  return {
    name,
    isFinal: final,
    on: new Map(events.map(([type, rules]) => readEvent(type, rules, where, known))),
    always: always === undefined ? [] : readRules(always, `always of ${where}`, known),
    entry: readActions('entry', entry, where),
    exit: readActions('exit', exit, where),
    timeoutMs,
  }
}

function readTimeout({ timeoutMinutes, timeout }: Given, where: string): number | null {
  if (timeoutMinutes !== undefined && timeout !== undefined) {
    throw invalid(`${capital(where)} has both "timeout" and "timeoutMinutes".`, 'keep one of them')
  }
  if (timeout !== undefined) return durationMs(timeout as Duration)
  if (timeoutMinutes === undefined) return null
  if (typeof timeoutMinutes !== 'number' || !(timeoutMinutes >= 0 && timeoutMinutes < 1e9)) {
    throw optionInvalid('timeoutMinutes', where, timeoutMinutes, 'a number of minutes, 0 or more')
  }
  return Math.round(timeoutMinutes * MINUTE_MS)
}

function readEvent(
  type: string,
  rules: unknown,
  where: string,
  known: Known,
): readonly [string, readonly Rule[]] {
  checkName(`an event, in ${where}`, type)
  if (known.events && !known.events.includes(type)) {
    const near = didYouMean(type, known.events)
    throw invalid(
      `Event "${type}" in ${where} is not one of the events of the machine.`,
      near ? `did you mean "${near}"?` : `declare it: events: { ${type}: schema }`,
    )
  }
  return [type, readRules(rules, `event "${type}" of ${where}`, known)]
}

function readRules(given: unknown, where: string, known: Known): readonly Rule[] {
  const rules: readonly unknown[] = Array.isArray(given) ? given : [given]
  return rules.map((rule, index) =>
    readRule(rule, rules.length > 1 ? `rule ${index + 1} of ${where}` : where, known),
  )
}

function readRule(given: unknown, where: string, known: Known): Rule {
  if (typeof given === 'string') {
    return { target: readTarget(given, where, known), guard: null, actions: [] }
  }
  if (!isDict(given)) {
    throw invalid(
      `${capital(where)} is ${shown(given)}.`,
      "write the name of a state, or { target: 'state', guard, actions }",
    )
  }
  checkOptions(given, where, RULE_OPTIONS)
  const { target, guard, actions } = given
  if (guard !== undefined && typeof guard !== 'function') {
    throw optionInvalid('guard', where, guard, 'a function: ({ context, event }) => true or false')
  }
  return {
    target: target === undefined ? null : readTarget(target, where, known),
    guard: (guard as RuleGuard | undefined) ?? null,
    actions: readActions('actions', actions, where),
  }
}

function readTarget(target: unknown, where: string, { states }: Known): string {
  if (typeof target === 'string' && states.includes(target)) return target
  const near = typeof target === 'string' ? didYouMean(target, states) : null
  throw invalid(
    `${capital(where)} leads to ${shown(target)}, which is no state.`,
    near ? `did you mean "${near}"?` : `its states are ${states.join(', ')}`,
  )
}

function readActions(option: string, given: unknown, where: string): readonly Action[] {
  if (given === undefined) return []
  const actions: readonly unknown[] = Array.isArray(given) ? given : [given]
  for (const action of actions) {
    if (typeof action === 'function') continue
    throw optionInvalid(option, where, action, 'a function, or a list of them')
  }
  return actions as readonly Action[]
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`
}
