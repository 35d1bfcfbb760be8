// What is said of an expression: what is wrong, and where in its text.

import { PerdureError } from '../../model/errors.js'

/** Something wrong inside an expression. `where` and the text are added by whoever knows them. */
export class Wrong extends Error {
  readonly hint: string | undefined
  constructor(message: string, hint?: string) {
    super(message)
    this.hint = hint
  }
}

/** Found while reading, at a position of the text. */
export class WrongAt extends Wrong {
  readonly position: number
  constructor(position: number, message: string, hint?: string) {
    super(message, hint)
    this.position = position
  }
}

export interface Source {
  /** 'the condition of edge "paid"' */
  readonly where: string
  readonly text: string
}

const INVALID_HINT = "expressions are CEL: input.total > 100 && 'vip' in input.tags"
const FAILED_HINT = 'look at what it was given; has(input.key) says whether a key is there'

export const expressionInvalid = (
  source: Source,
  wrong: Wrong,
  position?: number,
): PerdureError<'EXPRESSION_INVALID'> =>
  new PerdureError(
    'EXPRESSION_INVALID',
    `Cannot read ${source.where}: ${wrong.message}.${pointed(source.text, position)}`,
    { hint: wrong.hint ?? INVALID_HINT, details: detailsOf(source.text, position) },
  )

export const expressionFailed = (
  source: Source,
  wrong: Wrong,
  position?: number,
): PerdureError<'EXPRESSION_FAILED'> =>
  new PerdureError(
    'EXPRESSION_FAILED',
    `${capital(source.where)} failed: ${wrong.message}.${pointed(source.text, position)}`,
    { hint: wrong.hint ?? FAILED_HINT, details: detailsOf(source.text, position) },
  )

/** A sentence begins with "The condition …"; a path stays as it is. */
function capital(where: string): string {
  return /^[a-z]+ /.test(where) ? where.charAt(0).toUpperCase() + where.slice(1) : where
}

interface Place {
  /** From 1. */
  readonly line: number
  readonly column: number
}

function placeOf(text: string, position: number): Place {
  const before = text.slice(0, position).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

function detailsOf(text: string, position: number | undefined) {
  const shown = text.slice(0, 2_500)
  return position === undefined
    ? { text: shown }
    : { text: shown, position, ...placeOf(text, position) }
}

const WIDTH = 80

/** The line of the text that holds the position, with a caret below it. Long lines are cut around it. */
function pointed(text: string, position: number | undefined): string {
  if (position === undefined) return ''
  const { line, column } = placeOf(text, position)
  const full = text.split('\n')[line - 1] ?? ''
  const from = Math.max(0, Math.min(column - 1 - WIDTH / 2, full.length - WIDTH))
  const part = full.slice(from, from + WIDTH).replace(/\p{Cc}/gu, ' ')
  const [left, right] = [from > 0 ? '…' : '', from + WIDTH < full.length ? '…' : '']
  const caret = `${' '.repeat(left.length + column - 1 - from)}^`
  return `\n  ${left}${part}${right}\n  ${caret}`
}
