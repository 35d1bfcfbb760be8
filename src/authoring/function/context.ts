// What the verbs of one turn share, and how they read names and moments.

import { nameInvalid, optionInvalid } from '../../model/errors.js'
import { isStepName } from '../../model/ids.js'
import type { Turn } from '../../model/program.js'
import type { Surroundings } from '../definition.js'
import type { Executing } from '../nesting.js'
import type { RunRef } from '../types.js'

export interface Context {
  readonly turn: Turn
  readonly run: RunRef
  readonly around: Surroundings
  readonly executing: Executing
  readonly waits: OpenWaits
}

/** Which names are waited for, and by which wait. */
export type OpenWaits = Map<string, string>

export function stepName(name: unknown): string {
  if (!isStepName(name)) throw nameInvalid('step', name)
  return name
}

export function instantMs(when: unknown, where: string): number {
  const ms =
    when instanceof Date
      ? when.getTime()
      : typeof when === 'object' && when !== null && 'epochMilliseconds' in when
        ? Number(when.epochMilliseconds)
        : Number.NaN
  // Beyond this there is no Date.
  if (Math.abs(ms) <= 8.64e15) return Math.trunc(ms)
  const value = when instanceof Date ? 'an invalid Date' : when
  throw optionInvalid('when', where, value, 'a valid Date, or a value with epochMilliseconds')
}
