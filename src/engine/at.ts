// at: a run as it was behind an entry of its journal, by the rules by which it is shown now.

import type { Made } from '../authoring/definition.js'
import { storedDocument } from '../authoring/document-draft.js'
import { variablesOf } from '../authoring/graph/log.js'
import { beginning } from '../authoring/machine/snapshot.js'
import type { RunView } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { errorRecord } from '../model/error-record.js'
import { optionInvalid } from '../model/errors.js'
import { shownName } from '../model/ids.js'
import { type Entry, FINAL_STATUSES, type FinalStatus, type Status } from '../model/run.js'
import type { Core } from './core.js'
import { endErrorOf } from './info.js'
import { entriesUpTo } from './nodes.js'
import { openQuestions } from './open.js'
import { ENTRIES_LOOKED_AT } from './read.js'
import type { RunAt } from './types.js'

/** `seq`: left out, the last entry. */
export async function runAt(core: Core, view: RunView, asked: unknown): Promise<RunAt> {
  const { read } = core.kernel
  const { uid, definition, version } = view
  const seq = asked ?? view.seq
  if (!Number.isInteger(seq) || Number(seq) < 1 || Number(seq) > view.seq) {
    throw optionInvalid('seq', 'engine.at', seq, `a whole number from 1 to ${view.seq}`)
  }
  const behind = { after: Number(seq) + 1, newestFirst: true }
  const stored = await core.stored.needFor(definition, version)
  const made = stored ?? core.definitions.get(definition)
  const [entries, [checkpoint], documents, all] = await Promise.all([
    read.history(uid, { ...behind, limit: ENTRIES_LOOKED_AT }),
    read.checkpoints(uid, { ...behind, limit: 1 }),
    read.documents(uid),
    made?.kind === 'graph' ? entriesUpTo(core, uid, Number(seq)) : null,
  ])
  const [last] = entries
  if (!last) throw optionInvalid('seq', 'engine.at', seq, 'a number of its journal')
  const isNow = last.seq === view.seq
  const end = finalOf(last)
  const status = isNow ? view.status : (end ?? standing(last))
  const stay =
    isNow && view.place !== null ? stayNow(view) : stayThen(view, made, entries, checkpoint)
  const isKept = made?.kind === 'machine' || checkpoint !== undefined
  return {
    id: view.id,
    seq: last.seq,
    at: new Date(last.at),
    status,
    ...stay,
    ...(!isKept && { state: isNow && view.state !== null ? decode(view.state) : undefined }),
    isStateKnown: isKept || isNow || view.state === null,
    input: decode(view.input),
    output: end === 'completed' && last.payload !== null ? decode(last.payload) : undefined,
    error: end === null || end === 'completed' ? stay.error : endErrorOf(last, end),
    variables: made?.kind === 'graph' && all ? variablesOf(made.plan, all) : null,
    documents: documents
      .filter(({ isHidden }) => !isHidden)
      .filter((row) => row.seq <= last.seq && (row.untilSeq === null || row.untilSeq > last.seq))
      .map(storedDocument),
    open: end === null ? openQuestions(entries) : [],
  }
}

function finalOf({ kind }: Entry): FinalStatus | null {
  return FINAL_STATUSES.find((status) => kind === `run.${status}`) ?? null
}

const RESTING: readonly Entry['kind'][] = ['timer.set', 'wait.opened', 'child.started']

/** Whether it was parked is not written down: it was, if it had just asked for something that takes its time. */
function standing({ kind, meta }: Entry): Status {
  if (kind === 'run.created') return 'pending'
  return RESTING.includes(kind) || meta?.retryAt !== undefined ? 'waiting' : 'running'
}

type Stay = Pick<RunAt, 'place' | 'state' | 'error'>

function stayNow({ place, state, error }: RunView): Stay {
  return {
    place,
    state: state === null ? undefined : decode(state),
    error: error === null ? null : errorRecord(error),
  }
}

/** Of a machine: where its last checkpoint has brought it, and what has happened there since. */
function stayThen(
  view: RunView,
  made: Made | undefined,
  entries: readonly Entry[],
  checkpoint: Entry | undefined,
): Stay {
  if (made?.kind !== 'machine' && !checkpoint) return { place: null, state: undefined, error: null }
  const machine = made?.kind === 'machine' ? made.machine : null
  const begun = machine && beginning(machine, decode(view.input))
  const left = checkpoint
    ? (decode(checkpoint.payload ?? '{}') as { place: string; state: unknown })
    : { place: begun?.place ?? null, state: begun?.state }
  const since = entries.filter(({ seq }) => seq > (checkpoint?.seq ?? 0))
  const failed = since.find(({ kind }) => kind === 'step.failed')
  // An event machine says nothing of it.
  const error = failed?.payload && !machine?.takesEvents ? errorRecord(failed.payload) : null
  const wait = since.find(({ kind, meta }) => kind === 'wait.opened' && meta?.place !== undefined)
  // It may have left for the place of its errors, and not waited there yet.
  const isLater = failed && failed.meta?.retryAt === undefined && failed.seq > (wait?.seq ?? 0)
  const place = wait?.meta?.place ?? left.place
  const fled = isLater ? errorPlaceOf(machine, place, failed.name) : null
  return { place: fled ?? place, state: left.state, error }
}

function errorPlaceOf(
  machine: Extract<Made, { kind: 'machine' }>['machine'] | null,
  from: string | null,
  step: string,
): string | null {
  const place = from === null ? undefined : machine?.places.get(from)
  if (!place) return null
  const late = place.late.map(({ transition }) => transition)
  const all = [...place.automatic, ...place.waiting.values(), ...late]
  return all.find(({ name }) => name === shownName(step, 1))?.errorPlace ?? null
}
