// From the text of an expression to its checked tree. The parser is that of @marcbachmann/cel-js; what may stand in
// the tree is decided here, before anything is evaluated.

import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { WrongAt } from './expression-errors.js'
import { MACROS, wrongCall } from './expression-functions.js'
import {
  EXPRESSION_CHARS_MAX,
  EXPRESSION_DEPTH_MAX,
  EXPRESSION_LITERAL_MAX,
  EXPRESSION_NODES_MAX,
  MACROS_NESTED_MAX,
  PATTERN_CHARS_MAX,
  PATTERN_SIZE_MAX,
} from './expression-limits.js'

export interface Read {
  readonly root: ASTNode
  readonly names: ReadonlySet<string>
  /** What matches() looks for, by its call. */
  readonly patterns: ReadonlyMap<ASTNode, RE2JS>
}

const parser = new Environment({
  limits: {
    maxAstNodes: EXPRESSION_NODES_MAX,
    maxDepth: EXPRESSION_DEPTH_MAX * 2,
    maxListElements: EXPRESSION_LITERAL_MAX,
    maxMapEntries: EXPRESSION_LITERAL_MAX,
    maxCallArguments: 3,
  },
})

/** Throws WrongAt. */
export function read(text: string): Read {
  checkText(text)
  const root = parse(text)
  const found: Found = { names: new Set(), patterns: new Map() }
  walk(root, { bound: [], macros: 0 }, found)
  return { root, ...found }
}

// ── before the parser ───────────────────────────────────────────────────────────────────────────────────────

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/
const SIGNS = new RegExp(`[!-](\\s*[!-]){${EXPRESSION_DEPTH_MAX}}`)

function checkText(text: string): void {
  if (text.length > EXPRESSION_CHARS_MAX) {
    throw new WrongAt(
      EXPRESSION_CHARS_MAX,
      `it has ${text.length} characters, and the limit is ${EXPRESSION_CHARS_MAX}`,
      'do this in a step of your own code',
    )
  }
  if (text.trim() === '') throw new WrongAt(0, 'it is empty')
  const control = text.search(CONTROL)
  if (control >= 0) throw new WrongAt(control, 'it holds a control character')
  const signs = text.search(SIGNS)
  if (signs >= 0) throw new WrongAt(signs, `more than ${EXPRESSION_DEPTH_MAX} signs in a row`)
  checkBrackets(text)
}

/** Brackets in texts do not count. Whether they are balanced is the parser's to say. */
function checkBrackets(text: string): void {
  let depth = 0
  let quote: string | null = null
  for (let i = 0; i < text.length; i += 1) {
    const character = text.charAt(i)
    if (quote !== null) {
      if (character === '\\') i += 1
      else if (character === quote || character === '\n') quote = null
    } else if (character === '"' || character === "'") quote = character
    else if ('([{'.includes(character)) depth += 1
    else if (')]}'.includes(character)) depth -= 1
    if (depth > EXPRESSION_DEPTH_MAX) {
      throw new WrongAt(i, `brackets are nested more than ${EXPRESSION_DEPTH_MAX} deep`)
    }
  }
}

// ── the parser ──────────────────────────────────────────────────────────────────────────────────────────────

function parse(text: string): ASTNode {
  try {
    return parser.parse(text).ast
  } catch (error) {
    const { summary, range } = error as { summary?: unknown; range?: { start: number } }
    // Not one of its own: an overflow of the stack, or a defect of the parser. It is the text that cannot be read.
    if (typeof summary !== 'string') throw new WrongAt(0, 'it cannot be parsed')
    throw new WrongAt(Math.min(range?.start ?? 0, text.length), plain(summary))
  }
}

const TOKENS: ReadonlyMap<string, string> = new Map([
  ['EOF', 'the end'],
  ['NUMBER', 'a number'],
  ['STRING', 'a text'],
  ['BYTES', 'bytes'],
  ['BOOLEAN', 'true or false'],
  ['NULL', 'null'],
  ['IDENTIFIER', 'a name'],
  ['PLUS', '"+"'],
  ['MINUS', '"-"'],
  ['MULTIPLY', '"*"'],
  ['DIVIDE', '"/"'],
  ['MODULO', '"%"'],
  ['EQ', '"=="'],
  ['NE', '"!="'],
  ['LT', '"<"'],
  ['LE', '"<="'],
  ['GT', '">"'],
  ['GE', '">="'],
  ['AND', '"&&"'],
  ['OR', '"||"'],
  ['NOT', '"!"'],
  ['IN', '"in"'],
  ['LPAREN', '"("'],
  ['RPAREN', '")"'],
  ['LBRACKET', '"["'],
  ['RBRACKET', '"]"'],
  ['LBRACE', '"{"'],
  ['RBRACE', '"}"'],
  ['DOT', '"."'],
  ['COMMA', '","'],
  ['COLON', '":"'],
  ['QUESTION', '"?"'],
])
const LIMITS: ReadonlyMap<string, string> = new Map([
  ['maxAstNodes', `it has more than ${EXPRESSION_NODES_MAX} parts`],
  ['maxDepth', 'it is nested too deeply'],
  ['maxListElements', `a list has more than ${EXPRESSION_LITERAL_MAX} elements`],
  ['maxMapEntries', `an object has more than ${EXPRESSION_LITERAL_MAX} entries`],
  ['maxCallArguments', 'no function takes so many arguments'],
])

/** The parser's own words, without the names of its tokens and limits. */
function plain(summary: string): string {
  const limit = LIMITS.get(/^Exceeded (\w+)/.exec(summary)?.[1] ?? '')
  if (limit) return limit
  const said = summary.replace(/\b[A-Z]{2,}\b/g, (word) => TOKENS.get(word) ?? word)
  return (said.charAt(0).toLowerCase() + said.slice(1)).replace(/\p{Cc}/gu, ' ')
}

// ── the tree ────────────────────────────────────────────────────────────────────────────────────────────────

interface Found {
  readonly names: Set<string>
  readonly patterns: Map<ASTNode, RE2JS>
}

interface Around {
  /** Names that macros have given. */
  readonly bound: readonly string[]
  readonly macros: number
}

function walk(node: ASTNode, around: Around, found: Found): void {
  switch (node.op) {
    case 'value':
      checkLiteral(node.args, node.start, false)
      return
    case 'id':
      if (!around.bound.includes(node.args)) found.names.add(node.args)
      return
    case '.':
      walk(node.args[0], around, found)
      return
    case 'call':
      checkCall(node, node.args[0], false, node.args[1])
      for (const argument of node.args[1]) walk(argument, around, found)
      return
    case 'rcall':
      walkMethod(node, node.args, around, found)
      return
    case 'map':
      for (const [key, value] of node.args) {
        walk(key, around, found)
        walk(value, around, found)
      }
      return
    case '-_':
      if (node.args.op === 'value') checkLiteral(node.args.args, node.args.start, true)
      else walk(node.args, around, found)
      return
    case '!_':
      walk(node.args, around, found)
      return
    case '.?':
    case '[?]':
      throw new WrongAt(node.pos, 'optional fields are not available', 'use has(input.key)')
    default:
      for (const part of node.args) walk(part, around, found)
  }
}

function walkMethod(
  node: ASTNode,
  [name, receiver, args]: readonly [string, ASTNode, ASTNode[]],
  around: Around,
  found: Found,
): void {
  checkCall(node, name, true, args)
  walk(receiver, around, found)
  if (name === 'matches') found.patterns.set(node, patternOf(args[0]))
  if (!MACROS.has(name)) {
    for (const argument of args) walk(argument, around, found)
    return
  }
  const [variable, ...bodies] = args
  if (variable?.op !== 'id') {
    throw new WrongAt(node.pos, `the first argument of ${name}() must be a name`)
  }
  if (around.macros === MACROS_NESTED_MAX) {
    throw new WrongAt(
      node.start,
      `all, exists, filter and map are nested more than ${MACROS_NESTED_MAX} deep`,
      'compute the inner list in a node of its own',
    )
  }
  const inner = { bound: [...around.bound, variable.args], macros: around.macros + 1 }
  for (const body of bodies) walk(body, inner, found)
}

function checkCall(node: ASTNode, name: string, isMethod: boolean, args: readonly ASTNode[]): void {
  const wrong = wrongCall(name, isMethod, args.length)
  if (wrong) throw new WrongAt(node.pos, wrong.message, wrong.hint)
  if (!isMethod && name === 'has' && args[0]?.op !== '.') {
    throw new WrongAt(node.pos, 'has() takes a field', 'write has(input.key)')
  }
}

function checkLiteral(value: unknown, position: number, isNegative: boolean): void {
  if (typeof value === 'bigint') {
    if (value <= 2n ** 63n - (isNegative ? 0n : 1n)) return
    throw new WrongAt(position, 'a whole number is too large for 64 bits')
  }
  if (typeof value !== 'object' || value === null) return
  if (value instanceof Uint8Array) throw new WrongAt(position, 'bytes are not available')
  throw new WrongAt(position, 'unsigned numbers are not available', 'write it without the u')
}

function patternOf(argument: ASTNode | undefined): RE2JS {
  const position = argument?.start ?? 0
  if (argument?.op !== 'value' || typeof argument.args !== 'string') {
    throw new WrongAt(
      position,
      'the regular expression of matches() must be written in the expression',
      "write input.code.matches('^[A-Z]+$'): a pattern never comes from the data",
    )
  }
  if (argument.args.length > PATTERN_CHARS_MAX) {
    throw new WrongAt(
      position,
      `a regular expression has more than ${PATTERN_CHARS_MAX} characters`,
    )
  }
  const pattern = compiled(argument.args, position)
  if (pattern.programSize() <= PATTERN_SIZE_MAX) return pattern
  throw new WrongAt(position, 'a regular expression repeats too much', 'use smaller counts in {…}')
}

function compiled(pattern: string, position: number): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : ''
    throw new WrongAt(
      position,
      `the regular expression cannot be read: ${said}`,
      'it is RE2: there are no look-arounds and no back-references',
    )
  }
}
