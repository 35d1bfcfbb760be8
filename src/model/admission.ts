// Limits of a definition: how many of its runs may be under way at once, and how many may begin in a time.

import { decode } from './codec.js'
import type { Stored } from './run.js'

export interface Rate {
  readonly runs: number
  readonly perMs: number
}

/** As data, for processes that do not have the code. null: no such limit. */
export interface LimitRules {
  readonly concurrency: number | null
  /** Of all definitions that have this limit, together. */
  readonly perWorkspace: number | null
  readonly perKey: number | null
  /** Where in the input the key is; null: code says it. */
  readonly keyPath: string | null
  readonly rate: Rate | null
  readonly keyRate: Rate | null
}

export interface Limits {
  readonly rules: LimitRules
  /** null: its runs have no key. */
  readonly keyOf: ((input: unknown) => unknown) | null
}

/** Where a run is counted beside its definition; '': nowhere. */
export interface Counted {
  readonly workspace: string
  readonly key: string
}

export function countedAt(limits: Limits, workspace: string, input: Stored): Counted {
  const { rules, keyOf } = limits
  return {
    workspace: rules.perWorkspace === null ? '' : workspace,
    key: keyOf === null ? '' : keyText(keyOf(decode(input))),
  }
}

/** By what is data. A key that code says is not counted. */
export function limitsBy(rules: LimitRules): Limits {
  const { keyPath } = rules
  return { rules, keyOf: keyPath === null ? null : (input) => atPath(input, keyPath) }
}

/** A field, or a field of a field: `customer.id`. */
export function atPath(input: unknown, path: string): unknown {
  let value = input
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** An index has it: what is longer is told apart by its beginning and its length. */
const KEY_CHARS_MAX = 200

/** A run without a key is not counted by it. */
function keyText(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value.toWellFormed() : (JSON.stringify(value) ?? '')
  // U+0000 to U+001F cannot be stored, or part texts on their way.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
  const clean = text.replace(/[\u0000-\u001f]/g, ' ')
  return clean.length <= KEY_CHARS_MAX ? clean : `${clean.slice(0, KEY_CHARS_MAX)}…${clean.length}`
}
