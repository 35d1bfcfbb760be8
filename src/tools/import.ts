// Takes an export into a database: all of it or nothing. Every run goes on there at its place.

import { graphMade } from '../authoring/graph/graph.js'
import { nameTaken } from '../engine/errors.js'
import {
  type DefinitionRecord,
  type End,
  FORMAT,
  type Header,
  type Line,
} from '../engine/export-lines.js'
import { type RunRecord, StoreRefused, type ToolStore } from '../kernel/store.js'
import { isFinal } from '../model/run.js'
import { exportInvalid, graphDiffers, runsExist } from './errors.js'
import { type Place, withStore } from './open.js'

/** So many runs, or characters of them, are sent in one statement. */
const PAGE = 100
const PAGE_CHARS = 4_000_000

export interface Imported {
  readonly runs: number
  readonly skipped: number
  readonly definitions: number
  /** They came as a copy: those that have not ended are paused. */
  readonly isCopy: boolean
}

/** `lines` of one export. Makes the tables if they are not there. */
export function importRuns(
  place: Place,
  lines: AsyncIterable<string>,
  { skipExisting }: { readonly skipExisting: boolean },
): Promise<Imported> {
  return withStore(place, (store) => importInto(store, lines, skipExisting), true)
}

export async function importInto(
  store: ToolStore,
  lines: AsyncIterable<string>,
  skipExisting: boolean,
): Promise<Imported> {
  const file = new ExportFile(lines)
  const { isCopy } = await file.header()
  let definitions = 0
  for await (const one of file.definitions()) {
    await saveDefinition(store, one)
    definitions += 1
  }
  const pages = pagesOf(file.runs(), isCopy)
  const { put, taken } = await store.putRuns(pages, skipExisting).catch((error: unknown) => {
    if (error instanceof StoreRefused) throw exportInvalid(file.line, error.message, error)
    throw error
  })
  if (taken.length > 0 && !skipExisting) throw runsExist(taken)
  return { runs: put, skipped: taken.length, definitions, isCopy }
}

async function* pagesOf(
  runs: AsyncIterable<{ readonly run: RunRecord; readonly chars: number }>,
  isCopy: boolean,
): AsyncGenerator<readonly RunRecord[]> {
  let page: RunRecord[] = []
  let chars = 0
  for await (const { run, chars: more } of runs) {
    page.push(isCopy ? atRest(run) : run)
    chars += more
    if (page.length < PAGE && chars < PAGE_CHARS) continue
    yield page
    page = []
    chars = 0
  }
  if (page.length > 0) yield page
}

/** It goes on elsewhere: here nothing may happen before somebody says so. */
function atRest(run: RunRecord): RunRecord {
  if (isFinal(run.status)) return run
  return { ...run, status: 'waiting', reason: 'paused', stop: 'pause', owner: null }
}

/** The lines in their order: definitions, then runs, then the end. */
class ExportFile {
  line = 0
  private readonly lines: AsyncIterator<string>
  /** A line that was read and belongs to what comes next. */
  private ahead: { readonly said: Line; readonly chars: number } | null = null
  private counted = { runs: 0, definitions: 0 }

  constructor(lines: AsyncIterable<string>) {
    this.lines = lines[Symbol.asyncIterator]()
  }

  async header(): Promise<Header> {
    const { said } = await this.next()
    if (!('perdure' in said)) throw exportInvalid(1, 'it is not the beginning of one')
    if (said.format > FORMAT) {
      throw exportInvalid(1, `it has format ${said.format}, and this version knows ${FORMAT}`)
    }
    return said
  }

  async *definitions(): AsyncGenerator<DefinitionRecord> {
    for (;;) {
      const one = await this.next()
      this.ahead = one
      if (!('definition' in one.said)) return
      this.ahead = null
      this.counted.definitions += 1
      yield one.said.definition
    }
  }

  async *runs(): AsyncGenerator<{ readonly run: RunRecord; readonly chars: number }> {
    for (;;) {
      const { said, chars } = await this.next()
      if ('end' in said) return this.checkEnd(said)
      if (!('run' in said)) throw exportInvalid(this.line, 'it is not a run')
      if (typeof said.run.uid !== 'string' || !Array.isArray(said.run.journal)) {
        throw exportInvalid(this.line, 'it is not a whole run')
      }
      this.counted.runs += 1
      yield { run: said.run, chars }
    }
  }

  private checkEnd({ end }: End): void {
    const { runs, definitions } = this.counted
    if (end.runs === runs && end.definitions === definitions) return
    throw exportInvalid(this.line, `${end.runs} runs were written, and ${runs} are there`)
  }

  private async next(): Promise<{ readonly said: Line; readonly chars: number }> {
    const { ahead } = this
    this.ahead = null
    if (ahead) return ahead
    const { value, done } = await this.lines.next()
    this.line += 1
    if (done) throw exportInvalid(this.line, 'the end is missing')
    try {
      const said: unknown = JSON.parse(value)
      if (typeof said === 'object' && said !== null)
        return { said: said as Line, chars: value.length }
    } catch (error) {
      throw exportInvalid(this.line, 'it is not JSON', error)
    }
    throw exportInvalid(this.line, 'it is no object')
  }
}

/** Version by version, so that each has its number. Without triggers: those are the other database's until it is saved here. */
async function saveDefinition(store: ToolStore, record: DefinitionRecord): Promise<void> {
  const { name, workspace, isArchived, versions } = record
  const head = await store.definition(name)
  const wanted = versions.map(({ version }) => ({ name, version }))
  const known = new Map((await store.definitionTexts(wanted)).map((one) => [one.version, one.json]))
  for (const { version, note, author, json } of versions) {
    const there = known.get(version)
    if (there === json) continue
    if (there !== undefined) throw graphDiffers(name, version)
    const limits = graphMade(JSON.parse(json)).limits?.rules ?? null
    const what = { name, workspace, json, note, author, expected: version - 1, limits }
    const saved = await store.saveDefinition({ ...what, schedules: [], events: [] })
    if (saved.kind === 'taken') throw nameTaken(name, 'stored')
    if (saved.kind === 'code') throw nameTaken(name, 'code')
    if (saved.kind === 'changed') throw graphDiffers(name, version)
  }
  if (isArchived && !head) await store.archiveDefinition(name, workspace)
}
