// The input of a run that a parent, an event or a webhook has started.

import { decode } from '../model/codec.js'
import { EVENT_RUN, WEBHOOK_RUN } from '../model/ids.js'
import type { Turn } from '../model/program.js'
import { NO_RETRY } from '../model/retry.js'
import type { Facts, Surroundings } from './definition.js'
import { decoded, executed } from './recorded.js'
import { checksSomething, parse } from './schema.js'

/**
 * engine.start has checked what it stored. What a parent, an event or a webhook hands over is checked by a step of the run, so that
 * it is checked once, may be checked asynchronously, and also if the parent does not have this code.
 */
export function checkedInput(
  made: Facts & { readonly kind: string },
  turn: Turn,
  around: Surroundings,
): unknown {
  const { input: schema } = made
  const given = decode(turn.run.input)
  if (schema === null || isChecked(turn.run) || !checksSomething(schema)) return given
  const what = `The input of ${made.kind} "${made.name}"`
  const check = () => parse(schema, given, 'INPUT_INVALID', what)
  const { valueBytesMax } = around
  const of = { name: '(input)', valueBytesMax, undone: false, stopOn: [], run: null }
  return decoded(
    turn.step('(input)', {
      label: 'inline',
      retry: NO_RETRY,
      timeoutMs: null,
      execute: () => executed(check, undefined, of),
    }),
    around,
  )
}

/** Only events and webhooks start runs under such an id. */
export function isChecked({ parentUid, id }: Turn['run']): boolean {
  return parentUid === null && !id.startsWith(EVENT_RUN) && !id.startsWith(WEBHOOK_RUN)
}
