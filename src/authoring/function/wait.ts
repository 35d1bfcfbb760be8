// wf.waitFor: the oldest message of a name, or of several.

import { decode } from '../../model/codec.js'
import { checkOptions, nameInvalid, optionInvalid, PerdureError } from '../../model/errors.js'
import { isStepName } from '../../model/ids.js'
import type { Due } from '../../model/program.js'
import type { Message } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { refuseNested } from '../nesting.js'
import { answered } from '../recorded.js'
import { isSchema, parseNow } from '../schema.js'
import type { Schema } from '../types.js'
import { type Context, instantMs } from './context.js'

const OPTIONS = ['timeout', 'orNull', 'schema']

export interface Wait {
  readonly until: Due | null
  readonly orNull: boolean
  readonly schema: Schema | null
}

export function waitFor(context: Context, what: unknown, options: unknown): Promise<unknown> {
  const many = Array.isArray(what)
  const names = many ? what.map(signalName) : [signalName(what)]
  if (names.length === 0) throw optionInvalid('names', 'wf.waitFor', what, 'at least one name')
  const title = names.join(' | ')
  // The question's own name is a text of a step: many long names together may not fit.
  const name = isStepName(title) ? title : (names[0] ?? '')
  const where = `wf.waitFor("${title}")`
  const wait = readWait(options, where)
  refuseNested(context, where)
  const close = open(context, names, where)
  const answer = context.turn.receive(name, { names, until: wait.until })
  return answered(answer, context.around, (message) => {
    close()
    if (message === null) return missing(wait, 'signal', title)
    const payload = payloadOf(message, wait.schema, 'signal')
    return many ? { name: message.name, payload } : payload
  })
}

/**
 * The oldest wait gets the next signal of its name, also when nobody looks at it any more: the loser of a
 * Promise.race stays open. Gives back how to close it.
 */
function open({ log, waits }: Context, names: readonly string[], where: string) {
  const older = names.find((name) => waits.has(name))
  if (older !== undefined) {
    log.warn(
      `${where} is asked for while ${waits.get(older)} is still open: the older one takes the next signal "${older}"; use wf.race or waitFor([…])`,
    )
  }
  const mine = names.filter((name) => !waits.has(name))
  for (const name of mine) waits.set(name, where)
  return (): void => {
    for (const name of mine) waits.delete(name)
  }
}

function signalName(name: unknown): string {
  if (!isStepName(name)) throw nameInvalid('signal', name)
  return name
}

export function readWait(options: unknown, where: string): Wait {
  if (options === undefined) return { until: null, orNull: false, schema: null }
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, OPTIONS)
  const { timeout, orNull = false, schema } = options as Readonly<Record<string, unknown>>
  if (typeof orNull !== 'boolean') throw optionInvalid('orNull', where, orNull, 'true or false')
  if (orNull && timeout === undefined) {
    throw optionInvalid('orNull', where, orNull, 'given together with "timeout"')
  }
  if (schema !== undefined && !isSchema(schema)) {
    throw optionInvalid('schema', where, schema, 'a Standard Schema or typed<T>()')
  }
  return { until: readUntil(timeout, where), orNull, schema: schema ?? null }
}

function readUntil(timeout: unknown, where: string): Due | null {
  if (timeout === undefined) return null
  return typeof timeout === 'object'
    ? { at: instantMs(timeout, where) }
    : { afterMs: durationMs(timeout as Duration) }
}

export function missing(wait: Wait, what: 'signal' | 'event', title: string): null {
  if (wait.orNull) return null
  throw new PerdureError('WAIT_TIMED_OUT', `No ${what} "${title}" came in time.`, {
    hint: 'catch this, or give orNull: true to get null instead',
    step: title,
  })
}

/** A message that does not fit is used up; the sender has long gone, so the run hears of it. */
export function payloadOf(
  message: Message,
  schema: Schema | null,
  what: 'signal' | 'event',
): unknown {
  const payload = message.payload === null ? undefined : decode(message.payload)
  if (schema === null) return payload
  return parseNow(schema, payload, 'PAYLOAD_INVALID', `The payload of ${what} "${message.name}"`)
}
