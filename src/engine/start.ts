// start: from what the caller gave to what the kernel stores. The input passes its schema here, once.

import { type Made, refuseOptionsAsInput } from '../authoring/definition.js'
import { parse } from '../authoring/schema.js'
import type { StartRequest } from '../kernel/api.js'
import { encode } from '../model/codec.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import type { Stored } from '../model/run.js'
import { type Duration, durationMs } from '../model/time.js'
import { type Core, type Found, runIdOf, workspaceOf } from './core.js'

const OPTIONS = ['id', 'workspace', 'tags', 'delay', 'timeout', 'priority']
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
  checkOptions(given, where, start.call === 'run' ? [...OPTIONS, 'stateless'] : OPTIONS)
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

async function storedInput(core: Core, target: Found, input: unknown): Promise<Stored> {
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
