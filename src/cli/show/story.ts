// A run as it is told: one line for each fact of its journal that is news to a person, each once.

import type { JournalEntry } from '../../index.js'
import type { Paint } from '../io.js'
import { cut, json, oneLine } from './text.js'
import { clock, span } from './time.js'

export type Mark = 'done' | 'again' | 'failed' | 'waits' | 'undone' | 'asks'

export interface Line {
  readonly mark: Mark
  readonly name: string
  readonly text: string
  /** How long it took; at the right. */
  readonly tookMs: number | null
  /** Behind that: attempts, and when it goes on. */
  readonly aside: string
}

const MARKS: Readonly<Record<Mark, readonly [string, keyof Paint]>> = {
  done: ['✓', 'green'],
  again: ['↻', 'yellow'],
  failed: ['✗', 'red'],
  waits: ['…', 'cyan'],
  undone: ['↩', 'yellow'],
  asks: ['?', 'magenta'],
}

/** What is waited for by a machine has this name; where it waits is its place. */
const OF_MACHINE = 'wait'
const HOUR_MS = 3_600_000

/** It remembers what is open: how long something took is known from two entries. */
export class Story {
  private readonly opened = new Map<string, JournalEntry>()
  private place: string | null
  private last: JournalEntry | null = null
  private startedAt: Date | null = null

  /** `place`: where a machine is, before the first entry that is told. */
  constructor(place: string | null = null) {
    this.place = place
  }

  /** null: no news to a person. */
  tell(entry: JournalEntry, now: number): Line | null {
    const opened = this.opened.get(entry.name)
    this.last = entry
    if (entry.kind === 'run.created') this.startedAt = entry.at
    if (/^(step\.asked|timer\.set|wait\.opened|child\.started)$/.test(entry.kind)) {
      this.opened.set(entry.name, entry)
    } else this.opened.delete(entry.name)
    const told = TOLD[entry.kind]?.(entry, {
      now,
      opened,
      place: this.place,
      startedAt: this.startedAt,
    })
    this.place = entry.transitions?.at(-1)?.to ?? this.place
    return told ? { ...QUIET, name: entry.name, ...told } : null
  }

  /** Something from outside is open. */
  get isWaiting(): boolean {
    return [...this.opened.values()].some(({ kind }) => /^(wait|child)\./.test(kind))
  }

  /** What happens now, as far as the journal says. */
  now(now: number): string {
    const { last } = this
    if (last?.kind === 'step.failed' && last.until) {
      return `${last.name} again in ${span(last.until.getTime() - now)}`
    }
    const open = [...this.opened.values()].at(-1)
    if (open?.kind === 'timer.set' && open.until) {
      return `${open.name} sleeps, ${span(open.until.getTime() - now)} left`
    }
    if (open?.kind === 'wait.opened') return `${this.nameOf(open)} ${waitsFor(open)}`
    if (open?.kind === 'child.started') return `${open.name} runs`
    const names = [...this.opened.keys()].join(', ')
    return `${names === '' ? 'running' : names}, ${span(now - (last?.at.getTime() ?? now))}`
  }

  private nameOf({ name }: JournalEntry): string {
    return name === OF_MACHINE && this.place !== null ? this.place : name
  }
}

interface Context {
  readonly now: number
  readonly opened: JournalEntry | undefined
  readonly place: string | null
  readonly startedAt: Date | null
}

const QUIET = { text: '', tookMs: null, aside: '' }

type Tell = (
  entry: JournalEntry,
  context: Context,
) => (Partial<Line> & { readonly mark: Mark }) | null

const TOLD: Readonly<Record<string, Tell>> = {
  'step.completed': (entry) => ({
    mark: 'done',
    text: movesOf(entry),
    tookMs: tookOf(entry),
    aside: laterAttempt(entry),
  }),
  'step.failed': (entry) => {
    const next = entry.until ? `next in ${span(entry.until.getTime() - entry.at.getTime())}` : ''
    const attempt = next || (entry.attempt ?? 1) > 1 ? `attempt ${entry.attempt}` : ''
    return {
      mark: next ? 'again' : 'failed',
      text: messageOf(entry),
      aside: [attempt, next].filter(Boolean).join(' · '),
    }
  },
  'timer.set': ({ until, at }, { now }) => ({
    mark: 'waits',
    text: 'sleeps',
    aside: until ? untilOf(until, at, now) : '',
  }),
  'timer.fired': ({ at }, { opened }) => ({
    mark: 'done',
    text: 'slept',
    tookMs: since(opened, at),
  }),
  'wait.opened': (entry, { now, place }) => ({
    mark: 'waits',
    name: entry.name === OF_MACHINE && place !== null ? place : entry.name.replace(/^event:/, ''),
    text: waitsFor(entry),
    aside: entry.until ? `expires in ${span(entry.until.getTime() - now)}` : '',
  }),
  'wait.withdrawn': ({ name, at }, { opened }) =>
    name === OF_MACHINE
      ? null
      : { mark: 'waits', text: 'waits no longer', tookMs: since(opened, at) },
  'message.taken': ({ name, output, at }, { opened }) =>
    name === OF_MACHINE
      ? null
      : {
          mark: 'done',
          name: name.replace(/^event:/, ''),
          text: output === undefined ? 'came' : json(output),
          tookMs: since(opened, at),
        },
  'child.started': ({ workflow }) => ({ mark: 'waits', text: `runs ${workflow ?? ''} as a child` }),
  'child.ended': (entry, { opened }) =>
    entry.error
      ? {
          mark: entry.until ? 'again' : 'failed',
          text: messageOf(entry),
          aside: laterAttempt(entry),
        }
      : { mark: 'done', tookMs: since(opened, entry.at), aside: laterAttempt(entry) },
  'undo.completed': (entry) => ({
    mark: 'undone',
    name: entry.name.replace(/^undo:/, ''),
    text: 'undone',
    tookMs: tookOf(entry),
  }),
  'undo.failed': (entry) => ({
    mark: entry.until ? 'again' : 'failed',
    name: entry.name.replace(/^undo:/, ''),
    text: `not undone: ${messageOf(entry)}`,
    aside: `attempt ${entry.attempt ?? 1}`,
  }),
  'run.reopened': () => ({ mark: 'again', name: 'retried' }),
  'run.diverged': (entry) => ({ mark: 'failed', name: 'diverged', text: messageOf(entry) }),
  'run.completed': (entry, context) => ended('done', 'completed', entry, context),
  'run.failed': (entry, context) => ended('failed', 'failed', entry, context),
  'run.cancelled': (entry, context) => ended('failed', 'cancelled', entry, context),
  'run.timed_out': (entry, context) => ended('failed', 'timed out', entry, context),
}

function ended(mark: Mark, name: string, entry: JournalEntry, { startedAt }: Context) {
  const text = messageOf(entry)
  const tookMs = startedAt === null ? null : entry.at.getTime() - startedAt.getTime()
  return { mark, name, text: text === name ? '' : text, tookMs }
}

const messageOf = ({ error }: JournalEntry): string => oneLine(error?.message ?? '')
const since = (opened: JournalEntry | undefined, at: Date): number | null =>
  opened ? at.getTime() - opened.at.getTime() : null
const tookOf = ({ startedAt, at }: JournalEntry): number | null =>
  startedAt ? at.getTime() - startedAt.getTime() : null
const laterAttempt = ({ attempt = 1 }: JournalEntry): string =>
  attempt > 1 ? `attempt ${attempt}` : ''
const movesOf = ({ transitions = [] }: JournalEntry): string =>
  transitions.length === 0
    ? ''
    : [transitions[0]?.from ?? '', ...transitions.map(({ to }) => to)].join(' → ')

function waitsFor({ name }: JournalEntry): string {
  if (/(^|\/)event:/.test(name)) return 'waits for an event'
  return /(^|\/)run:/.test(name) ? 'waits for another run' : 'waits for a person'
}

function untilOf(until: Date, at: Date, now: number): string {
  const ms = until.getTime() - at.getTime()
  return ms > HOUR_MS ? `until ${clock(until, now)}` : `for ${span(ms)}`
}

export interface Drawn {
  /** null: nothing is cut off. */
  readonly width: number | null
  readonly paint: Paint
}

const NAME_WIDTH = 18
const TOOK_WIDTH = 9
const ASIDE_WIDTH = 32
const TEXT_WIDTH = 30
const MARGIN = '  '

/** '  ✓ charge                             212 ms · attempt 2' */
export function drawLine(line: Line, { width, paint }: Drawn): string {
  const [mark, colour] = MARKS[line.mark]
  const took = line.tookMs === null ? '' : span(line.tookMs)
  // A duration ends where the others end; what is no duration begins where they begin.
  const right = took
    ? [took.padStart(TOOK_WIDTH), line.aside].filter(Boolean).join(' · ')
    : line.aside && `${' '.repeat(3)}${line.aside}`
  const leftWidth =
    width === null
      ? NAME_WIDTH + 1 + TEXT_WIDTH
      : Math.max(NAME_WIDTH, Math.min(width, 100) - ASIDE_WIDTH - MARGIN.length - 2)
  const left = `${line.name.padEnd(NAME_WIDTH)} ${line.text}`.trimEnd()
  const room = width === null ? left : cut(left, right ? leftWidth : width - MARGIN.length - 2)
  const name = room.slice(0, Math.max(line.name.length, NAME_WIDTH))
  const text = room.length > name.length ? paint.dim(room.slice(name.length)) : ''
  const space = right ? ' '.repeat(Math.max(1, leftWidth - room.length)) : ''
  return `${MARGIN}${paintBy(paint, colour)(mark)} ${name}${text}${space}${right && paint.dim(right)}`.trimEnd()
}

function paintBy(paint: Paint, colour: keyof Paint): (text: string) => string {
  const by = paint[colour]
  return typeof by === 'function' ? by : String
}
