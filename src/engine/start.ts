// start: from what the caller gave to what the kernel stores. The input passes its schema here, once.

import { type Made, refuseOptionsAsInput } from '../authoring/definition.js'
import { checkedSnapshot } from '../authoring/machine/snapshot.js'
import { parse } from '../authoring/schema.js'
import type { FirstMessage, StartRequest } from '../kernel/api.js'
import type { Client } from '../kernel/store.js'
import { encode } from '../model/codec.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import { isStepName, type RunId } from '../model/ids.js'
import type { Stored } from '../model/run.js'
import { type Duration, durationMs } from '../model/time.js'
import { type Core, type Found, messageIdOf, newRunId, signalNameOf, workspaceOf } from './core.js'
import { storedPayload } from './messages.js'
import { optionsObject } from './paged.js'

const OPTIONS = ['id', 'workspace', 'tags', 'delay', 'timeout', 'priority']
/** What each call takes. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  start: [...OPTIONS, 'message', 'transaction', 'snapshot', 'debounce', 'version'],
  startMany: [...OPTIONS, 'message'],
  run: [...OPTIONS, 'message', 'stateless'],
}
const PRIORITY_DEFAULT = 5
const NO_TAGS: Readonly<Record<string, string>> = {}
const NO_OPTIONS: Given = {}

type Given = Readonly<Record<string, unknown>>

export interface StartCall {
  readonly call: string
  readonly workspace: string
  readonly target: Found
  readonly input: unknown
  readonly options: unknown
}

/** All but the input, which may take its time. */
function readStart(start: StartCall): Omit<StartRequest, 'input'> {
  const { target, workspace } = start
  const where = `engine.${start.call}("${target.name}")`
  const options = readOptions(start, where)
  if (target.made) {
    const before = `engine.${start.call}(…`
    refuseOptionsAsInput(target.made, start.input, { where, before, options: OPTIONS })
  }
  return {
    id: options.id === undefined ? null : newRunId(options.id),
    workspace: options.workspace === undefined ? workspace : workspaceOf(options.workspace),
    definition: target.name,
    version: target.made?.version ?? null,
    tags: readTags(options.tags, where),
    priority: readPriority(options.priority, where),
    delayMs: options.delay === undefined ? 0 : durationMs(options.delay as Duration),
    timeoutMs: readTimeout(options.timeout, target.made, where),
  }
}

function readOptions({ call, options }: StartCall, where: string): Given {
  if (options === undefined) return NO_OPTIONS
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, TAKEN[call] ?? OPTIONS)
  return options as Given
}

/** The first message of a start. Its payload passes the schema of its signal here. */
async function firstMessage(core: Core, start: StartCall, message: unknown): Promise<FirstMessage> {
  const where = `message of engine.${start.call}("${start.target.name}")`
  const { name: given, payload, id } = optionsObject(message, where, ['name', 'payload', 'id'])
  const name = signalNameOf(given)
  const stored = await storedPayload(core, start.target.made, name, payload)
  return { name, payload: stored, id: messageIdOf(id) }
}

export interface Prepared {
  readonly request: StartRequest
  readonly message: FirstMessage | null
  /** The run with this key is pushed back instead, if it has never run. */
  readonly debounceKey: string | null
}

export async function prepareStart(core: Core, start: StartCall): Promise<Prepared> {
  const rest = readStart(start)
  const input = snapshotOf(core, start) ?? storedInput(core, start.target, start.input)
  const request = { ...rest, input: typeof input === 'string' ? input : await input }
  const { message, debounce } = (start.options ?? NO_OPTIONS) as Given
  if (debounce !== undefined) return debounced(start, request)
  return {
    request,
    debounceKey: null,
    message: message === undefined ? null : await firstMessage(core, start, message),
  }
}

/** It begins when nobody has started it again under this key for so long. */
function debounced(start: StartCall, request: StartRequest): Prepared {
  const where = `engine.${start.call}("${start.target.name}")`
  const given = start.options as Given
  for (const option of ['delay', 'message', 'transaction']) {
    if (given[option] === undefined) continue
    throw optionInvalid(option, where, given[option], 'left out where there is "debounce"')
  }
  const { key, for: time } = optionsObject(given.debounce, `debounce of ${where}`, ['key', 'for'])
  if (!isStepName(key)) throw optionInvalid('debounce.key', where, key, 'a text of 1 to 256 bytes')
  const delayMs = durationMs(time as Duration)
  return { request: { ...request, delayMs }, message: null, debounceKey: key }
}

/** An event machine that has lived elsewhere goes on from there. */
function snapshotOf(core: Core, { target, input, options }: StartCall): Stored | null {
  const { snapshot } = (options ?? NO_OPTIONS) as Given
  if (snapshot === undefined) return null
  const where = `engine.start("${target.name}")`
  const { made } = target
  if (made?.kind !== 'machine' || !made.machine.takesEvents) {
    throw optionInvalid(
      'snapshot',
      where,
      snapshot,
      'given to an event machine that this engine has',
    )
  }
  if (input !== undefined)
    throw optionInvalid('snapshot', where, snapshot, 'given without an input')
  const checked = checkedSnapshot(made.machine, snapshot)
  return encode(checked, `the snapshot of "${target.name}"`, core.valueBytesMax)
}

/** The group commit takes plain starts; the others go alone. */
export function startPrepared(
  core: Core,
  { request, message, debounceKey }: Prepared,
  within: Client | null = null,
): Promise<{ readonly id: RunId }> {
  const { kernel } = core
  if (debounceKey !== null) return kernel.operations.debounce(request, debounceKey)
  return message === null && within === null
    ? kernel.start(request)
    : kernel.operations.start(request, message, within)
}

/** At once where no schema has a say. */
export function storedInput(
  core: Pick<Core, 'valueBytesMax'>,
  target: Found,
  input: unknown,
): Stored | Promise<Stored> {
  const stored = (value: unknown): Stored =>
    encode(value, `the input of "${target.name}"`, core.valueBytesMax)
  const schema = target.made?.input ?? null
  if (schema === null) return stored(input)
  const what = `The input of ${target.made?.kind ?? 'workflow'} "${target.name}"`
  return parse(schema, input, 'INPUT_INVALID', what).then(stored)
}

/** A workflow's own timeout is that of its runs; a task's is that of one attempt, and not our business here. */
function readTimeout(timeout: unknown, made: Made | null, where: string): number | null {
  if (timeout === undefined) return made === null || made.kind === 'task' ? null : made.timeoutMs
  const ms = durationMs(timeout as Duration)
  if (ms === 0) throw optionInvalid('timeout', where, timeout, 'longer than 0')
  return ms
}

export function readTags(tags: unknown, where: string): Readonly<Record<string, string>> {
  if (tags === undefined) return NO_TAGS
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
