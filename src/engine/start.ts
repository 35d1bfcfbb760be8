// start: from what the caller gave to what the kernel stores. The input passes its schema here, once.

import { type Made, refuseOptionsAsInput } from '../authoring/definition.js'
import { parse } from '../authoring/schema.js'
import type { FirstMessage, StartRequest } from '../kernel/api.js'
import type { Client } from '../kernel/store.js'
import { encode } from '../model/codec.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import type { RunId } from '../model/ids.js'
import type { Stored } from '../model/run.js'
import { type Duration, durationMs } from '../model/time.js'
import { type Core, type Found, messageIdOf, runIdOf, signalNameOf, workspaceOf } from './core.js'
import { storedPayload } from './messages.js'
import { optionsObject } from './paged.js'

const OPTIONS = ['id', 'workspace', 'tags', 'delay', 'timeout', 'priority']
/** What each call takes beside them. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  start: ['message', 'transaction'],
  startMany: ['message'],
  run: ['message', 'stateless'],
}
const PRIORITY_DEFAULT = 5

type Given = Readonly<Record<string, unknown>>

export interface StartCall {
  readonly call: string
  readonly workspace: string
  readonly target: Found
  readonly input: unknown
  readonly options: unknown
}

export async function startRequest(core: Core, start: StartCall): Promise<StartRequest> {
  const { target, workspace } = start
  const where = `engine.${start.call}("${target.name}")`
  const given = start.options === undefined ? {} : start.options
  if (typeof given !== 'object' || given === null) {
    throw optionInvalid('options', where, given, 'an object')
  }
  checkOptions(given, where, [...OPTIONS, ...(MORE[start.call] ?? [])])
  const options = given as Given
  if (target.made) {
    const before = `engine.${start.call}(…`
    refuseOptionsAsInput(target.made, start.input, { where, before, options: OPTIONS })
  }
  return {
    id: options.id === undefined ? null : runIdOf(options.id),
    workspace: options.workspace === undefined ? workspace : workspaceOf(options.workspace),
    definition: target.name,
    version: target.made?.version ?? null,
    tags: readTags(options.tags, where),
    priority: readPriority(options.priority, where),
    delayMs: options.delay === undefined ? 0 : durationMs(options.delay as Duration),
    timeoutMs: readTimeout(options.timeout, target.made, where),
    input: await storedInput(core, target, start.input),
  }
}

/** The first message of a start. Its payload passes the schema of its signal here. */
export async function firstMessage(core: Core, start: StartCall): Promise<FirstMessage | null> {
  const { message } = (start.options ?? {}) as Given
  if (message === undefined) return null
  const where = `message of engine.${start.call}("${start.target.name}")`
  const { name: given, payload, id } = optionsObject(message, where, ['name', 'payload', 'id'])
  const name = signalNameOf(given)
  const stored = await storedPayload(core, start.target.made, name, payload)
  return { name, payload: stored, id: messageIdOf(id) }
}

export interface Prepared {
  readonly request: StartRequest
  readonly message: FirstMessage | null
}

export async function prepareStart(core: Core, start: StartCall): Promise<Prepared> {
  return { request: await startRequest(core, start), message: await firstMessage(core, start) }
}

/** The group commit takes plain starts; the others go alone. */
export function startPrepared(
  core: Core,
  { request, message }: Prepared,
  within: Client | null = null,
): Promise<{ readonly id: RunId }> {
  const { kernel } = core
  return message === null && within === null
    ? kernel.start(request)
    : kernel.operations.start(request, message, within)
}

export async function storedInput(core: Core, target: Found, input: unknown): Promise<Stored> {
  const what = `The input of ${target.made?.kind ?? 'workflow'} "${target.name}"`
  const schema = target.made?.input ?? null
  const parsed = schema === null ? input : await parse(schema, input, 'INPUT_INVALID', what)
  return encode(parsed, `the input of "${target.name}"`, core.valueBytesMax)
}

/** A workflow's own timeout is that of its runs; a task's is that of one attempt, and not our business here. */
function readTimeout(timeout: unknown, made: Made | null, where: string): number | null {
  if (timeout === undefined) return made?.kind === 'workflow' ? made.timeoutMs : null
  const ms = durationMs(timeout as Duration)
  if (ms === 0) throw optionInvalid('timeout', where, timeout, 'longer than 0')
  return ms
}

function readTags(tags: unknown, where: string): Readonly<Record<string, string>> {
  if (tags === undefined) return {}
  const isDict = typeof tags === 'object' && tags !== null && !Array.isArray(tags)
  if (!isDict || Object.values(tags).some((value) => typeof value !== 'string')) {
    throw optionInvalid('tags', where, tags, 'an object of texts')
  }
  return { ...(tags as Record<string, string>) }
}

function readPriority(priority: unknown, where: string): number {
  if (priority === undefined) return PRIORITY_DEFAULT
  if (Number.isInteger(priority) && Number(priority) >= 0 && Number(priority) <= 9) {
    return Number(priority)
  }
  throw optionInvalid('priority', where, priority, 'a whole number from 0 to 9')
}
