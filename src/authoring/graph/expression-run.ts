// Evaluates the tree of an expression.
//
// Why not the evaluator of the parser's library: it has no budget (values that double in a chain of macros, and
// comparing them, take all memory and time), its matches() is JavaScript's, it drops keys such as `constructor`
// in silence, and it lets && and || swallow errors.
//
// Invariants
//   E1. Pure: no clock, no chance, nothing but the scope. The same scope gives the same value.
//   E2. Every visited part and every element is charged to the meter, so that it ends.
//   E3. What is wrong is an error. && and || look at their right side only if they must, and an error on the
//       left is never turned into true or false.

import type { ASTNode } from '@marcbachmann/cel-js'
import type { RE2JS } from 're2js'
import { didYouMean } from '../../model/errors.js'
import { Wrong } from './expression-errors.js'
import { type Code, codeOf, MACROS } from './expression-functions.js'
import { MACRO_ITEMS_MAX } from './expression-limits.js'
import { areEqual, compare, compute, negate } from './expression-operators.js'
import {
  type Fields,
  isEqual,
  itemsOf,
  keysOf,
  kindOf,
  type List,
  type Meter,
  member,
  whole,
} from './expression-values.js'

export interface World {
  readonly scope: ReadonlyMap<string, unknown>
  readonly patterns: ReadonlyMap<ASTNode, RE2JS>
  readonly meter: Meter
  /** Position of what is being done: where an error is. */
  at: number
}

/** A name that a macro has given, and those around it. */
interface Bound {
  readonly name: string
  readonly value: unknown
  readonly outer: Bound | null
}

export function run(node: ASTNode, world: World, bound: Bound | null = null): unknown {
  world.meter.charge(1)
  switch (node.op) {
    case 'value':
      return node.args
    case 'id':
      return named(node.args, node.pos, world, bound)
    case '.': {
      const value = run(node.args[0], world, bound)
      world.at = node.pos
      return fieldOf(value, node.args[1], textOf(node.args[0]), world.meter)
    }
    case '[]':
      return elementOf(node, node.args, world, bound)
    case 'list':
      return node.args.map((part) => run(part, world, bound))
    case 'map':
      return made(node.args, world, bound)
    case 'call':
      return call(node, node.args, world, bound)
    case 'rcall':
      return callMethod(node, node.args, world, bound)
    case '?:':
      return run(node.args[isTrue(node.args[0], '?', world, bound) ? 1 : 2], world, bound)
    case '||':
      return isTrue(node.args[0], '||', world, bound) || isTrue(node.args[1], '||', world, bound)
    case '&&':
      return isTrue(node.args[0], '&&', world, bound) && isTrue(node.args[1], '&&', world, bound)
    case '!_':
      return !isTrue(node.args, '!', world, bound)
    case '-_': {
      const value = run(node.args, world, bound)
      world.at = node.pos
      return negate(value)
    }
    case '.?':
    case '[?]':
      throw new Wrong('optional fields are not available')
    default:
      return operate(node, world, bound)
  }
}

type Operation = Extract<
  ASTNode,
  { op: '==' | '!=' | 'in' | '+' | '-' | '*' | '/' | '%' | '<' | '<=' | '>' | '>=' }
>

function operate(node: Operation, world: World, bound: Bound | null): unknown {
  const left = run(node.args[0], world, bound)
  const right = run(node.args[1], world, bound)
  world.at = node.pos
  switch (node.op) {
    case '==':
      return areEqual(left, right, world.meter)
    case '!=':
      return !areEqual(left, right, world.meter)
    case 'in':
      return isIn(left, right, world.meter)
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compare(node.op, left, right, world.meter)
    default:
      return compute(node.op, left, right, world.meter)
  }
}

function isTrue(node: ASTNode, operator: string, world: World, bound: Bound | null): boolean {
  const value = run(node, world, bound)
  if (typeof value === 'boolean') return value
  world.at = node.pos
  throw new Wrong(
    `${operator} takes true or false, not ${kindOf(value)}`,
    "compare: input.count > 0, input.name != '', input.key != null",
  )
}

// ── names, fields, elements ─────────────────────────────────────────────────────────────────────────────────

function named(name: string, position: number, world: World, bound: Bound | null): unknown {
  for (let at = bound; at !== null; at = at.outer) if (at.name === name) return at.value
  const value = world.scope.get(name)
  if (value !== undefined) return value
  world.at = position
  const known = [...world.scope.keys()]
  const near = didYouMean(name, known)
  throw new Wrong(
    `there is no "${name}" here`,
    near ? `did you mean "${near}"?` : `there is ${known.join(', ') || 'nothing'}`,
  )
}

function fieldOf(value: unknown, key: string, owner: string, meter: Meter): unknown {
  const kind = kindOf(value)
  if (kind !== 'an object') {
    throw new Wrong(`${owner} is ${kind}, which has no fields`)
  }
  const found = member(value as Fields, key)
  if (found !== undefined) return found
  const near = didYouMean(key, keysOf(value as Fields, meter).slice(0, 100))
  throw new Wrong(
    `there is no key "${key}" in ${owner}`,
    near ? `did you mean "${near}"?` : undefined,
  )
}

function elementOf(
  node: ASTNode,
  [of, by]: readonly [ASTNode, ASTNode],
  world: World,
  bound: Bound | null,
): unknown {
  const value = run(of, world, bound)
  const key = run(by, world, bound)
  world.at = node.pos
  const kind = kindOf(value)
  if (kind === 'an object' && typeof key === 'string')
    return fieldOf(value, key, textOf(of), world.meter)
  if (kind === 'an object') throw new Wrong(`a key is a text, not ${kindOf(key)}`)
  if (kind !== 'a list') throw new Wrong(`${textOf(of)} is ${kind}, which has no elements`)
  const items = itemsOf(value as List, world.meter)
  const found = items[whole(key, 'the index of a list')]
  if (found !== undefined) return found
  throw new Wrong(
    `there is no element ${String(key)} in ${textOf(of)}, which has ${items.length}`,
    'the first is 0; test size() first',
  )
}

function made(
  entries: readonly (readonly [ASTNode, ASTNode])[],
  world: World,
  bound: Bound | null,
): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const [keyNode, valueNode] of entries) {
    const key = run(keyNode, world, bound)
    const value = run(valueNode, world, bound)
    world.at = keyNode.pos
    if (typeof key !== 'string') throw new Wrong(`a key is a text, not ${kindOf(key)}`)
    if (fields.has(key)) throw new Wrong(`the key "${key}" is there twice`)
    fields.set(key, value)
  }
  return fields
}

function isIn(value: unknown, among: unknown, meter: Meter): boolean {
  const kind = kindOf(among)
  if (kind === 'a list')
    return itemsOf(among as List, meter).some((item) => isEqual(value, item, meter))
  if (kind !== 'an object') throw new Wrong(`"in" looks into lists and objects, not ${kind}`)
  if (typeof value !== 'string') throw new Wrong(`a key is a text, not ${kindOf(value)}`)
  return member(among as Fields, value) !== undefined
}

/** As it is written: input.items[0] */
function textOf(node: ASTNode): string {
  const text = node.input.slice(node.start, node.end)
  return text.length > 60 ? 'it' : text
}

// ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────

function call(
  node: ASTNode,
  [name, args]: readonly [string, readonly ASTNode[]],
  world: World,
  bound: Bound | null,
): unknown {
  const [first] = args
  if (name === 'has' && first?.op === '.') {
    const [owner, key] = first.args
    const value = run(owner, world, bound)
    world.at = first.pos
    const kind = kindOf(value)
    if (kind !== 'an object') throw new Wrong(`${textOf(owner)} is ${kind}, which has no fields`)
    return member(value as Fields, key) !== undefined
  }
  const values = args.map((argument) => run(argument, world, bound))
  world.at = node.pos
  return known(codeOf(name, false))(world.meter, ...values)
}

function callMethod(
  node: ASTNode,
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  world: World,
  bound: Bound | null,
): unknown {
  const value = run(receiver, world, bound)
  if (MACROS.has(name)) {
    world.at = node.pos
    return runMacro(name, iterated(value, name, world.meter), args, world, bound)
  }
  const values = args.map((argument) => run(argument, world, bound))
  world.at = node.pos
  const pattern = world.patterns.get(node)
  if (pattern) return isMatch(pattern, value, world.meter)
  return known(codeOf(name, true))(world.meter, value, ...values)
}

/** Reading has refused every other name. */
function known(code: Code | undefined): Code {
  if (code) return code
  throw new Wrong('there is no such function')
}

/** RE2: its time grows with the text, whatever the pattern is. */
function isMatch(pattern: RE2JS, value: unknown, meter: Meter): boolean {
  if (typeof value !== 'string') throw new Wrong(`matches() is for texts, not for ${kindOf(value)}`)
  meter.charge(1 + value.length * (2 + pattern.programSize() / 16))
  return pattern.test(value)
}

// ── macros ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The elements of a list, the keys of an object. */
function iterated(value: unknown, name: string, meter: Meter): readonly unknown[] {
  const kind = kindOf(value)
  if (kind !== 'a list' && kind !== 'an object') {
    throw new Wrong(`${name}() goes through lists and objects, not ${kind}`)
  }
  const items = kind === 'a list' ? itemsOf(value as List, meter) : keysOf(value as Fields, meter)
  meter.charge(items.length)
  if (items.length <= MACRO_ITEMS_MAX) return items
  throw new Wrong(
    `${name}() goes through at most ${MACRO_ITEMS_MAX} elements, and there are ${items.length}`,
    'do this in a step of your own code',
  )
}

function runMacro(
  name: string,
  items: readonly unknown[],
  [variable, ...bodies]: readonly ASTNode[],
  world: World,
  outer: Bound | null,
): unknown {
  const [body, more] = bodies
  if (variable?.op !== 'id' || !body) throw new Wrong('there is no such function')
  const within = (value: unknown): Bound => ({ name: variable.args, value, outer })
  const isSo = (value: unknown) => isTrue(body, `${name}()`, world, within(value))
  switch (name) {
    case 'all':
      return items.every(isSo)
    case 'exists':
      return items.some(isSo)
    case 'exists_one':
      return items.filter(isSo).length === 1
    case 'filter':
      return items.filter(isSo)
    default: {
      const chosen = more ? items.filter(isSo) : items
      return chosen.map((value) => run(more ?? body, world, within(value)))
    }
  }
}
