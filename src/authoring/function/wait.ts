// wf.waitFor: the oldest message of a name, or of several.

import { decode } from '../../model/codec.js'
import { checkOptions, nameInvalid, optionInvalid, PerdureError } from '../../model/errors.js'
import { isStepName } from '../../model/ids.js'
import type { Due } from '../../model/program.js'
import type { Message } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { answered } from '../recorded.js'
import { isSchema, parseNow } from '../schema.js'
import type { Schema } from '../types.js'
import { type Context, instantMs } from './context.js'

const OPTIONS = ['timeout', 'orNull', 'schema']

interface Wait {
  readonly until: Due | null
  readonly orNull: boolean
  readonly schema: Schema | null
}

export function waitFor({ turn }: Context, what: unknown, options: unknown): Promise<unknown> {
  const many = Array.isArray(what)
  const names = many ? what.map(signalName) : [signalName(what)]
  if (names.length === 0) throw optionInvalid('names', 'wf.waitFor', what, 'at least one name')
  const title = names.join(' | ')
  // The question's own name is a text of a step: many long names together may not fit.
  const name = isStepName(title) ? title : (names[0] ?? '')
  const wait = readWait(options, `wf.waitFor("${title}")`)
  return answered(turn.receive(name, { names, until: wait.until }), (message) => {
    if (message === null) return missing(wait, title)
    const payload = payloadOf(message, wait.schema)
    return many ? { name: message.name, payload } : payload
  })
}

function signalName(name: unknown): string {
  if (!isStepName(name)) throw nameInvalid('signal', name)
  return name
}

function readWait(options: unknown, where: string): Wait {
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

function missing(wait: Wait, title: string): null {
  if (wait.orNull) return null
  throw new PerdureError('WAIT_TIMED_OUT', `No signal "${title}" came in time.`, {
    hint: 'catch this, or give orNull: true to get null instead',
    step: title,
  })
}

/** A message that does not fit is used up; the sender has long gone, so the run hears of it. */
function payloadOf(message: Message, schema: Schema | null): unknown {
  const payload = message.payload === null ? undefined : decode(message.payload)
  if (schema === null) return payload
  return parseNow(schema, payload, 'PAYLOAD_INVALID', `The payload of signal "${message.name}"`)
}
