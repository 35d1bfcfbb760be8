// A definition that belongs to a workspace is executed for runs of that one alone, however they came to be.

import { failureOf } from '../authoring/recorded.js'
import type { Program } from '../model/program.js'
import { definitionUnknown } from './errors.js'

/** `owner`: null, for all of them. */
export function confined(program: Program, owner: string | null): Program {
  const stored = { ...program, isStored: true }
  if (owner === null) return stored
  return {
    ...stored,
    body: async (turn) => {
      if (turn.run.workspace === owner) return program.body(turn)
      throw failureOf(definitionUnknown(program.name), `the error of "${program.name}"`)
    },
  }
}
