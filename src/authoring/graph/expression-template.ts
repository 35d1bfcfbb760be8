// Config of a node with expressions in it. An expression is an object { cel: '…' }, with that one key; a text is always
// a text, whatever it looks like. Read once when the definition is saved, filled whenever a run comes to the node.
// What an expression gives is put in as it is: a { cel: … } in it stays data.

import { VALUE_DEPTH_MAX } from '../../model/limits.js'
import { compile, type Expression } from './expression-compile.js'
import { expressionInvalid, Wrong } from './expression-errors.js'

export interface Template {
  /** All expressions, in the order in which they stand. */
  readonly expressions: readonly Expression[]
  /** Top-level names that they read. */
  readonly names: ReadonlySet<string>
  readonly root: Part
}

type Part =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'expression'; readonly expression: Expression }
  | { readonly kind: 'list'; readonly parts: readonly Part[] }
  | { readonly kind: 'object'; readonly parts: readonly (readonly [string, Part])[] }

/** Throws EXPRESSION_INVALID. `where`: 'the config of node "score"'; the way to an expression is added to it. */
export function readTemplate(value: unknown, where: string): Template {
  const expressions: Expression[] = []
  const root = readPart(value, { where, path: '', depth: VALUE_DEPTH_MAX }, expressions)
  return { expressions, names: new Set(expressions.flatMap(({ names }) => [...names])), root }
}

/** The value with each expression replaced by its result; a fresh copy at each call. Throws EXPRESSION_FAILED. */
export function fillTemplate(template: Template, scope: ReadonlyMap<string, unknown>): unknown {
  return fill(template.root, scope)
}

interface At {
  readonly where: string
  readonly path: string
  readonly depth: number
}

function readPart(value: unknown, at: At, expressions: Expression[]): Part {
  if (typeof value !== 'object' || value === null) return { kind: 'value', value }
  if (at.depth === 0) {
    const wrong = new Wrong(`it is nested deeper than ${VALUE_DEPTH_MAX} levels`)
    throw expressionInvalid({ where: at.where, text: '' }, wrong)
  }
  const inner = (key: string): At => ({ ...at, path: at.path + key, depth: at.depth - 1 })
  if (Array.isArray(value)) {
    const parts = value.map((item, i) => readPart(item, inner(`[${i}]`), expressions))
    return { kind: 'list', parts }
  }
  const text = expressionText(value)
  if (text !== null) {
    const expression = compile(
      text,
      `${at.where}${at.path === '' ? '' : ` at ${at.path.slice(0, 200)}`}`,
    )
    expressions.push(expression)
    return { kind: 'expression', expression }
  }
  const parts = Object.entries(value).map(
    ([key, item]) => [key, readPart(item, inner(`.${key}`), expressions)] as const,
  )
  return { kind: 'object', parts }
}

/** Of { cel: text }, and of nothing that has more or something else in it. */
function expressionText(value: object): string | null {
  const keys = Object.keys(value)
  if (keys.length !== 1 || keys[0] !== 'cel') return null
  const { cel } = value as { cel: unknown }
  return typeof cel === 'string' ? cel : null
}

function fill(part: Part, scope: ReadonlyMap<string, unknown>): unknown {
  switch (part.kind) {
    case 'value':
      return part.value
    case 'expression':
      return part.expression.evaluate(scope)
    case 'list':
      return part.parts.map((item) => fill(item, scope))
    case 'object':
      return Object.fromEntries(part.parts.map(([key, item]) => [key, fill(item, scope)]))
  }
}
