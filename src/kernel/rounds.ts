// Rounds of loops in a journal: those that have ended are behind the run, and only what the last one left counts. Pure.
//
// A question of round 3 of loop "renewals" is named renewals@3/charge, its undo undo:renewals@3/charge, the end of the
// round renewals@3.

import type { Entry, NewEntry } from '../model/run.js'
import { RECORD } from './asks.js'

const IN_ROUND = /@\d+(\/|$)/
/** Of the entries that are behind, the longest stretches are written down: what is left out is only read in vain. */
const STRETCHES_MAX = 32

export function lastRounds(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>()
  for (const { kind, name } of entries) if (kind === 'round.ended') noteRound(name, last)
  return last
}

function noteRound(name: string, last: Map<string, number>): void {
  const at = name.lastIndexOf('@')
  last.set(name.slice(0, at), Number(name.slice(at + 1)))
}

type Named = Pick<Entry, 'kind' | 'name' | 'meta'>

/** Without what belongs to rounds that have ended, but for the end of the last one of each loop. */
export function withoutRounds(
  entries: readonly Entry[],
  last: ReadonlyMap<string, number>,
): readonly Entry[] {
  if (last.size === 0) return entries
  return entries.filter((entry) => !isBehind(entry, last))
}

function isBehind({ kind, name, meta }: Named, last: ReadonlyMap<string, number>): boolean {
  const start = name.startsWith('undo:') ? 5 : 0
  for (let at = name.indexOf('@', start); at >= 0; at = name.indexOf('@', at + 1)) {
    const ended = last.get(name.slice(start, at))
    if (ended === undefined) continue
    let end = at + 1
    while (isDigit(name.charCodeAt(end))) end += 1
    if (end === at + 1) continue
    const number = Number(name.slice(at + 1, end))
    if (name[end] === '/' && number <= ended) return true
    if (end < name.length) continue
    if (kind === 'round.ended' && number < ended) return true
    // The question belongs to the round; who comes later asks for its end alone.
    if (kind === 'step.asked' && meta?.target === RECORD && number <= ended) return true
  }
  return false
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

interface Ahead extends Named {
  readonly seq: number
}

interface Stretch {
  readonly first: number
  readonly last: number
}

/** Most runs have no rounds. */
const NONE: readonly never[] = []

/**
 * Which entries are behind, as the end of each round writes it down: whoever loads the run need not read them. Only
 * entries that came after the last re-opening are added, because that looks at everything since the failure before it.
 */
export class Behind {
  private rounds: Map<string, number> | null = null
  /** The first and the last entry of each stretch. */
  private behind: readonly number[] = NONE
  /** Entries inside rounds that are not behind yet. */
  private ahead: Ahead[] | null = null

  /** `rounds`: per loop, the last one that has ended. */
  constructor(journal: readonly Entry[], rounds: ReadonlyMap<string, number>) {
    if (journal.length === 0) return
    this.rounds = new Map(rounds)
    const said = journal.findLast(({ kind }) => kind === 'round.ended' || kind === 'run.reopened')
    this.behind = said?.meta?.behind ?? NONE
    const since = journal.findLastIndex(({ kind }) => kind === 'run.reopened')
    for (const entry of journal.slice(since + 1)) this.note(entry, entry.seq)
  }

  /** The entry as it is to be written with the number `seq`. */
  noted(entry: NewEntry, seq: number): NewEntry {
    const { kind, name, meta } = entry
    // What was to have this number or a later one was taken back: its transaction was not committed.
    while (this.ahead && (this.ahead.at(-1)?.seq ?? 0) >= seq) this.ahead.pop()
    if (kind !== 'round.ended') {
      this.note(entry, seq)
      return entry
    }
    const rounds = this.rounds ?? new Map<string, number>()
    this.rounds = rounds
    noteRound(name, rounds)
    const gone: number[] = []
    const ahead: Ahead[] = []
    for (const one of this.ahead ?? []) {
      if (isBehind(one, rounds)) gone.push(one.seq)
      else ahead.push(one)
    }
    this.ahead = ahead
    this.note(entry, seq)
    this.behind = longer(this.behind, gone) ?? withAll(this.behind, gone)
    return { ...entry, meta: { ...meta, behind: this.behind } }
  }

  private note({ kind, name, meta }: NewEntry, seq: number): void {
    if (!name.includes('@') || !IN_ROUND.test(name)) return
    this.ahead ??= []
    this.ahead.push({ seq, kind, name, meta })
  }
}

/** Nearly always they go on where the last stretch ends; null: they do not. */
function longer(behind: readonly number[], seqs: readonly number[]): readonly number[] | null {
  let last = behind.at(-1)
  if (last === undefined) return null
  for (const seq of seqs) {
    if (seq !== last + 1) return null
    last = seq
  }
  return behind.with(-1, last)
}

function withAll(behind: readonly number[], seqs: readonly number[]): readonly number[] {
  const added = seqs.map((seq) => ({ first: seq, last: seq }))
  const all = longest(joined([...stretchesOf(behind), ...added]))
  return all.flatMap(({ first, last }) => [first, last])
}

function stretchesOf(behind: readonly number[]): readonly Stretch[] {
  return behind.flatMap((first, i) => {
    const last = behind[i + 1]
    return i % 2 === 0 && last !== undefined ? [{ first, last }] : []
  })
}

function joined(stretches: readonly Stretch[]): readonly Stretch[] {
  const all: Stretch[] = []
  // Nearly always what comes new is the last.
  const isInOrder = stretches.every(({ first }, i) => first >= (stretches[i - 1]?.first ?? 0))
  const sorted = isInOrder ? stretches : stretches.toSorted((a, b) => a.first - b.first)
  for (const one of sorted) {
    const before = all.at(-1)
    if (!before || one.first > before.last + 1) all.push(one)
    else all[all.length - 1] = { first: before.first, last: Math.max(before.last, one.last) }
  }
  return all
}

function longest(stretches: readonly Stretch[]): readonly Stretch[] {
  if (stretches.length <= STRETCHES_MAX) return stretches
  const length = ({ first, last }: Stretch): number => last - first
  const kept = new Set(stretches.toSorted((a, b) => length(b) - length(a)).slice(0, STRETCHES_MAX))
  return stretches.filter((one) => kept.has(one))
}
