// Compiles an expression, once per text, and says of every error where it stands.

import { type PerdureError, shown } from '../../model/errors.js'
import {
  expressionFailed,
  expressionInvalid,
  type Source,
  Wrong,
  WrongAt,
} from './expression-errors.js'
import { EXPRESSION_RESULT_MAX, EXPRESSIONS_KEPT } from './expression-limits.js'
import { type Read, read } from './expression-read.js'
import { toJson } from './expression-result.js'
import { run, type World } from './expression-run.js'
import { Meter } from './expression-values.js'

export interface Expression {
  readonly text: string
  /** Where it stands: 'the condition of edge "paid"'. */
  readonly where: string
  /** Top-level names it reads: 'input', 'score' … without names bound by macros. */
  readonly names: ReadonlySet<string>
  /**
   * `scope`: values that came out of our codec. The result is plain JSON and shares nothing with them.
   * Throws EXPRESSION_FAILED; something wrong is never "false".
   */
  evaluate(scope: ReadonlyMap<string, unknown>): unknown
}

/** Throws EXPRESSION_INVALID. `where` goes on after "Cannot read". */
export function compile(text: string, where: string): Expression {
  const source = { text, where }
  const { root, names, patterns } = readOnce(source)
  return {
    text,
    where,
    names,
    evaluate: (scope) => {
      const world: World = { scope, patterns, meter: new Meter(), at: root.pos }
      try {
        const value = run(root, world)
        world.at = root.pos
        return toJson(value, new Meter(EXPRESSION_RESULT_MAX, 'its result is too large'))
      } catch (error) {
        throw failed(source, error, world.at)
      }
    },
  }
}

/**
 * The value of a condition. There is no truthiness: "false", 0 and null are neither true nor false.
 * `of`: the expression that gave it, if one did.
 */
export function asCondition(value: unknown, of: Partial<Source> | undefined): boolean {
  if (typeof value === 'boolean') return value
  const { text = '', where = 'a condition' } = of ?? {}
  const wrong = new Wrong(
    `it gave ${shown(value)}, and a condition says true or false`,
    "compare: input.count > 0, input.name != '', input.key != null",
  )
  throw expressionFailed({ text, where }, wrong, text === '' ? undefined : 0)
}

/** Texts repeat: the same definition is read by every worker that takes up a run of it. */
const kept = new Map<string, Read>()

function readOnce(source: Source): Read {
  const known = kept.get(source.text)
  if (known) return known
  try {
    const made = read(source.text)
    if (kept.size >= EXPRESSIONS_KEPT) kept.clear()
    kept.set(source.text, made)
    return made
  } catch (error) {
    if (error instanceof WrongAt) throw expressionInvalid(source, error, error.position)
    throw error
  }
}

function failed(source: Source, error: unknown, position: number): PerdureError {
  if (error instanceof Wrong) return expressionFailed(source, error, position)
  // Whatever else comes out of it, a deep value on a nearly full stack: it has no value, and that is what counts.
  const said = error instanceof Error ? error.message : 'it cannot be evaluated'
  return expressionFailed(source, new Wrong(said), position)
}
