// The functions of expressions. What is not here does not exist: there is no now(), no random and no secret().
// Positions in texts count characters (code points), as CEL does.

import { didYouMean, shown } from '../../model/errors.js'
import { Wrong } from './expression-errors.js'
import { asDouble, asInt, checkLength, limited } from './expression-operators.js'
import {
  DURATION_UNITS,
  durationOf,
  durationText,
  TIMESTAMP_PARTS,
  timestampOf,
} from './expression-times.js'
import {
  Duration,
  type Fields,
  finite,
  itemsOf,
  keysOf,
  kindOf,
  type List,
  type Meter,
  whole,
} from './expression-values.js'

/** `args`: of a method, what it is called on comes first. */
export type Code = (meter: Meter, ...args: readonly unknown[]) => unknown

interface Entry {
  /** How many arguments, without what a method is called on. */
  readonly counts: readonly number[]
  readonly code: Code
}

export const MACROS: ReadonlyMap<string, readonly number[]> = new Map([
  ['all', [2]],
  ['exists', [2]],
  ['exists_one', [2]],
  ['filter', [2]],
  ['map', [2, 3]],
])

// ── conversions ─────────────────────────────────────────────────────────────────────────────────────────────

const size: Code = (meter, value) => {
  switch (kindOf(value)) {
    case 'a text':
      return BigInt(lengthOf(value as string, meter))
    case 'a list':
      return BigInt(itemsOf(value as List, meter).length)
    case 'an object':
      return BigInt(keysOf(value as Fields, meter).length)
    default:
      throw new Wrong(`size() does not take ${kindOf(value)}`)
  }
}

const toText: Code = (_, value) => {
  switch (kindOf(value)) {
    case 'a text':
      return value
    case 'a bool':
      return String(value)
    case 'a number':
      return String(finite(value))
    case 'a timestamp':
      return (value as Date).toISOString()
    case 'a duration':
      return durationText(value as Duration)
    default:
      throw new Wrong(`string() does not take ${kindOf(value)}`)
  }
}

const toInt: Code = (_, value) => {
  switch (kindOf(value)) {
    case 'a number': {
      const number = finite(value)
      return typeof number === 'bigint' ? number : asInt(BigInt(Math.trunc(number)))
    }
    case 'a timestamp':
      return BigInt(Math.floor((value as Date).getTime() / 1_000))
    case 'a text':
      if (/^[+-]?\d{1,19}$/.test(value as string))
        return asInt(BigInt((value as string).replace(/^\+/, '')))
      throw new Wrong(`int() cannot read ${shown(value)}`)
    default:
      throw new Wrong(`int() does not take ${kindOf(value)}`)
  }
}

const NUMBER = /^[+-]?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,4})?$/

const toDouble: Code = (_, value) => {
  if (kindOf(value) === 'a number') return asDouble(finite(value))
  if (kindOf(value) !== 'a text') throw new Wrong(`double() does not take ${kindOf(value)}`)
  const number = Number(value)
  if (NUMBER.test(value as string) && Number.isFinite(number)) return number
  throw new Wrong(`double() cannot read ${shown(value)}`)
}

const toBool: Code = (_, value) => {
  if (typeof value === 'boolean') return value
  if (value === 'true' || value === 'false') return value === 'true'
  throw new Wrong(`bool() takes 'true' and 'false', not ${shownKind(value)}`)
}

const toTimestamp: Code = (_, value) =>
  value instanceof Date && kindOf(value) === 'a timestamp'
    ? value
    : timestampOf(text(value, 'timestamp()'))

const toDuration: Code = (_, value) =>
  value instanceof Duration ? value : durationOf(text(value, 'duration()'))

const shownKind = (value: unknown): string =>
  typeof value === 'string' ? shown(value) : kindOf(value)

// ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Two units of JavaScript that are one character. */
const isPair = (value: string, index: number): boolean =>
  (value.charCodeAt(index) & 0xfc00) === 0xd800 && (value.charCodeAt(index + 1) & 0xfc00) === 0xdc00

function lengthOf(value: string, meter: Meter): number {
  meter.charge(value.length / 16)
  let pairs = 0
  for (let i = 0; i < value.length; i += 1) if (isPair(value, i)) pairs += 1
  return value.length - pairs
}

/** Where the character of that number begins, for JavaScript. */
function indexOf(value: string, character: number): number {
  let index = 0
  for (let i = 0; i < character; i += 1) index += isPair(value, index) ? 2 : 1
  return index
}

/** The part between two characters. */
function cut(value: string, from: number, to: number | undefined, meter: Meter): string {
  const length = lengthOf(value, meter)
  const end = to ?? length
  if (from < 0 || end < from || end > length) {
    throw new Wrong(`substring(${from}, ${end}) is outside a text of ${length} characters`)
  }
  if (length === value.length) return value.slice(from, end)
  return value.slice(indexOf(value, from), indexOf(value, end))
}

function text(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new Wrong(`${what} takes a text, not ${kindOf(value)}`)
}

/** Two texts, one looked for in the other: in the worst case each character of the one with each of the other. */
function searching(
  what: string,
  code: (value: string, part: string, meter: Meter) => unknown,
): Code {
  return (meter, first, second) => {
    const [value, part] = [text(first, what), text(second, what)]
    meter.charge(1 + (value.length * Math.max(1, part.length)) / 256)
    return code(value, part, meter)
  }
}

/** The number of the character at which that index of JavaScript lies; -1 stays. */
const characterAt = (value: string, index: number, meter: Meter): bigint =>
  BigInt(index < 0 ? index : lengthOf(value.slice(0, index), meter))

const changed = (what: string, code: (value: string) => string): Code => {
  return (meter, value) => limited(code(text(value, what)), meter)
}

const split: Code = (meter, value, separator) => {
  const [whole, by] = [text(value, 'split()'), text(separator, 'split()')]
  meter.charge(1 + whole.length * Math.max(1, by.length / 256))
  return by === '' ? Array.from(whole) : whole.split(by)
}

const join: Code = (meter, list, separator = '') => {
  const by = text(separator, 'join()')
  if (kindOf(list) !== 'a list') throw new Wrong(`join() is for lists, not for ${kindOf(list)}`)
  let joined = ''
  for (const [i, item] of itemsOf(list as List, meter).entries()) {
    meter.charge(1)
    joined += `${i === 0 ? '' : by}${text(item, 'join() of a list')}`
    checkLength(joined)
  }
  return limited(joined, meter)
}

// ── times ───────────────────────────────────────────────────────────────────────────────────────────────────

function timePart(name: string): Code {
  const part = TIMESTAMP_PARTS.get(name)
  const unit = DURATION_UNITS.get(name)
  return (_, value) => {
    if (value instanceof Date && part && kindOf(value)) return BigInt(part(value))
    if (value instanceof Duration && unit) return BigInt(Math.trunc(value.ms / unit))
    throw new Wrong(
      `${name}() is for timestamps${unit ? ' and durations' : ''}, not for ${kindOf(value)}`,
      'a text becomes one by timestamp(input.at)',
    )
  }
}

// ── the tables ──────────────────────────────────────────────────────────────────────────────────────────────

const FUNCTIONS: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ['size', { counts: [1], code: size }],
  ['string', { counts: [1], code: toText }],
  ['int', { counts: [1], code: toInt }],
  ['double', { counts: [1], code: toDouble }],
  ['bool', { counts: [1], code: toBool }],
  ['timestamp', { counts: [1], code: toTimestamp }],
  ['duration', { counts: [1], code: toDuration }],
])

const METHODS: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ['size', { counts: [0], code: size }],
  ['startsWith', { counts: [1], code: searching('startsWith()', (a, b) => a.startsWith(b)) }],
  ['endsWith', { counts: [1], code: searching('endsWith()', (a, b) => a.endsWith(b)) }],
  ['contains', { counts: [1], code: searching('contains()', (a, b) => a.includes(b)) }],
  [
    'indexOf',
    {
      counts: [1],
      code: searching('indexOf()', (a, b, meter) => characterAt(a, a.indexOf(b), meter)),
    },
  ],
  [
    'lastIndexOf',
    {
      counts: [1],
      code: searching('lastIndexOf()', (a, b, meter) => characterAt(a, a.lastIndexOf(b), meter)),
    },
  ],
  [
    'substring',
    {
      counts: [1, 2],
      code: (meter, value, from, to) =>
        cut(
          text(value, 'substring()'),
          whole(from, 'the start of substring()'),
          to === undefined ? undefined : whole(to, 'the end of substring()'),
          meter,
        ),
    },
  ],
  [
    'lowerAscii',
    { counts: [0], code: changed('lowerAscii()', (a) => a.replace(/[A-Z]+/g, lower)) },
  ],
  [
    'upperAscii',
    { counts: [0], code: changed('upperAscii()', (a) => a.replace(/[a-z]+/g, upper)) },
  ],
  ['trim', { counts: [0], code: changed('trim()', (a) => a.trim()) }],
  ['split', { counts: [1], code: split }],
  ['join', { counts: [0, 1], code: join }],
  ...[...TIMESTAMP_PARTS.keys()].map((name): [string, Entry] => [
    name,
    { counts: [0], code: timePart(name) },
  ]),
])

function lower(part: string): string {
  return part.toLowerCase()
}
function upper(part: string): string {
  return part.toUpperCase()
}

export const codeOf = (name: string, isMethod: boolean): Code | undefined =>
  (isMethod ? METHODS : FUNCTIONS).get(name)?.code

/** What is wrong with calling it so, or null. */
export function wrongCall(name: string, isMethod: boolean, count: number): Wrong | null {
  const counts = countsOf(name, isMethod)
  if (counts?.includes(count)) return null
  if (counts) {
    return new Wrong(`${name}() takes ${counts.join(' or ')} arguments, and was given ${count}`)
  }
  const known = isMethod
    ? [...METHODS.keys(), ...MACROS.keys(), 'matches']
    : [...FUNCTIONS.keys(), 'has']
  const near = didYouMean(name, known)
  return new Wrong(
    `there is no function "${name}"${isMethod ? ' of a value' : ''}`,
    near ? `did you mean "${near}"?` : `there is ${known.join(', ')}`,
  )
}

function countsOf(name: string, isMethod: boolean): readonly number[] | undefined {
  if (!isMethod) return name === 'has' ? [1] : FUNCTIONS.get(name)?.counts
  return name === 'matches' ? [1] : (MACROS.get(name) ?? METHODS.get(name)?.counts)
}
