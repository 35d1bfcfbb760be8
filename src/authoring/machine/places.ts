// From declared transitions to the places of a machine; and what is wrong with them as a whole.

import { didYouMean } from '../../model/errors.js'
import { typed } from '../schema.js'
import type { Schema } from '../types.js'
import { type Declared, END, invalid, type Spelling, START, sayOf } from './declared.js'
import type { Call, Machine, Moved, Place, Transition } from './description.js'

export interface Parts {
  readonly state: Schema | null
  readonly output: Schema | null
  readonly self: Machine['self']
}

export function machineOf(
  declared: readonly Declared[],
  spelling: Spelling,
  parts: Parts,
): Machine {
  checkNames(declared, spelling)
  checkStart(declared, spelling)
  checkWays(declared, spelling)
  checkChoices(declared, spelling)
  const names = new Set([START, ...declared.flatMap(leadsTo), END])
  return {
    initial: START,
    places: new Map([...names].map((name) => [name, placeOf(name, declared)])),
    state: parts.state,
    output: parts.output,
    begin: () => ({}),
    self: parts.self,
    end: () => undefined,
    takesEvents: false,
  }
}

/** What can be sent to it. */
export function signalsOf(declared: readonly Declared[]): Readonly<Record<string, Schema>> {
  const waiting = declared.filter(({ settings }) => settings.wait)
  return Object.fromEntries(
    waiting.map(({ name, settings }) => [name, settings.schema ?? typed<unknown>()]),
  )
}

function leadsTo({ settings: { to, errorPlace } }: Declared): readonly string[] {
  return errorPlace === null ? [to] : [to, errorPlace]
}

function placeOf(name: string, declared: readonly Declared[]): Place {
  const leaving = declared.filter(({ settings }) => settings.from.includes(name))
  const late = leaving.flatMap((one) => {
    const { afterMs } = one.settings
    return afterMs === null ? [] : [{ afterMs, transition: transitionOf(one, name) }]
  })
  const waiting = leaving.filter(({ settings }) => settings.wait)
  return {
    name,
    isFinal: name === END,
    // Sorting is stable: what is declared first stays first.
    automatic: leaving
      .filter(isAutomatic)
      .sort((a, b) => b.settings.priority - a.settings.priority)
      .map((one) => transitionOf(one, name)),
    waiting: new Map(waiting.map((one) => [one.name, transitionOf(one, name)])),
    late: late.sort((a, b) => a.afterMs - b.afterMs),
  }
}

function isAutomatic({ settings }: Declared): boolean {
  return !settings.wait && settings.afterMs === null
}

function transitionOf({ name, guard, settings, code }: Declared, from: string): Transition {
  const { to, schema, retry, errorPlace, timeoutMs } = settings
  const moves = [{ from, to, event: name }]
  return {
    name,
    guard,
    schema,
    retry,
    errorPlace,
    timeoutMs,
    targets: [to],
    run: async (call: Call): Promise<Moved> => {
      const given = await code(call)
      if (to !== END) return { place: to, state: given === undefined ? call.state : given, moves }
      const output = given === undefined ? {} : { output: { value: given } }
      return { place: to, state: call.state, ...output, moves }
    },
  }
}

// ── what is wrong ───────────────────────────────────────────────────────────────────────────────────────────

function checkNames(declared: readonly Declared[], spelling: Spelling): void {
  const byName = new Map<string, Declared>()
  const seen = new Set<string>()
  for (const one of declared) {
    const what = sayOf(spelling, one.name)
    const { from, wait, schema } = one.settings
    for (const place of from) {
      const key = JSON.stringify([one.name, place])
      if (seen.has(key)) {
        throw invalid(`${what} leaves "${place}" twice.`, 'keep one of its transitions from there')
      }
      seen.add(key)
    }
    const before = byName.get(one.name)?.settings
    if (before && before.wait !== wait) {
      throw invalid(
        `${what} waits in one of its transitions, and not in another: it would be given a payload only sometimes.`,
        'write two, and let both call what they share',
      )
    }
    if (before && before.schema !== schema) {
      throw invalid(
        `${what} has two schemas: whoever sends its payload could not know which one counts.`,
        'give all of its transitions the same schema, or write two',
      )
    }
    byName.set(one.name, one)
  }
}

function checkStart(declared: readonly Declared[], spelling: Spelling): void {
  const first = declared.filter(({ settings }) => settings.from.includes(START))
  if (first.length === 1) return
  if (first.length === 0) {
    const near = didYouMean(
      START,
      declared.flatMap(({ settings }) => settings.from),
    )
    throw invalid(
      `No transition of ${spelling.about} leaves "${START}", where every run begins.`,
      near ? `did you mean "${START}" by "${near}"?` : `let one begin there: from: '${START}'`,
    )
  }
  const names = first.map(({ name }) => name).join(', ')
  throw invalid(
    `${first.length} transitions of ${spelling.about} leave "${START}": ${names}.`,
    `let one of them leave "${START}", and choose behind it with guards`,
  )
}

/** Every place must be entered and left: what is not is a slip of the fingers, or a run that is stuck for ever. */
function checkWays(declared: readonly Declared[], spelling: Spelling): void {
  const left = new Set(declared.flatMap(({ settings }) => settings.from))
  const entered = new Set([START, ...declared.flatMap(leadsTo)])
  const guess = (word: string, known: ReadonlySet<string>, otherwise: string): string => {
    const near = didYouMean(
      word,
      [...known].filter((place) => place !== word),
    )
    return near ? `did you mean "${near}"?` : otherwise
  }
  for (const { name, settings } of declared) {
    const what = sayOf(spelling, name)
    const { from, to, errorPlace } = settings
    if (from.includes(END)) {
      throw invalid(
        `${what} leaves "${END}", where every run is over.`,
        'give that place another name, or leave the transition out',
      )
    }
    if (errorPlace !== null && !left.has(errorPlace)) {
      const otherwise = `add a transition from: '${errorPlace}', such as one with wait: true`
      throw invalid(
        `${what} fails into "${errorPlace}", which no transition leaves.`,
        guess(errorPlace, left, otherwise),
      )
    }
    if (to !== END && !left.has(to)) {
      const otherwise = `add a transition from: '${to}', or end the run with to: '${END}'`
      throw invalid(
        `${what} leads to "${to}", which no transition leaves.`,
        guess(to, new Set([...left, END]), otherwise),
      )
    }
  }
  for (const { name, settings } of declared) {
    const lost = settings.from.find((place) => !entered.has(place))
    if (lost === undefined) continue
    const otherwise = `add a transition to: '${lost}', or leave this one out`
    throw invalid(
      `${sayOf(spelling, name)} leaves "${lost}", which no transition leads to.`,
      guess(lost, entered, otherwise),
    )
  }
}

function checkChoices(declared: readonly Declared[], spelling: Spelling): void {
  const unguarded = new Map<string, string>()
  for (const one of declared) {
    if (one.guard !== null || !isAutomatic(one)) continue
    for (const place of one.settings.from) {
      const other = unguarded.get(place)
      if (other !== undefined) {
        throw invalid(
          `Two transitions of ${spelling.about} leave "${place}" by themselves, and neither has a guard: ${other}, ${one.name}.`,
          'give the one of higher priority a guard, or let one wait',
        )
      }
      unguarded.set(place, one.name)
    }
  }
}
