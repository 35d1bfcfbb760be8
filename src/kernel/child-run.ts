// The run that a question for a child becomes.

import type { RunId, Uid } from '../model/ids.js'
import type { ChildOrder } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import type { NewRun } from './store.js'

/** `here`: the version of the definition that this process has. */
export function childRun(
  parent: RunFacts,
  uid: Uid,
  order: ChildOrder,
  here: string | null,
): NewRun {
  const { workspace, tags, uid: parentUid, id } = parent
  const { definition, input, timeoutMs } = order
  const version = order.version ?? here
  const names = { uid, id: uid as string as RunId, workspace, definition, version, tags }
  const times = { priority: 5, delayMs: 0, timeoutMs }
  return { ...names, ...times, input, order: order.order, parent: { uid: parentUid, id } }
}
