// The interpreter: from place to place, one transition at a time, each in one commit.
//
// A round of its loop ends with a transition that succeeded, or that was refused and has changed nothing: what that left is
// where the next round begins, on a cold start too. What fails and moves to an error place stays in its round.

import { decode, encode } from '../../model/codec.js'
import type { Program, Turn } from '../../model/program.js'
import type { Surroundings } from '../definition.js'
import { checkedInput } from '../input.js'
import { failureOf } from '../recorded.js'
import { NO_FAMILY } from './family.js'
import type { At, MachineMade } from './scene.js'
import { beginning } from './snapshot.js'
import { Stay } from './stay.js'

export function machineProgram(made: MachineMade, around: Surroundings): Program {
  const { machine } = made
  return {
    name: made.name,
    version: made.version,
    style: 'machine',
    limits: made.limits,
    body: async (turn) => {
      try {
        const input = await checkedInput(made, turn, around)
        const scene = { made, machine, around, input }
        const what = `where machine "${made.name}" is`
        const initial = encode(atFirst(made, input), what, around.valueBytesMax)
        return await turn.loop('', initial, (inner: Turn, at) =>
          new Stay(scene, inner, decode(at) as At).round(),
        )
      } catch (error) {
        throw failureOf(error, `the error of machine "${made.name}"`)
      }
    },
  }
}

function atFirst({ machine }: MachineMade, input: unknown): At {
  return { ...beginning(machine, input), fields: {}, version: 0, family: NO_FAMILY }
}
