// All that can be done from outside. A client is confined to a workspace, or the engine's own.

import { optionInvalid } from '../model/errors.js'
import { changes } from './changes.js'
import { checkpoints } from './checkpoints.js'
import {
  addressOf,
  beforeRead,
  beforeWrite,
  type Core,
  DEFAULT_WORKSPACE,
  found,
  readFlag,
  transactionOf,
  workspaceOf,
} from './core.js'
import { describe } from './describe.js'
import { documentName, shownDocuments } from './documents.js'
import { listen } from './events.js'
import { graphCalls } from './graphs.js'
import { makeHandle, settled } from './handle.js'
import { outcomeOf } from './info.js'
import { insightCalls } from './insight.js'
import { mailCalls } from './mail-calls.js'
import { startMany } from './many.js'
import { nodesOf } from './nodes.js'
import { operatingCalls, type Spaced } from './operate.js'
import { explainRun, history, infoOf, list, viewOf } from './read.js'
import { scheduleCalls } from './schedules.js'
import { type Prepared, prepareStart, startPrepared } from './start.js'
import { refuseStart, startable } from './startable.js'
import type { Client } from './types.js'

type Given = Readonly<Record<string, unknown>>

/** `confined`: null for the engine itself, which may name any workspace. */
export function makeClient(core: Core, confined: string | null): Client {
  const own = confined ?? DEFAULT_WORKSPACE
  const spaceOf = (options: Spaced, call: string): string => confine(confined, options, call)
  const client = {
    start: async (target: unknown, input?: unknown, options?: unknown) => {
      const { transaction, version } = (options ?? {}) as Given
      const within = transactionOf(transaction, 'engine.start')
      beforeWrite(core, 'start', within)
      const named = await startable(core, { call: 'start', target, version, within })
      const start = { call: 'start', workspace: own, target: named, input, options }
      const prepared = await prepareStart(core, start)
      const workspace = spaceOf(prepared.request, 'start')
      refuseStart(named, workspace)
      const { id } = await startPrepared(core, prepared, within)
      if (within) return { id }
      return makeHandle(core, { workspace, id, target: named, isKnown: true })
    },
    startMany: async (target: unknown, items: unknown) => {
      beforeWrite(core, 'startMany')
      const named = await startable(core, { call: 'startMany', target })
      const check = ({ request }: Prepared) => refuseStart(named, spaceOf(request, 'startMany'))
      return startMany(core, { workspace: own, target: named, items, check })
    },
    run: async (target: unknown, input?: unknown, options?: unknown) => {
      beforeWrite(core, 'run')
      const named = await startable(core, { call: 'run', target })
      const start = { call: 'run', workspace: own, target: named, input, options }
      const prepared = await prepareStart(core, start)
      const workspace = spaceOf(prepared.request, 'run')
      refuseStart(named, workspace)
      if (readStateless(options)) return core.stateless.run(prepared.request, prepared.message)
      const { id } = await startPrepared(core, prepared)
      const end = await settled(core, { workspace, id })
      return outcomeOf(end, await shownDocuments(core.kernel.read, end.uid))
    },
    handle: (target: unknown, id: string) => {
      const named = found(core, 'handle', target)
      return makeHandle(core, { workspace: own, id, target: named, isKnown: false })
    },
    ...mailCalls(core, spaceOf),
    ...operatingCalls(core, own, spaceOf),
    schedules: scheduleCalls(core, { own, confined }, spaceOf),
    graphs: graphCalls(core, confined),
    get: async (id: unknown) => {
      beforeRead(core)
      const to = addressOf(own, id)
      const view = await core.kernel.read.get(to.workspace, to.id)
      return view === null ? null : infoOf(core, view)
    },
    describe: (target: unknown) => describe(core, confined, target),
    list: (filter?: unknown) => list(core, confined, filter),
    history: (id: unknown, page?: unknown) => history(core, confined, id, page),
    checkpoints: (id: unknown, page?: unknown) => checkpoints(core, confined, id, page),
    documents: async (id: unknown, type?: unknown) => {
      beforeRead(core)
      const name = documentName(type)
      const { uid } = await viewOf(core, own, id)
      return shownDocuments(core.kernel.read, uid, name)
    },
    nodes: async (id: unknown) => {
      beforeRead(core)
      return nodesOf(core, await viewOf(core, own, id))
    },
    explain: async (id: unknown) => {
      beforeRead(core)
      return explainRun(core, await viewOf(core, own, id))
    },
    ...insightCalls(core, own, spaceOf),
    changes: (options?: unknown) => changes(core, confined, options),
    on: (event: unknown, listener: unknown) => listen(core, confined, event, listener),
    workspace: (name: unknown) => {
      const asked = workspaceOf(name)
      confine(confined, { workspace: asked }, 'workspace')
      return makeClient(core, asked)
    },
  }
  return client as unknown as Client
}

/** The workspace that a call speaks of. A confined client cannot leave its own. */
function confine(confined: string | null, options: Spaced, call: string): string {
  const asked =
    options.workspace === undefined
      ? (confined ?? DEFAULT_WORKSPACE)
      : workspaceOf(options.workspace)
  if (confined === null || asked === confined) return asked
  throw optionInvalid(
    'workspace',
    `engine.${call}`,
    asked,
    `"${confined}", to which this client is confined`,
  )
}

function readStateless(options: unknown): boolean {
  const { stateless } = (options ?? {}) as { stateless?: unknown }
  return readFlag(stateless, 'stateless', 'engine.run')
}
