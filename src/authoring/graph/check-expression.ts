// An expression as it is being written: what is wrong with it, and what it could read.

import { PerdureError } from '../../model/errors.js'
import { compile } from './expression.js'
import { type KnownName, nothingHere } from './names.js'
import { namesIn } from './read.js'

export interface ExpressionCheck {
  readonly ok: boolean
  readonly error: ExpressionProblem | null
  /** The names that it reads. */
  readonly reads: readonly string[]
  /** The names that are there. */
  readonly known: readonly KnownName[]
}

/** `position` is counted from 0, `line` and `column` from 1; null: it is about the whole. */
export interface ExpressionProblem {
  readonly message: string
  readonly hint: string
  readonly position: number | null
  readonly line: number | null
  readonly column: number | null
}

/** `node`: the node it is of. null: `graph` has no such node. */
export function checkExpression(
  text: string,
  graph: unknown,
  node: string | null,
  types: ReadonlySet<string>,
): ExpressionCheck | null {
  const known = namesIn(graph ?? { nodes: [], edges: [] }, types, node)
  if (known === null) return null
  try {
    const reads = [...compile(text, 'the expression').names]
    const names = known.map(({ name }) => name)
    // Without a graph nobody knows which nodes there are.
    const strange = graph === undefined ? undefined : reads.find((name) => !names.includes(name))
    const error = strange === undefined ? null : unknown(text, strange, names)
    return { ok: error === null, error, reads, known }
  } catch (error) {
    if (!PerdureError.is(error, 'EXPRESSION_INVALID')) throw error
    const {
      position = null,
      line = null,
      column = null,
    } = error.details as Partial<ExpressionProblem>
    const [message = ''] = error.message.split('\n')
    const problem = { message, hint: error.hint, position, line, column }
    return { ok: false, error: problem, reads: [], known }
  }
}

function unknown(text: string, name: string, known: readonly string[]): ExpressionProblem {
  const position = text.search(new RegExp(`(?<![\\w.])${name}(?!\\w)`))
  const before = text.slice(0, Math.max(position, 0)).split('\n')
  return {
    message: `"${name}" is ${nothingHere(name, known)}`,
    hint: `there is ${known.slice(0, 20).join(', ')}`,
    position: position < 0 ? null : position,
    line: position < 0 ? null : before.length,
    column: position < 0 ? null : (before.at(-1)?.length ?? 0) + 1,
  }
}
