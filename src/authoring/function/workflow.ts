// A workflow as an async function, replayed from its journal.

import { encode } from '../../model/codec.js'
import type { Program } from '../../model/program.js'
import { branded, type Made, readDefinition, type Surroundings } from '../definition.js'
import { checkedInput } from '../input.js'
import { failureOf } from '../recorded.js'
import type {
  Definition,
  DefinitionOptions,
  Dict,
  FnTypes,
  InputNotDeclared,
  Opt,
  Result,
  Schema,
  Wf,
} from '../types.js'
import { makeWf } from './wf.js'

const OPTIONS = [
  'version',
  'description',
  'input',
  'signals',
  'state',
  'stream',
  'timeout',
  'triggers',
  'limits',
]

export type WorkflowOptions<R, I, S, St, X> = DefinitionOptions &
  Opt<{
    /** Checked once, where the run is started; code gets what it made of the input. */
    input: Schema<R, I>
    /** Checked once, where a signal is sent. */
    signals: S
    /** Of wf.setState, checked where it is called. */
    state: Schema<St, St> | Schema<unknown, St>
    /** Of step.publish, checked where it is called. */
    stream: Schema<X, X> | Schema<unknown, X>
  }>

export type WorkflowMade = Extract<Made, { kind: 'workflow' }>

export function workflow<N extends string, O, I = InputNotDeclared>(
  name: N,
  fn: (wf: Wf, input: I) => Result<O>,
): Definition<N, FnTypes<I, I, O, Dict<Schema<unknown>>>>
export function workflow<
  N extends string,
  O,
  I = InputNotDeclared,
  R = I,
  S extends Dict<Schema> = Dict<Schema<unknown>>,
  St = unknown,
  X = unknown,
>(
  name: N,
  options: WorkflowOptions<R, I, S, St, X>,
  fn: (wf: Wf<FnTypes<I, R, unknown, S, St, X>>, input: I) => Result<O>,
): Definition<N, FnTypes<I, R, O, S, St, X>>
export function workflow(...args: readonly unknown[]): Definition {
  const { facts, fn } = readDefinition<WorkflowMade['fn']>('workflow', OPTIONS, args)
  return branded({ ...facts, kind: 'workflow', fn })
}

export function workflowProgram(made: WorkflowMade, around: Surroundings): Program {
  return {
    name: made.name,
    version: made.version,
    style: 'function',
    limits: made.limits,
    body: async (turn) => {
      try {
        const input = await checkedInput(made, turn, around)
        const output = await made.fn(makeWf(turn, made, around), input as never)
        return encode(output, `the output of workflow "${made.name}"`, around.valueBytesMax)
      } catch (error) {
        throw failureOf(error, `the error of workflow "${made.name}"`)
      }
    },
  }
}
