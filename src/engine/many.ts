// startMany: all items are checked before the first is stored; then they go to the group commit in order.

import { optionInvalid } from '../model/errors.js'
import type { Core, Found } from './core.js'
import { makeHandle } from './handle.js'
import { optionsObject } from './paged.js'
import { type Prepared, prepareStart, startPrepared } from './start.js'
import type { RunHandle } from './types.js'

/** So many are under way at once: the rest waits here and not in the queue of commits. */
const AT_ONCE = 2_000

export interface ManyStarts {
  readonly workspace: string
  readonly target: Found
  readonly items: unknown
  /** Refuses a workspace that the client is not for. */
  check(prepared: Prepared): void
}

export async function startMany(core: Core, many: ManyStarts): Promise<RunHandle[]> {
  const { target, workspace, items } = many
  const where = `engine.startMany("${target.name}")`
  if (!Array.isArray(items)) throw optionInvalid('items', where, items, 'a list')
  const prepared: Prepared[] = []
  for (const [i, item] of items.entries()) {
    if (item === undefined) throw optionInvalid(`items[${i}]`, where, item, '{ input, options }')
    const { input, options } = optionsObject(item, `items[${i}] of ${where}`, ['input', 'options'])
    const start = { call: 'startMany', workspace, target, input, options }
    const one = await prepareStart(core, start)
    many.check(one)
    prepared.push(one)
  }
  const handles: RunHandle[] = []
  for (let from = 0; from < prepared.length; from += AT_ONCE) {
    const part = prepared.slice(from, from + AT_ONCE)
    const started = await Promise.allSettled(part.map((one) => startPrepared(core, one)))
    for (const [i, outcome] of started.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason
      const { id } = outcome.value
      const space = part[i]?.request.workspace ?? workspace
      handles.push(makeHandle(core, { workspace: space, id, target, isKnown: true }))
    }
  }
  return handles
}
