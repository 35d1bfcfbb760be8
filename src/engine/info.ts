// From rows to what people read. Pure: the caller brings the time and the definitions.

import type { Made } from '../authoring/definition.js'
import type { StoredDocument } from '../authoring/documents.js'
import type { Left } from '../authoring/machine/scene.js'
import { beginning } from '../authoring/machine/snapshot.js'
import type { RunView, Settled } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { errorRecord } from '../model/error-record.js'
import { shownName } from '../model/ids.js'
import { type Entry, type FinalStatus, isFinal, type Stored } from '../model/run.js'
import { offers, undoPlan } from './facts.js'
import { openQuestions } from './open.js'
import type {
  JournalEntry,
  OpenChild,
  Outcome,
  RunInfo,
  RunStanding,
  StoredError,
} from './types.js'

/** What there is to know beside the row. */
export interface Known {
  readonly definitions: ReadonlyMap<string, Made>
  /** Due, and no live worker could execute it. */
  readonly missingCode: boolean
  /** It asks for a slot. */
  readonly lacksSlot: boolean
  readonly children?: readonly RunView[]
  /** The newest entries, newest first. */
  readonly entries?: readonly Entry[]
}

export function runInfo(view: RunView, known: Known): RunInfo {
  const made = known.definitions.get(view.definition)
  const error = errorOf(view)
  const begun = made?.kind === 'machine' ? beginning(made.machine, decode(view.input)) : null
  return {
    id: view.id,
    workflow: view.definition,
    version: view.version ?? made?.version ?? '',
    workspace: view.workspace,
    parentId: view.parentId,
    kind: made?.kind ?? guessedKind(view),
    input: decode(view.input),
    state: view.state === null ? begun?.state : decode(view.state),
    place: view.place ?? begun?.place ?? null,
    hasError: error !== null,
    error,
    tags: { ...view.tags },
    attempt: view.attempt,
    open: isFinal(view.status) ? [] : openQuestions(known.entries ?? []),
    undo:
      view.status === 'completed'
        ? []
        : undoPlan(known.entries ?? [], view.end?.meta?.skipped ?? []),
    createdAt: new Date(view.createdAt),
    updatedAt: new Date(view.updatedAt),
    startedAt: dateOf(view.startedAt),
    finishedAt: dateOf(view.finishedAt),
    ...standing(view, known),
  }
}

/** What only a name is known of was asked for by a parent, and is then a task more often than not. */
function guessedKind({ version, parentId }: RunView): RunInfo['kind'] {
  if (version?.startsWith('#')) return 'graph'
  return parentId === null ? 'workflow' : 'task'
}

/** The part that depends on the status. */
function standing(view: RunView, known: Known): RunStanding {
  const { status, reason } = view
  if (status === 'completed') return { status, output: outputOf(view.end?.payload ?? null) }
  if (status === 'failed')
    return { status, error: endErrorOf(view.end, status), retryable: !view.end?.meta?.undone }
  if (isFinal(status)) return { status, error: endErrorOf(view.end, status) }
  if (known.missingCode && view.startedAt !== null) {
    return { status: 'waiting', reason: 'missing-code', until: null, available: [] }
  }
  if (status !== 'waiting') return { status }
  if (known.lacksSlot && view.startedAt !== null) {
    return { status, reason: 'slot', until: null, available: [] }
  }
  const children = reason === 'child' ? known.children?.map(openChild) : undefined
  return {
    status,
    reason: reason ?? 'slot',
    until: dateOf(view.dueAt),
    available: offers(known.entries ?? [], known.definitions.get(view.definition)),
    ...(children && { children }),
  }
}

function openChild(view: RunView): OpenChild {
  return { id: view.id, workflow: view.definition, status: view.status }
}

function dateOf(at: number | null | undefined): Date | null {
  return at === null || at === undefined ? null : new Date(at)
}

function outputOf(payload: Stored | null): unknown {
  return payload === null ? undefined : decode(payload)
}

function errorOf(view: RunView): StoredError | null {
  const { status } = view
  if (isFinal(status)) return status === 'completed' ? null : endErrorOf(view.end, status)
  return view.error === null ? null : errorRecord(view.error)
}

export function endErrorOf(end: Entry | null, status: FinalStatus): StoredError {
  const { name, occurrence, reason } = end?.meta ?? {}
  const error = endError(status, end?.payload ?? null, reason ?? null)
  return name === undefined ? error : { ...error, step: shownName(name, occurrence ?? 1) }
}

/** A cancelled or late run has no error of its own: what is known of its end is told in the form of one. */
export function endError(
  status: FinalStatus,
  payload: Stored | null,
  reason: string | null,
): StoredError {
  const recorded = payload === null ? null : errorRecord(payload)
  if (status === 'cancelled') {
    return { name: 'PerdureError', message: reason ?? 'cancelled', code: 'WORKFLOW_CANCELLED' }
  }
  if (status === 'timed_out') {
    const message = recorded?.message ?? reason ?? 'it took longer than its timeout'
    return { name: 'PerdureError', message, code: 'WORKFLOW_TIMED_OUT' }
  }
  return recorded ?? { name: 'Error', message: reason ?? 'the run failed' }
}

export function outcomeOf(settled: Settled, documents: readonly StoredDocument[]): Outcome {
  const { id, status, payload, reason } = settled
  return status === 'completed'
    ? { id, status, output: outputOf(payload), documents }
    : { id, status, error: endError(status, payload, reason), documents }
}

type Difference = NonNullable<NonNullable<Entry['meta']>['difference']>

const GIVES_ERROR = ['run.failed', 'run.timed_out', 'step.failed']
const GIVES_INPUT = ['run.created', 'child.started']

export function journalEntry(entry: Entry): JournalEntry {
  const { seq, kind, name, occurrence, attempt, at } = entry
  const meta = entry.meta ?? {}
  const until = meta.retryAt ?? meta.dueAt
  return {
    seq,
    kind,
    name: name === '' ? '' : shownName(name, occurrence),
    at: new Date(at),
    ...(attempt > 0 && { attempt }),
    ...payloadOf(entry),
    ...(meta.askedAgo !== undefined && { askedAt: new Date(at - meta.askedAgo) }),
    ...(meta.startedAgo !== undefined && { startedAt: new Date(at - meta.startedAgo) }),
    ...(until !== undefined && { until: new Date(until) }),
    ...(kind === 'child.started' && meta.target !== undefined && { workflow: meta.target }),
    ...(kind.startsWith('child.') && meta.uid !== undefined && { runId: meta.uid }),
  }
}

/** What people want to know of a transition; the rest is for the next one. */
function transitionOf({ place, state, moves, payload }: Left): object {
  return {
    output: { place, state },
    transitions: moves,
    ...(payload !== undefined && { input: payload }),
  }
}

function payloadOf({ kind, payload, meta }: Entry): object {
  if (kind === 'run.cancelled')
    return { error: endError('cancelled', payload, meta?.reason ?? null) }
  if (kind === 'run.diverged' && meta?.difference) {
    const message = differenceText(meta.difference)
    return { error: { name: 'PerdureError', message, code: 'DIVERGED' } }
  }
  // '': a scope that ended, with nothing to say.
  if (payload === null || payload === '') return {}
  if (GIVES_INPUT.includes(kind)) return { input: decode(payload) }
  if (meta?.checkpoint !== undefined) return transitionOf(decode(payload) as Left)
  const childFailed = kind === 'child.ended' && (meta?.status ?? 'completed') !== 'completed'
  if (GIVES_ERROR.includes(kind) || childFailed) return { error: errorRecord(payload) }
  return { output: decode(payload) }
}

export function differenceText({ position, recorded, found }: Difference): string {
  return `at question ${position} the history has ${recorded}, the code asks ${found}`
}

/** Whether any live worker could execute it: `live` as `name@version`. */
export function hasCode(view: RunView, live: readonly string[]): boolean {
  return view.version === null
    ? live.some((known) => known.startsWith(`${view.definition}@`))
    : live.includes(`${view.definition}@${view.version}`)
}

/** Could be executed now, if its limits let it. */
export function isWithoutSlot(view: RunView, now: number): boolean {
  return view.slot === false && view.reason !== 'diverged' && isDueForCode(view, now)
}

/** Could be executed now, if somebody had its code. A cancel needs none. */
export function isDueForCode(view: RunView, now: number): boolean {
  const due = view.dueAt !== null && view.dueAt <= now
  return !isFinal(view.status) && view.owner === null && view.stop === null && due
}
