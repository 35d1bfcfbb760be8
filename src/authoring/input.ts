// The input of a run that a parent has started.

import { decode } from '../model/codec.js'
import type { Turn } from '../model/program.js'
import { NO_RETRY } from '../model/retry.js'
import type { Facts, Surroundings } from './definition.js'
import { decoded, executed } from './recorded.js'
import { checksSomething, parse } from './schema.js'

/**
 * engine.start has checked what it stored. What a parent hands over is checked by a step of the child, so that
 * it is checked once, may be checked asynchronously, and also if the parent does not have this code.
 */
export function checkedInput(
  made: Facts & { readonly kind: string },
  turn: Turn,
  around: Surroundings,
): unknown {
  const { input: schema } = made
  const given = decode(turn.run.input)
  if (schema === null || turn.run.parentUid === null || !checksSomething(schema)) return given
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
