// What people do to a run that is there: cancel, retry, pause, resume, fork.

import type { Address, ForkOrder } from '../kernel/api.js'
import { decode, encode } from '../model/codec.js'
import { optionInvalid } from '../model/errors.js'
import type { Entry } from '../model/run.js'
import {
  addressOf,
  beforeWrite,
  type Core,
  found,
  messageIdOf,
  newRunId,
  readFlag,
} from './core.js'
import { makeHandle, reasonOf } from './handle.js'
import { optionsObject } from './paged.js'
import { viewOf } from './read.js'
import { retryRun } from './retry.js'
import { storedInput } from './start.js'

export type Spaced = { readonly workspace?: unknown }

/** `own`: the workspace of the client; `spaceOf`: the one that options name, if the client may go there. */
export function operatingCalls(
  core: Core,
  own: string,
  spaceOf: (options: Spaced, call: string) => string,
) {
  return {
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
      await retryRun(core, to, readAttempt(given.expectedAttempt))
    },
    pause: async (id: unknown) => {
      beforeWrite(core, 'pause')
      await core.kernel.operations.pause(addressOf(own, id))
    },
    resume: async (id: unknown) => {
      beforeWrite(core, 'resume')
      await core.kernel.operations.resume(addressOf(own, id))
    },
    fork: async (id: unknown, options?: unknown) => {
      beforeWrite(core, 'fork')
      const given = optionsObject(options, 'engine.fork', [
        'from',
        'version',
        'state',
        'input',
        'outputs',
        'id',
        'workspace',
      ])
      const to = addressOf(spaceOf(given, 'fork'), id)
      const order = {
        ...(await forkOrder(core, to, given)),
        ...(await fromCheckpoint(core, to, given)),
      }
      const { definition, version } = await viewOf(core, to.workspace, to.id)
      await core.stored.needFor(definition, version)
      const forked = await core.kernel.operations.fork(to, order)
      const target = found(core, 'fork', forked.definition)
      return makeHandle(core, { workspace: to.workspace, id: forked.id, target, isKnown: true })
    },
  }
}

async function forkOrder(
  core: Core,
  to: Address,
  { from, input, outputs, id }: Readonly<Record<string, unknown>>,
): Promise<ForkOrder> {
  if (from !== undefined && typeof from !== 'string' && typeof from !== 'number') {
    throw optionInvalid('from', 'engine.fork', from, 'the name of a step or a position')
  }
  const isDict = typeof outputs === 'object' && outputs !== null && !Array.isArray(outputs)
  if (outputs !== undefined && !isDict) {
    throw optionInvalid('outputs', 'engine.fork', outputs, 'results by the names of their steps')
  }
  const stored = Object.entries(outputs ?? {}).map(([name, value]) => {
    const text = encode(value, `the output of "${name}"`, core.valueBytesMax)
    return [name, text] as const
  })
  const named = input === undefined ? null : (await viewOf(core, to.workspace, to.id)).definition
  return {
    from: from ?? null,
    input: named === null ? null : await storedInput(core, found(core, 'fork', named), input),
    outputs: Object.fromEntries(stored),
    id: id === undefined ? null : newRunId(id),
  }
}

/** Behind a checkpoint of a machine, with another state if one is given. */
async function fromCheckpoint(
  core: Core,
  to: Address,
  { version, state, from }: Readonly<Record<string, unknown>>,
): Promise<Pick<ForkOrder, 'replaces'> & { readonly from?: number }> {
  const where = 'engine.fork'
  if (version === undefined) {
    if (state === undefined) return {}
    throw optionInvalid('state', where, state, 'given together with the "version" of a checkpoint')
  }
  if (from !== undefined) throw optionInvalid('version', where, version, 'given without "from"')
  const entry = await checkpointOf(core, to, version)
  if (!entry)
    throw optionInvalid('version', where, version, 'the version of a checkpoint of the run')
  if (state === undefined) return { from: entry.seq }
  const left = decode(entry.payload ?? 'null') as object
  const payload = encode(
    { ...left, state, next: undefined },
    'the state of a fork',
    core.valueBytesMax,
  )
  return { from: entry.seq, replaces: { seq: entry.seq, payload } }
}

async function checkpointOf(core: Core, to: Address, version: unknown): Promise<Entry | null> {
  const { uid } = await viewOf(core, to.workspace, to.id)
  for (let after: number | null = null; ; ) {
    const page = { after, limit: 500, newestFirst: true }
    const entries: readonly Entry[] = await core.kernel.read.checkpoints(uid, page)
    const found = entries.find(({ meta }) => meta?.checkpoint === version)
    if (found || entries.length < 500) return found ?? null
    after = entries.at(-1)?.seq ?? null
  }
}

function readAttempt(expected: unknown): number | null {
  if (expected === undefined) return null
  if (Number.isInteger(expected) && Number(expected) > 0) return Number(expected)
  throw optionInvalid('expectedAttempt', 'engine.retry', expected, 'the attempt of RunInfo')
}
