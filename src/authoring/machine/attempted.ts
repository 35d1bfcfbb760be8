// What one attempt of a transition works on.

import { decode, encode } from '../../model/codec.js'
import type { Attempt, Turn } from '../../model/program.js'
import { ContextOf } from './context.js'
import type { Call } from './description.js'
import { Fields } from './fields.js'
import type { At, Attempted, Scene } from './scene.js'

/** Copies of everything: what an attempt does to them counts only if it succeeds. */
export async function attempted(scene: Scene, turn: Turn, attempt: Attempt, of: Attempted) {
  const { machine } = scene
  const self = await machine.self(scene.around.construct)
  const fields = new Fields(self)
  fields.assign(attempt.kept === null ? of.fields : (decode(attempt.kept) as At['fields']))
  const context = new ContextOf(scene, turn, attempt, of)
  const state = decode(encode(of.state, 'the state'))
  const payload = of.payload ? decode(of.payload) : undefined
  const call: Call = { self, state, payload, context, past: () => attempt.past() }
  return { call, fields, context }
}
