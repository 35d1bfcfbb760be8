// Limits of the definitions of a world, and what must be true of slots at every instant.

import type { Limits } from '../../src/model/admission.js'
import { CRASHES_MAX } from '../../src/model/limits.js'
import { isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import { holdersOf } from '../../src/store/memory-limits.js'
import type { Options } from './options.js'
import type { World } from './world.js'

type Fail = (number: number | string, message: string) => void

/** The same for all definitions: how many at once, of the workspace together, and of each of two keys. */
export function limitsOf({ limits: most }: Options): Limits | null {
  if (most === 0) return null
  const none = { rate: null, keyRate: null, keyPath: null }
  const rules = {
    concurrency: most,
    perWorkspace: most + 1,
    perKey: Math.max(1, most - 1),
    ...none,
  }
  return { rules, keyOf: (input) => (JSON.stringify(input) ?? '').length % 2 }
}

/** 29: no limit is ever exceeded, and nobody executes without a slot. */
export function checkSlots(world: World, fail: Fail): void {
  const limits = limitsOf(world.options)
  if (limits === null) return
  const { concurrency, perWorkspace, perKey } = limits.rules
  const all = [...world.memory.runs.values()]
  const places = new Set(
    all.map(({ run }) => JSON.stringify([run.definition, run.limits?.key ?? ''])),
  )
  for (const place of places) {
    const [definition, key] = JSON.parse(place) as [string, string]
    const used = holdersOf(all, { definition, workspace: '', key: '' }).length
    if (used > (concurrency ?? 0)) fail(29, `${used} runs of ${definition} have a slot`)
    const ofKey = key === '' ? 0 : holdersOf(all, { definition, workspace: '', key }).length
    if (ofKey > (perKey ?? 0)) fail(29, `${ofKey} runs of ${definition} and ${key} have a slot`)
  }
  const here = holdersOf(all, { definition: '', workspace: 'default', key: '' }).length
  if (here > (perWorkspace ?? 0)) fail(29, `${here} runs of the workspace have a slot`)
}

export function checkSlot(world: World, row: MemoryRun, isTaken: boolean, fail: Fail): void {
  const { uid, slot, asksAt, dueAt, stop, owner, deadlineAt, crashes } = row
  if (slot === null) return
  if (slot && isFinal(row.status)) fail(29, `${uid} is final and has a slot`)
  if (slot && asksAt !== null) fail(29, `${uid} has a slot and asks for one`)
  if (!slot && dueAt !== null && stop !== 'cancel') fail(29, `${uid} is due without a slot`)
  const isLate = deadlineAt !== null && deadlineAt <= world.dbNow()
  const isOver = stop === 'cancel' || isLate || crashes >= CRASHES_MAX
  if (isTaken && owner !== null && !slot && !isOver) fail(29, `${uid} was taken without a slot`)
}
