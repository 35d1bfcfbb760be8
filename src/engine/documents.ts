// What a run shows to people.

import { storedDocument } from '../authoring/document-draft.js'
import { documentFacts, type StoredDocument } from '../authoring/documents.js'
import type { RunReader } from '../kernel/store.js'
import type { Uid } from '../model/ids.js'

/** What people see now, in order. `name`: only those of that type. */
export async function shownDocuments(
  read: RunReader,
  uid: Uid,
  name: string | null = null,
): Promise<StoredDocument[]> {
  const rows = await read.documents(uid)
  return rows
    .filter((row) => !row.isHidden && row.untilSeq === null && (name === null || row.type === name))
    .map(storedDocument)
}

/** null: of all types. */
export function documentName(type: unknown): string | null {
  return type === undefined ? null : documentFacts(type, 'engine.documents').name
}
