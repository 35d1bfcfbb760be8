// All that can be done from outside. A client is confined to a workspace, or the engine's own.

import { optionInvalid } from '../model/errors.js'
import {
  addressOf,
  beforeRead,
  beforeWrite,
  type Core,
  DEFAULT_WORKSPACE,
  found,
  messageIdOf,
  workspaceOf,
} from './core.js'
import { listen } from './events.js'
import { makeHandle, reasonOf, settled } from './handle.js'
import { outcomeOf } from './info.js'
import { sendSignal } from './messages.js'
import { optionsObject } from './paged.js'
import { explainRun, history, infoOf, list, viewOf } from './read.js'
import { startRequest } from './start.js'
import type { Client } from './types.js'

type Given = Readonly<Record<string, unknown>>

/** `confined`: null for the engine itself, which may name any workspace. */
export function makeClient(core: Core, confined: string | null): Client {
  const own = confined ?? DEFAULT_WORKSPACE
  const spaceOf = (options: Given, call: string): string => within(confined, options, call)
  const client = {
    start: async (target: unknown, input?: unknown, options?: unknown) => {
      beforeWrite(core, 'start')
      const named = found(core, 'start', target)
      const start = { call: 'start', workspace: own, target: named, input, options }
      const request = await startRequest(core, start)
      spaceOf(request as unknown as Given, 'start')
      const { id } = await core.kernel.start(request)
      return makeHandle(core, { workspace: request.workspace, id, target: named, isKnown: true })
    },
    run: async (target: unknown, input?: unknown, options?: unknown) => {
      beforeWrite(core, 'run')
      const named = found(core, 'run', target)
      const start = { call: 'run', workspace: own, target: named, input, options }
      const request = await startRequest(core, start)
      spaceOf(request as unknown as Given, 'run')
      if (readStateless(options)) return core.stateless.run(request)
      const { id } = await core.kernel.start(request)
      return outcomeOf(await settled(core, { workspace: request.workspace, id }))
    },
    handle: (target: unknown, id: string) =>
      makeHandle(core, {
        workspace: own,
        id,
        target: found(core, 'handle', target),
        isKnown: false,
      }),
    signal: async (id: unknown, name: unknown, payload?: unknown, options?: unknown) => {
      beforeWrite(core, 'signal')
      const given = optionsObject(options, 'engine.signal', ['id', 'workspace'])
      const to = addressOf(spaceOf(given, 'signal'), id)
      await sendSignal(core, { to, made: null, name, payload, id: given.id })
    },
    cancel: async (id: unknown, reason?: unknown, options?: unknown) => {
      beforeWrite(core, 'cancel')
      const given = optionsObject(options, 'engine.cancel', ['id', 'workspace', 'force'])
      const to = addressOf(spaceOf(given, 'cancel'), id)
      const force = readFlag(given.force, 'force', 'engine.cancel')
      await core.kernel.cancel(to, reasonOf(reason), messageIdOf(given.id), force)
    },
    retry: async (id: unknown, options?: unknown) => {
      beforeWrite(core, 'retry')
      const given = optionsObject(options, 'engine.retry', ['expectedAttempt', 'workspace'])
      const to = addressOf(spaceOf(given, 'retry'), id)
      await core.kernel.retry(to, readAttempt(given.expectedAttempt))
    },
    get: async (id: unknown) => {
      beforeRead(core)
      const to = addressOf(own, id)
      const view = await core.kernel.read.get(to.workspace, to.id)
      return view === null ? null : infoOf(core, view)
    },
    list: (filter?: unknown) => list(core, confined, filter),
    history: (id: unknown, page?: unknown) => history(core, confined, id, page),
    explain: async (id: unknown) => {
      beforeRead(core)
      return explainRun(core, await viewOf(core, own, id))
    },
    on: (event: unknown, listener: unknown) => listen(core, confined, event, listener),
    workspace: (name: unknown) => {
      const asked = workspaceOf(name)
      within(confined, { workspace: asked }, 'workspace')
      return makeClient(core, asked)
    },
  }
  return client as unknown as Client
}

/** The workspace that a call speaks of. A confined client cannot leave its own. */
function within(confined: string | null, options: Given, call: string): string {
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

function readFlag(flag: unknown, option: string, where: string): boolean {
  if (flag === undefined || typeof flag === 'boolean') return flag ?? false
  throw optionInvalid(option, where, flag, 'true or false')
}

function readAttempt(expected: unknown): number | null {
  if (expected === undefined) return null
  if (Number.isInteger(expected) && Number(expected) > 0) return Number(expected)
  throw optionInvalid('expectedAttempt', 'engine.retry', expected, 'the attempt of RunInfo')
}
