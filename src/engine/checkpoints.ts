// checkpoints: the places a run has been at.

import { decode } from '../model/codec.js'
import type { DocumentRow } from '../model/program.js'
import type { Entry } from '../model/run.js'
import type { Core } from './core.js'
import { entryPages } from './read.js'
import type { Checkpoint, Paged } from './types.js'

export function checkpoints(
  core: Core,
  workspace: string | null,
  id: unknown,
  options: unknown,
): Paged<Checkpoint> {
  const { read } = core.kernel
  return entryPages(
    core,
    { workspace, id, options, call: 'engine.checkpoints' },
    (uid, page) => read.checkpoints(uid, page),
    async (uid) => {
      const rows = await read.documents(uid)
      return (entry) => checkpointOf(entry, rows)
    },
  )
}

/** Which documents were there then is not stored: it follows from when each was written and replaced. */
function checkpointOf({ seq, at, meta, payload }: Entry, rows: readonly DocumentRow[]): Checkpoint {
  const { place, state } = decode(payload ?? '{}') as { place: string; state: unknown }
  const visible = rows.filter(
    (row) => row.seq <= seq && (row.untilSeq === null || row.untilSeq > seq),
  )
  return {
    version: meta?.checkpoint ?? 0,
    seq,
    place,
    state,
    documentIds: visible.map((row) => row.id),
    at: new Date(at),
  }
}
