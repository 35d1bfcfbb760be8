// What crosses the wire: arrays of numbers, uuids and our own words as '{…}', arrays of texts packed into one text
// (texts_v1 in SQL). Driver arrays of text cost up to a hundred times as much.

import { StoreRefused } from '../kernel/store.js'
import type { EntryMeta } from '../model/run.js'
import type { Row, SqlValue } from './driver.js'

const UNIT = '\u001f'
const RECORD = '\u001e'
/** In answers: null, where an empty text means itself. */
const NULL = '\u001d'

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const SEPARATOR = /[\u001d-\u001f]/

type Plain = number | string | boolean | null

/** For values that need no quoting. */
export function list(values: readonly Plain[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`
}

/** The same, one value after another. */
export class List {
  private readonly values: Plain[] = []

  get length(): number {
    return this.values.length
  }

  add(value: Plain): void {
    this.values.push(value === null ? 'NULL' : value)
  }

  toString(): string {
    return `{${this.values.join(',')}}`
  }
}

/** Nothing at all when every one is `rest`: the database fills up with nulls, and reads them as that. */
export class SparseList extends List {
  private readonly rest: Plain
  private isNeeded = false

  constructor(rest: Plain) {
    super()
    this.rest = rest
  }

  override add(value: Plain): void {
    if (value !== this.rest) this.isNeeded = true
    super.add(value)
  }

  override toString(): string {
    return this.isNeeded ? super.toString() : '{}'
  }
}

/** Each text after a separator, so that one empty text is not no text. The codec's JSON has no control characters. */
export function pack(texts: readonly (string | null)[]): string {
  if (texts.length === 0) return ''
  for (const text of texts) if (text !== null && SEPARATOR.test(text)) throw separatorInside()
  // `join` makes null an empty text.
  const all = texts.includes(null) ? texts.map((text) => text ?? RECORD) : texts
  return UNIT + all.join(UNIT)
}

/** As pack, of texts of which only parts are not our own or the codec's. */
export class Texts {
  /** What comes first stands behind a separator, too. */
  private readonly all = ['']

  add(text: string, ...parts: readonly string[]): void {
    for (const part of parts) if (SEPARATOR.test(part)) throw separatorInside()
    this.all.push(text)
  }

  toString(): string {
    return this.all.join(UNIT)
  }
}

/** As pack, but nothing at all when every one is null: the database fills up with nulls. */
export function packSparse(texts: readonly (string | null)[]): string {
  return texts.every((text) => text === null) ? '' : pack(texts)
}

/** A separator inside a text would shift every text behind it: nothing of the batch is sent. */
function separatorInside(): StoreRefused {
  return new StoreRefused('a text contains one of the control characters U+001D to U+001F', '22021')
}

export function records(packed: SqlValue | undefined): string[][] {
  if (typeof packed !== 'string' || packed === '') return []
  return packed.split(RECORD).map((record) => record.split(UNIT))
}

export function words(joined: SqlValue | undefined): string[] {
  return typeof joined !== 'string' || joined === '' ? [] : joined.split(',')
}

export function nullable(field: string | undefined): string | null {
  return field === undefined || field === NULL ? null : field
}

/** Fields whose empty text stands for null. */
export function orNull(field: string | undefined): string | null {
  return field === undefined || field === '' ? null : field
}

export function numberOrNull(field: string | undefined): number | null {
  return field === undefined || field === '' ? null : Number(field)
}

export function metaText(meta: EntryMeta | null): string | null {
  if (meta === null) return null
  return JSON.stringify(meta)
}

export function metaOf(text: string | null): EntryMeta | null {
  return text === null ? null : (JSON.parse(text) as EntryMeta)
}

export function tagsOf(text: string): Readonly<Record<string, string>> {
  return text === '{}' ? {} : (JSON.parse(text) as Record<string, string>)
}

// ── columns of a row ────────────────────────────────────────────────────────────────────────────────────────

export function textOf(row: Row, column: string): string {
  return String(row[column])
}

export function textOrNull(row: Row, column: string): string | null {
  const value = row[column]
  return value === null || value === undefined ? null : String(value)
}

export function numberOf(row: Row, column: string): number {
  return Number(row[column])
}

export function numberOfOrNull(row: Row, column: string): number | null {
  const value = row[column]
  return value === null || value === undefined ? null : Number(value)
}

/** Functions that answer with exactly one row. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows
  if (row === undefined) throw new Error('The database answered without a row.')
  return row
}
