// The documents of a run of the store in memory.

import { shownName } from '../model/ids.js'
import type { DocumentRow } from '../model/program.js'
import type { NewDocument } from '../model/run.js'
import type { MemoryDocument, MemoryRun } from './memory-run.js'

/** In the order in which people see them: what replaces another stands in its place. */
export function writeDocument(row: MemoryRun, document: NewDocument, seq: number): void {
  const { documents } = row
  const written: MemoryDocument = { ...document, seq, untilSeq: null }
  const at = documents.findIndex(
    ({ type, key, untilSeq }) =>
      key !== null && key === document.key && type === document.type && untilSeq === null,
  )
  const old = documents[at]
  if (old) old.untilSeq = seq
  documents.splice(old ? at + 1 : documents.length, 0, written)
}

/** Those that the first entries have written, as they were then. */
export function documentsUpTo({ documents }: MemoryRun, upTo: number): MemoryDocument[] {
  return documents
    .filter(({ seq }) => seq <= upTo)
    .map((document) => {
      const { untilSeq } = document
      return { ...document, untilSeq: untilSeq !== null && untilSeq <= upTo ? untilSeq : null }
    })
}

export function documentsOf({ documents, journal }: MemoryRun): readonly DocumentRow[] {
  return documents.map((document) => {
    const entry = journal[document.seq - 1]
    const step = shownName(entry?.name ?? '', entry?.occurrence ?? 0)
    const { attempt = 0, at = 0 } = entry ?? {}
    return { ...document, step, attempt, at }
  })
}
