// Runs as lines of JSON, for another database.
//
// A run that has not ended must go on in one place only. So it is written when nobody has it, and then paused where it was, if it
// is still as it was written: all of them or none. Only then the last line is written, without which no import takes the file.

import type { RunRecord, SelectedRun, Selection, ToolStore } from '../kernel/store.js'
import type { RunId, Uid } from '../model/ids.js'
import { isFinal } from '../model/run.js'
import { type DefinitionRecord, FORMAT, type Line } from './export-lines.js'
import { mailUnderWay, runsBusy } from './moving-errors.js'

const PAGE = 50
const MARK = '#'

export interface ExportOptions {
  /** null: of all workspaces. */
  readonly workspace: string | null
  /** null: any. */
  readonly definition: string | null
  readonly ids: readonly string[] | null
  /** To look at: they go on where they are, and the import pauses them. */
  readonly isCopy: boolean
  /** Those that have ended are left out. */
  readonly isOpenOnly?: boolean
}

/** Who does not read to the end has paused nothing. */
export async function* exportLines(
  store: ToolStore,
  { workspace, definition, ids, isCopy, isOpenOnly = false }: ExportOptions,
): AsyncGenerator<Line> {
  const which: Selection = { workspace, definition, ids: ids as readonly RunId[] | null }
  const selected = await store.selectRuns(which)
  yield { perdure: 'export', format: FORMAT, at: new Date().toISOString(), isCopy }
  const definitions = await definitionsOf(store, selected)
  for (const one of definitions) yield { definition: one }
  const open = new Map<Uid, Open>()
  let runs = 0
  for await (const record of recordsOf(store, selected)) {
    if (!isFinal(record.status)) open.set(record.uid, openOf(record))
    else if (isOpenOnly) continue
    runs += 1
    yield { run: record }
  }
  if (!isCopy) await hold(store, open)
  yield { end: { runs, definitions: definitions.length } }
}

type Open = Pick<RunRecord, 'uid' | 'id' | 'epoch' | 'seq' | 'inbox' | 'owner' | 'stop'>

const openOf = ({ uid, id, epoch, seq, inbox, owner, stop }: RunRecord): Open => {
  return { uid, id, epoch, seq, inbox, owner, stop }
}

async function* recordsOf(
  store: ToolStore,
  selected: readonly SelectedRun[],
): AsyncGenerator<RunRecord> {
  for (let from = 0; from < selected.length; from += PAGE) {
    yield* await store.runRecords(selected.slice(from, from + PAGE).map(({ uid }) => uid))
  }
}

async function hold(store: ToolStore, open: ReadonlyMap<Uid, Open>): Promise<void> {
  if (open.size === 0) return
  const busy = [...open.values()].filter(({ owner, stop }) => owner !== null || stop === 'cancel')
  if (busy.length > 0) throw runsBusy(busy.map(({ id }) => id))
  if (await store.isMailUnderWay()) throw mailUnderWay()
  const changed = await store.holdRuns([...open.values()])
  if (changed.length > 0) throw runsBusy(changed.map((uid) => open.get(uid)?.id ?? uid))
}

/** The stored graphs that these runs are of, with all of their versions: those are numbered. */
async function definitionsOf(
  store: ToolStore,
  selected: readonly SelectedRun[],
): Promise<readonly DefinitionRecord[]> {
  const stored = selected.filter(({ version }) => version?.startsWith(MARK))
  const records: DefinitionRecord[] = []
  for (const name of new Set(stored.map(({ definition }) => definition))) {
    const head = await store.definition(name)
    if (!head) continue
    const { workspace, isArchived } = head
    const numbers = Array.from({ length: head.version }, (_, i) => ({ name, version: i + 1 }))
    const texts = await store.definitionTexts(numbers)
    const versions = texts
      .map(({ version, note, author, json }) => ({ version, note, author, json }))
      .sort((a, b) => a.version - b.version)
    records.push({ name, workspace, isArchived, versions })
  }
  return records
}
