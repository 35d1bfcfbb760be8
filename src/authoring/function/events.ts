// wf.emit and wf.waitForEvent: events of the workspace, for every run that waits for them.

import { encode } from '../../model/codec.js'
import { didYouMean, nameInvalid, optionInvalid, PerdureError } from '../../model/errors.js'
import { matchKeys } from '../../model/events.js'
import { isStepName } from '../../model/ids.js'
import type { EmittedEvent } from '../../model/program.js'
import type { EventSchemasGiven } from '../definition.js'
import { refuseNested } from '../nesting.js'
import { answered } from '../recorded.js'
import { parseNow } from '../schema.js'
import type { Context } from './context.js'
import { missing, payloadOf, readWait } from './wait.js'

/** What passes the schema of its event, as it is stored. */
export function emitted(name: string, parsed: unknown, valueBytesMax: number): EmittedEvent {
  const payload = encode(parsed, `the payload of event "${name}"`, valueBytesMax)
  return { name, keys: matchKeys(parsed), payload }
}

export function eventNameOf(name: unknown, schemas: EventSchemasGiven): string {
  if (!isStepName(name) || !isStepName(`event:${name}`)) throw nameInvalid('event', name)
  if (schemas === null || Object.hasOwn(schemas, name)) return name
  const near = didYouMean(name, Object.keys(schemas))
  throw new PerdureError('NAME_INVALID', `No event "${name}" is declared.`, {
    hint: near ? `did you mean "${near}"?` : 'declare it: createEngine({ events: { … } })',
  })
}

/** Goes out with the next commit of the run: a record, so that it goes out once. */
export function emit(context: Context, given: unknown, payload: unknown): void {
  const { turn, around } = context
  refuseNested(context, 'wf.emit')
  // What has been emitted was checked then.
  const schemas = turn.replaying ? null : around.events
  const name = eventNameOf(given, schemas)
  const schema = schemas?.[name]
  const what = `The payload of event "${name}"`
  const parsed = schema ? parseNow(schema, payload, 'PAYLOAD_INVALID', what) : payload
  const event = emitted(name, parsed, around.valueBytesMax)
  const effect = { value: event.payload, events: [event] }
  turn.record(`emit:${name}`, effect).catch(() => {})
}

export function waitForEvent(context: Context, given: unknown, options: unknown): Promise<unknown> {
  const { turn, around } = context
  const event = eventNameOf(given, turn.replaying ? null : around.events)
  const where = `wf.waitForEvent("${event}")`
  const { match, ...rest } = (options ?? {}) as { readonly match?: unknown }
  const wait = readWait(
    options === undefined || Object.keys(rest).length === 0 ? undefined : rest,
    where,
  )
  if (
    match !== undefined &&
    (typeof match !== 'object' || match === null || Array.isArray(match))
  ) {
    throw optionInvalid('match', where, match, 'an object of fields and values')
  }
  refuseNested(context, where)
  const heard = { event, match: match === undefined ? [] : matchKeys(match) }
  const answer = turn.receive(`event:${event}`, { names: [], until: wait.until, heard })
  return answered(answer, around, (message) =>
    message === null ? missing(wait, 'event', event) : payloadOf(message, wait.schema, 'event'),
  )
}
