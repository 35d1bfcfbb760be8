// nodes: what has become of each node of a run of a graph.

import { nodeLog } from '../authoring/graph/log.js'
import type { RunView } from '../kernel/store.js'
import { optionInvalid } from '../model/errors.js'
import type { Uid } from '../model/ids.js'
import type { Entry } from '../model/run.js'
import type { Core } from './core.js'
import type { LoggedNode } from './logged-node.js'

const PAGE = 1_000

export async function nodesOf(core: Core, view: RunView): Promise<LoggedNode[]> {
  const stored = await core.stored.needFor(view.definition, view.version)
  const made = stored ?? core.definitions.get(view.definition)
  if (made?.kind !== 'graph') {
    throw optionInvalid(
      'runId',
      'engine.nodes',
      view.id,
      'the id of a run of a graph of this engine',
    )
  }
  const entries = await entriesUpTo(core, view.uid, view.seq)
  return nodeLog(made.plan, entries, view.status).map(({ startedAt, endedAt, ...log }) => ({
    ...log,
    startedAt: startedAt === null ? null : new Date(startedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
    durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
  }))
}

/** All of them up to that number. */
export async function entriesUpTo(core: Core, uid: Uid, seq: number): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (let isMore = true; isMore; ) {
    const limit = Math.min(PAGE, seq - entries.length)
    const page = { after: entries.length, limit, newestFirst: false }
    const part = limit > 0 ? await core.kernel.read.history(uid, page) : []
    entries.push(...part)
    isMore = part.length === PAGE
  }
  return entries
}
