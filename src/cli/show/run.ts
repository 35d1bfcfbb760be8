// One run, many runs, a journal: as lines.

import type { JournalEntry, RunInfo } from '../../index.js'
import type { Paint } from '../io.js'
import { aboutOf, markOf, painted, wordOf } from './status.js'
import { type Column, json, jsonBlock, oneLine, type Room, table } from './text.js'
import { ago, clock, clockSeconds, span } from './time.js'
import { timeline } from './timeline.js'

const NARROW = 100

export function runsTable(runs: readonly RunInfo[], now: number, room: Room): string[] {
  const columns: readonly Column<RunInfo>[] = [
    {
      head: 'status',
      cell: ({ status }) => `${markOf(status)} ${wordOf(status)}`,
      paint: (text, { status }) => painted(room.paint, status, text),
    },
    { head: 'run', cell: ({ id }) => id },
    { head: 'workflow', cell: ({ workflow }) => workflow, isFlexible: true },
    { head: '', cell: (run) => aboutOf(run, now), isFlexible: true },
    { head: 'created', cell: ({ createdAt }) => ago(createdAt, now), isRight: true },
    { head: 'took', cell: (run) => tookOf(run, now), isRight: true },
  ]
  // Ids are there to be copied: they stay whole.
  const isNarrow = room.width !== null && room.width < NARROW
  return table(runs, isNarrow ? columns.slice(0, -1) : columns, room)
}

/** From its start to its end, or until now. */
const tookOf = ({ startedAt, finishedAt }: RunInfo, now: number): string =>
  startedAt === null ? '' : span((finishedAt?.getTime() ?? now) - startedAt.getTime())

/** For a list that grows. */
export function changeLine(
  run: RunInfo,
  { paint, now }: { paint: Paint; now: () => number },
): string {
  const status = `${markOf(run.status)} ${wordOf(run.status)}`.padEnd(11)
  const words = [run.id, run.workflow, aboutOf(run, now())].filter(Boolean).join('  ')
  return `${paint.dim(clockSeconds(run.updatedAt))}  ${painted(paint, run.status, status)}  ${words}`
}

export function journalTable(entries: readonly JournalEntry[], room: Room): string[] {
  const columns: readonly Column<JournalEntry>[] = [
    { head: 'no', cell: ({ seq }) => String(seq), isRight: true },
    { head: 'at', cell: ({ at }) => at.toISOString() },
    { head: 'entry', cell: ({ kind }) => kind },
    { head: 'name', cell: ({ name }) => name },
    { head: 'attempt', cell: ({ attempt }) => String(attempt ?? ''), isRight: true },
    { head: 'value', cell: contentOf, isFlexible: true },
  ]
  return table(entries, columns, room)
}

function contentOf({ error, output, input }: JournalEntry): string {
  if (error) return `${error.name}: ${oneLine(error.message)}`
  const value = output === undefined ? input : output
  return value === undefined ? '' : json(value)
}

export interface ShownRun {
  readonly run: RunInfo
  readonly entries: readonly JournalEntry[]
  readonly now: number
  readonly width: number
  readonly paint: Paint
}

/** Who it is, its waterfall, its data. */
export function shownRun({ run, entries, now, width, paint }: ShownRun): string[] {
  const waterfall = timeline({
    entries,
    from: run.createdAt,
    to: run.finishedAt,
    now,
    width,
    paint,
  })
  return [
    headOf(run, now, paint),
    paint.dim(factsOf(run, now).join(' · ')),
    ...(waterfall.length === 0 ? [] : ['', ...waterfall]),
    ...['', ...dataOf(run, width, paint), ...(run.finishedAt === null ? [''] : [])],
  ]
}

function headOf(run: RunInfo, now: number, paint: Paint): string {
  const { status } = run
  const took = run.finishedAt === null ? '' : ` after ${tookOf(run, now)}`
  const state = painted(paint, status, `${markOf(status)} ${wordOf(status)}`)
  return `${paint.bold(run.id)}  ${run.workflow} v${run.version}  ${state}${took}`
}

function factsOf(run: RunInfo, now: number): string[] {
  const tags = Object.entries(run.tags).map(([name, value]) => `${name}=${value}`)
  return [
    `created ${clock(run.createdAt, now)}`,
    `workspace ${run.workspace}`,
    ...(run.place === null ? [] : [`at ${run.place}`]),
    ...(run.attempt > 1 ? [`attempt ${run.attempt}`] : []),
    ...(run.parentId === null ? [] : [`child of ${run.parentId}`]),
    ...tags,
  ]
}

function dataOf(run: RunInfo, width: number, paint: Paint): string[] {
  const { error } = run
  const undo = run.undo.map(({ step, state }) => `${step} ${state}`).join(', ')
  const rows: (readonly [string, string])[] = []
  if (run.input !== undefined) rows.push(['input', jsonBlock(run.input, width - 10)])
  if (run.state !== undefined) rows.push(['state', jsonBlock(run.state, width - 10)])
  if (run.output !== undefined) rows.push(['output', jsonBlock(run.output, width - 10)])
  if (error) {
    const where = error.step ? `${error.step}: ` : ''
    rows.push(['error', paint.red(`${where}${oneLine(error.message)}`)])
  }
  if (undo) rows.push(['undo', undo])
  return rows.map(([name, text]) => `  ${paint.dim(name.padEnd(6))}  ${indented(text)}`)
}

const indented = (text: string): string => text.replaceAll('\n', `\n${' '.repeat(10)}`)
