// The snapshot of an event machine: how other systems keep one, and how it is taken up here.

import { didYouMean, shown } from '../../model/errors.js'
import type { Machine } from './description.js'
import { snapshotInvalid } from './errors.js'

export const SNAPSHOT = { schema: 'durable-workflow-snapshot', version: 1 } as const

export interface Snapshot {
  readonly schema: typeof SNAPSHOT.schema
  readonly version: typeof SNAPSHOT.version
  readonly engine: string
  readonly state: string
  readonly status: 'active' | 'done' | 'error'
  readonly context: object
}

/** Throws SNAPSHOT_INVALID. */
export function checkedSnapshot(machine: Machine, given: unknown): Snapshot {
  const { schema, version, state, status, context } = (given ?? {}) as Partial<Snapshot>
  if (schema !== SNAPSHOT.schema || version !== SNAPSHOT.version) {
    const expected = `schema "${SNAPSHOT.schema}", version ${SNAPSHOT.version}`
    throw snapshotInvalid(
      `it is ${shown(schema)}, version ${shown(version)}`,
      `give one of ${expected}`,
    )
  }
  const place = typeof state === 'string' ? machine.places.get(state) : undefined
  if (!place) {
    const states = [...machine.places.keys()]
    const near = didYouMean(String(state), states)
    const hint = near ? `did you mean "${near}"?` : `its states are ${states.join(', ')}`
    throw snapshotInvalid(`the machine has no state ${shown(state)}`, hint)
  }
  if (status !== 'active' && status !== 'done' && status !== 'error') {
    throw snapshotInvalid(`its status is ${shown(status)}`, 'give active, done or error')
  }
  if (typeof context !== 'object' || context === null || Array.isArray(context)) {
    throw snapshotInvalid(`its context is ${shown(context)}`, 'give an object')
  }
  return given as Snapshot
}

/** Only engine.start({ snapshot }) stores such an input, after checking it. */
function isSnapshot(input: unknown): input is Snapshot {
  return (input as Partial<Snapshot> | null | undefined)?.schema === SNAPSHOT.schema
}

/** Where a run of this input begins. */
export function beginning(machine: Machine, input: unknown) {
  const from = machine.takesEvents && isSnapshot(input) ? input : null
  if (from) return { place: from.state, state: from.context, hasBegun: true }
  return { place: machine.initial, state: machine.begin(input), hasBegun: false }
}
