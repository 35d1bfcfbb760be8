// wf.scope, wf.race, wf.loop: a part of the function with a `wf` of its own.

import { decode, encode } from '../../model/codec.js'
import { checkOptions, optionInvalid } from '../../model/errors.js'
import { isStepName } from '../../model/ids.js'
import type { Due, Round, Turn } from '../../model/program.js'
import type { Stored } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { refuseNested } from '../nesting.js'
import { answered, decoded, failureOf } from '../recorded.js'
import { type Context, innerContext, stepName } from './context.js'

/** Makes the `wf` of an inner turn; given by wf.ts, which makes all of them. */
export type MakeInner = (context: Context) => unknown

type Body = (wf: unknown) => unknown

export function scope(
  context: Context,
  [name, fn, options]: readonly [unknown, unknown, unknown],
  makeInner: MakeInner,
): Promise<unknown> {
  const named = stepName(name)
  const where = `wf.scope("${named}")`
  refuseNested(context, where)
  const body = readBody(fn, where)
  const until = readTimeout(options, where)
  const run = inside(context, body, where, makeInner)
  return decoded(context.turn.scope(named, { until }, run), context.around)
}

export function race(
  context: Context,
  [name, branches]: readonly [unknown, unknown],
  makeInner: MakeInner,
): Promise<unknown> {
  const named = stepName(name)
  const where = `wf.race("${named}")`
  refuseNested(context, where)
  if (typeof branches !== 'object' || branches === null || Object.keys(branches).length === 0) {
    throw optionInvalid('branches', where, branches, 'an object of functions: { name: (wf) => … }')
  }
  const bodies = new Map<string, (inner: Turn) => Promise<Stored>>()
  for (const [key, fn] of Object.entries(branches)) {
    if (!isStepName(key)) throw optionInvalid('branches', where, key, 'named as steps are')
    const body = readBody(fn, `branch "${key}" of ${where}`)
    bodies.set(key, inside(context, body, `branch "${key}" of ${where}`, makeInner))
  }
  return answered(context.turn.race(named, bodies), context.around, ({ winner, value }) => ({
    winner,
    value: decode(value),
  }))
}

export function loop(
  context: Context,
  [name, initial, fn]: readonly [unknown, unknown, unknown],
  makeInner: MakeInner,
): Promise<unknown> {
  const named = stepName(name)
  const where = `wf.loop("${named}")`
  refuseNested(context, where)
  const round = readBody(fn, where) as (wf: unknown, state: unknown) => unknown
  const { valueBytesMax } = context.around
  const run = async (inner: Turn, state: Stored): Promise<Round> => {
    try {
      const given = await round(makeInner(innerContext(context, inner)), decode(state))
      const done = given instanceof DoneWith
      const value = done ? given.result : given
      return { done, value: encode(value, `what a round of ${where} gave back`, valueBytesMax) }
    } catch (error) {
      throw failureOf(error, `the error of ${where}`)
    }
  }
  const state = encode(initial, `the first state of ${where}`, valueBytesMax)
  return decoded(context.turn.loop(named, state, run), context.around)
}

/** What wf.done gives back: the loop ends with this result. */
export class DoneWith {
  readonly result: unknown

  constructor(result: unknown) {
    this.result = result
  }
}

function inside(
  context: Context,
  body: Body,
  where: string,
  makeInner: MakeInner,
): (inner: Turn) => Promise<Stored> {
  return async (inner) => {
    try {
      const result = await body(makeInner(innerContext(context, inner)))
      return encode(result, `the result of ${where}`, context.around.valueBytesMax)
    } catch (error) {
      throw failureOf(error, `the error of ${where}`)
    }
  }
}

function readBody(fn: unknown, where: string): Body {
  if (typeof fn === 'function') return fn as Body
  throw optionInvalid('fn', where, fn, 'a function: async (wf) => …')
}

function readTimeout(options: unknown, where: string): Due | null {
  if (options === undefined) return null
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, ['timeout'])
  const { timeout } = options as { readonly timeout?: Duration }
  if (timeout === undefined) return null
  const afterMs = durationMs(timeout)
  if (afterMs === 0) throw optionInvalid('timeout', where, timeout, 'longer than 0')
  return { afterMs }
}
