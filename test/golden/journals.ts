// Writing golden journals, and going on from where one breaks off.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Execution } from '../../src/kernel/attempt.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { BEGINS_AT, PROGRAMS, type Program } from './programs.js'
import { changed, folded, type Line, NO_ROWS, type Row, type Tables } from './rows.js'
import { openStage, type Shelf, type Stage, sqlShelf } from './stages.js'

export const FOLDER = fileURLToPath(new URL('.', import.meta.url))

export interface Journal {
  /** Of the release that wrote it. */
  readonly version: string
  readonly program: string
  readonly lines: readonly Line[]
}

export function journals(): readonly Journal[] {
  const versions = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  return versions.flatMap(({ name: version }) =>
    readdirSync(join(FOLDER, version)).map((file) => ({
      version,
      program: basename(file, '.ndjson'),
      lines: linesOf(readFileSync(join(FOLDER, version, file), 'utf8')),
    })),
  )
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

// ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Of the programs that have none in that folder. Gives back their names. */
export async function writeMissing(folder: string): Promise<readonly string[]> {
  const missing = PROGRAMS.filter(({ name }) => !existsSync(join(folder, `${name}.ndjson`)))
  if (missing.length === 0) return []
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const embedded = { directory: null, production: false, allowInProduction: false, log }
  const driver = await openEmbedded(embedded)
  const shelf = await sqlShelf(driver, 'golden')
  mkdirSync(folder, { recursive: true })
  for (const program of missing) {
    const lines = await record(program, shelf)
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    // 'wx': not even one that has appeared meanwhile.
    writeFileSync(join(folder, `${program.name}.ndjson`), text, { flag: 'wx' })
  }
  await driver.close()
  return missing.map(({ name }) => name)
}

async function record(program: Program, shelf: Shelf): Promise<readonly Line[]> {
  await shelf.empty()
  const lines: Line[] = []
  let before = NO_ROWS
  let done = 0
  let stage: Stage | null = null
  const committed = async (): Promise<void> => {
    const now = stage?.nowMs ?? BEGINS_AT
    const after = await shelf.take()
    const rows = changed(before, after)
    before = after
    if (rows !== null) lines.push({ now, done, ...rows })
  }
  stage = await openStage(shelf, program, { nowMs: BEGINS_AT, seed: 'golden', committed })
  for (const call of program.calls) {
    await stage.advanceTo(BEGINS_AT + call.at)
    await call.make(stage.engine)
    await stage.settle()
    done += 1
    await committed()
  }
  await stage.close()
  return lines
}

// ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A moment at which a process may have been killed, and what it has left. */
export interface Cut {
  readonly title: string
  readonly now: number
  readonly done: number
  readonly tables: Tables
}

/** Behind every commit, and behind every entry: a commit of several might have been several commits. */
export function cutsOf(lines: readonly Line[]): readonly Cut[] {
  return lines.flatMap((line, i) => {
    const before = folded(lines.slice(0, i))
    const after = folded(lines.slice(0, i + 1))
    const whole = { title: `commit ${i + 1}`, now: line.now, done: line.done, tables: after }
    return [...insideOf(line, before, after, i + 1), whole]
  })
}

function insideOf(line: Line, before: Tables, after: Tables, commit: number): readonly Cut[] {
  const entries = line.journal ?? []
  return entries.slice(0, -1).flatMap((entry, i): Cut[] => {
    const run = before.runs.find(({ uid }) => uid === entry.uid)
    const isItsLast = entries[i + 1]?.uid !== entry.uid
    if (!run || isItsLast) return []
    const title = `entry ${entry.seq} of ${run.id}, in commit ${commit}`
    const tables = brokenOff(run, Number(entry.seq), before, after)
    return [{ title, now: line.now, done: line.done, tables }]
  })
}

/** The run has so many entries, and nobody has it; the others are as before. */
function brokenOff(run: Row, seq: number, before: Tables, after: Tables): Tables {
  const { uid } = run
  const journal = after.journal.filter((entry) => entry.uid === uid && Number(entry.seq) <= seq)
  const children = journal.flatMap(({ kind, meta }) =>
    kind === 'child.started' ? [(JSON.parse(String(meta)) as { uid: string }).uid] : [],
  )
  const known = new Set(before.runs.map((row) => row.uid))
  const born = (row: Row): boolean => children.includes(String(row.uid)) && !known.has(row.uid)
  const messages = after.messages.filter((message) => message.uid === uid)
  const had = new Set(before.messages.filter((one) => one.uid === uid).map(({ no }) => no))
  const numbers = new Set(
    journal.map(({ meta }) => (meta === null ? undefined : JSON.parse(String(meta)).no)),
  )
  const mail = messages
    .filter(({ no }) => had.has(no))
    .map((one) => {
      if (numbers.has(one.no)) return one
      return before.messages.find((old) => old.uid === uid && old.no === one.no) ?? one
    })
  const now = { owner: null, due_at: run.updated_at, finished_at: null, status: 'waiting' }
  const row = {
    ...run,
    ...now,
    reason: null,
    seq,
    taken: mail.filter(({ taken_seq }) => taken_seq !== null).length,
  }
  const others = (one: Row): boolean => one.uid !== uid
  return {
    runs: [row, ...before.runs.filter(others), ...after.runs.filter(born)],
    journal: [...journal, ...before.journal.filter(others), ...after.journal.filter(born)],
    messages: [...mail, ...before.messages.filter(others)],
    states: before.states,
    documents: [...writtenBy(after.documents, uid, seq), ...before.documents.filter(others)],
  }
}

/** Those of the first entries, as they were then. */
function writtenBy(documents: readonly Row[], uid: unknown, upTo: number): readonly Row[] {
  return documents
    .filter((row) => row.uid === uid && Number(row.seq) <= upTo)
    .map((row) => ({ ...row, until_seq: Number(row.until_seq) > upTo ? null : row.until_seq }))
}

const COMPLETED = ['step.completed', 'undo.completed']
const FAILED = ['step.failed', 'undo.failed']

export interface Again {
  readonly tables: Tables
  /** Steps whose code was called although their outcome was known. */
  readonly repeated: readonly string[]
}

/** The code of today goes on from there, to the end of the scenario. */
export async function goOn(program: Program, cut: Cut, shelf: Shelf): Promise<Again> {
  await shelf.empty()
  const stage = await openStage(shelf, program, { nowMs: cut.now, seed: 'goes on' })
  try {
    // What it has asked for when it was opened must not find the half of what is put there.
    await stage.settle()
    await shelf.put(cut.tables)
    // Its owner is dead: the next process finds it so.
    await stage.crash()
    await stage.settle()
    for (const call of program.calls.slice(cut.done)) {
      await stage.advanceTo(BEGINS_AT + call.at)
      await call.make(stage.engine)
      await stage.settle()
    }
    const repeated = stage.executed.filter((one) => isKnown(one, cut.tables))
    return { tables: await shelf.take(), repeated: repeated.map(({ name }) => name) }
  } finally {
    await stage.close()
  }
}

function isKnown({ run, name, occurrence, attempt }: Execution, { journal }: Tables): boolean {
  return journal.some(
    (entry) =>
      entry.uid === run.uid &&
      entry.name === name &&
      entry.occurrence === occurrence &&
      (COMPLETED.includes(String(entry.kind)) ||
        (FAILED.includes(String(entry.kind)) && entry.attempt === attempt.number)),
  )
}
