// A value of a definition with expressions in it, as nodes use it.

import {
  asCondition,
  type Expression,
  fillTemplate,
  readTemplate as readExpressions,
} from './expression.js'

export type Scope = ReadonlyMap<string, unknown>

export interface Template {
  /** Names that its expressions read. */
  readonly names: ReadonlySet<string>
  fill(scope: Scope): unknown
  /** It is one expression, and that gives true or false. */
  holds(scope: Scope): boolean
}

export function isCel(value: unknown): value is { readonly cel: string } {
  if (typeof value !== 'object' || value === null) return false
  const keys = Object.keys(value)
  return keys.length === 1 && keys[0] === 'cel' && typeof Reflect.get(value, 'cel') === 'string'
}

/** Throws EXPRESSION_INVALID; `where`: the path to the value. */
export function readTemplate(value: unknown, where: string): Template {
  const read = readExpressions(value, where)
  const [first] = read.expressions
  const fill = (scope: Scope): unknown => fillTemplate(read, scope)
  return {
    names: read.names,
    fill,
    holds: (scope) => asCondition(fill(scope), first as Expression),
  }
}

export function constant(value: unknown): Template {
  return { names: new Set(), fill: () => value, holds: () => value === true }
}
