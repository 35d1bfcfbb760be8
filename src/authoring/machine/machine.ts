// machine(): as an object of transitions, or as states and events.

import { nameInvalid, optionInvalid } from '../../model/errors.js'
import { DEFINITION_NAME } from '../../model/ids.js'
import { branded } from '../definition.js'
import type { Definition, Dict, Loose, Schema } from '../types.js'
import { eventsMachine } from './events.js'
import { transitionsMachine } from './object.js'
import type { EventsDefinition, MachineConfig, TransitionsDefinition } from './types.js'

/**
 * States and events: `events` declares what can be sent, and an input is laid over `context`. Or `transitions`: what
 * @Workflow makes of a class, as an object.
 */
export function machine<
  N extends string,
  C extends object,
  S extends string,
  E extends Dict<Schema> = Dict<Schema<Loose>>,
  O = { state: S; context: C },
  I = unknown,
  R = I,
  St = unknown,
  O2 = unknown,
  P = never,
  G = never,
>(
  name: N,
  config: MachineConfig<C, S, E, O, I, R, St, O2, P, G>,
): [P] extends [never]
  ? EventsDefinition<N, C, S, E, O>
  : TransitionsDefinition<N, I, R, St, O2, P, G>
export function machine(name: unknown, config: unknown): Definition {
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw nameInvalid('machine', name)
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    const expected = 'an object with transitions, or with states'
    throw optionInvalid('config', `machine("${name}")`, config, expected)
  }
  const given = config as Readonly<Record<string, unknown>>
  return branded(
    'transitions' in given ? transitionsMachine(name, given) : eventsMachine(name, given),
  )
}
