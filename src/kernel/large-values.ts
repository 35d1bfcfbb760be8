// Values that are large, but not too large to be stored: named once for every place in the code that makes them.

import { Buffer } from 'node:buffer'
import { shownName } from '../model/ids.js'
import { VALUE_BYTES_WARN } from '../model/limits.js'
import type { NewEntry, RunFacts } from '../model/run.js'
import type { HolderDeps } from './held-run.js'

/** Names may be made by code: after so many nobody reads on. */
const TOLD_MAX = 1_000
/** A character of a text is at most so many bytes. */
const BYTES_PER_UNIT = 3

const toldBy = new WeakMap<HolderDeps, Set<string>>()

export function warnOfLarge(deps: HolderDeps, run: RunFacts, entry: NewEntry): void {
  const { payload, name } = entry
  if (payload === null || payload.length * BYTES_PER_UNIT <= VALUE_BYTES_WARN) return
  const bytes = Buffer.byteLength(payload)
  if (bytes <= VALUE_BYTES_WARN) return
  const told = toldBy.get(deps) ?? new Set()
  toldBy.set(deps, told)
  const key = `${run.definition} ${name}`
  if (told.has(key) || told.size >= TOLD_MAX) return
  told.add(key)
  const what = name === '' ? 'The output' : `The value of "${shownName(name, entry.occurrence)}"`
  deps.ports.log.warn(
    `${what} of run ${run.id} of "${run.definition}" has ${bytes} bytes. It is stored, and read again whenever the run goes on from its journal: keep large values elsewhere, and give back where they are.`,
    { runId: run.id, workflow: run.definition, step: name, bytes },
  )
}
