// Where a fork begins, and what of the history it takes along. Pure.
//
// Every beginning of a journal was once all of it, so it can be gone on from: what was asked and not answered at that
// point is asked again. Children that were open then belong to the run that started them.

import { optionInvalid, pointUnknown } from '../model/errors.js'
import type { RunId, Uid } from '../model/ids.js'
import { shownName } from '../model/ids.js'
import { type Entry, isFinal, type Stored } from '../model/run.js'
import type { ForkPlan } from './store.js'

export interface ForkOrder {
  /** Before the step of that name; behind the entry of that number; null: from the beginning. */
  readonly from: string | number | null
  readonly input: Stored | null
  /** By the name of a step, child or wait. */
  readonly outputs: Readonly<Record<string, Stored>>
  /** What stands in the place of a recorded payload. */
  readonly replaces?: { readonly seq: number; readonly payload: Stored }
  readonly id: RunId | null
}

const WHERE = 'engine.fork'

export function planFork(
  journal: readonly Entry[],
  order: ForkOrder,
  names: { readonly of: Uid; readonly uid: Uid; readonly id: RunId },
): ForkPlan {
  const point = pointOf(journal, order.from)
  const stoppedAt = journal.find(({ kind }) => kind === 'run.stopping')?.seq
  if (stoppedAt !== undefined && point >= stoppedAt) {
    const expected = `a point before position ${stoppedAt}, where the run began to stop`
    throw optionInvalid('from', WHERE, order.from, expected)
  }
  // The end of a run is no part of what goes on.
  const upTo = isEnd(journal[point - 1]) ? point - 1 : point
  const copied = journal.slice(0, upTo)
  const { seed = names.of, ...meta } = copied[0]?.meta ?? {}
  return {
    ...names,
    upTo,
    meta: { ...meta, bornWith: upTo, forkOf: names.of, seed },
    input: order.input,
    outputs: [...outputsOf(copied, order.outputs), ...(order.replaces ? [order.replaces] : [])],
    forgetsChild: openChildren(copied),
  }
}

function pointOf(journal: readonly Entry[], from: string | number | null): number {
  if (from === null) return 1
  if (typeof from === 'number') {
    if (Number.isInteger(from) && from >= 1 && from <= journal.length) return from
    throw optionInvalid('from', WHERE, from, `a position from 1 to ${journal.length}`)
  }
  const own = journal.filter((entry) => nameOf(entry) === from)
  if (own.length === 0) throw pointUnknown('from', from, namesIn(journal))
  // That a step was asked for stays: what others did meanwhile stands behind it.
  const first = own.find(({ kind }) => kind !== 'step.asked')
  return first ? first.seq - 1 : journal.length
}

function outputsOf(copied: readonly Entry[], outputs: ForkOrder['outputs']): ForkPlan['outputs'] {
  const results = copied.filter(hasResult)
  return Object.entries(outputs).map(([name, payload]) => {
    const entry = results.findLast((one) => nameOf(one) === name)
    if (!entry) throw pointUnknown('outputs', name, namesIn(results))
    return { seq: entry.seq, payload }
  })
}

function hasResult({ kind, meta }: Entry): boolean {
  if (kind === 'child.ended') return meta?.status === 'completed'
  return kind === 'step.completed' || kind === 'message.taken'
}

function openChildren(copied: readonly Entry[]): number[] {
  const ended = new Set(
    copied.flatMap(({ kind, meta }) => (kind === 'child.ended' ? [meta?.uid] : [])),
  )
  const open = copied.filter(({ kind, meta }) => kind === 'child.started' && !ended.has(meta?.uid))
  return open.map(({ seq }) => seq)
}

function isEnd(entry: Entry | undefined): boolean {
  const [run, status = ''] = entry?.kind.split('.') ?? []
  return run === 'run' && isFinal(status as 'failed')
}

const nameOf = ({ name, occurrence }: Entry): string => shownName(name, occurrence)

function namesIn(entries: readonly Entry[]): string[] {
  return [...new Set(entries.filter(({ name }) => name !== '').map(nameOf))]
}
