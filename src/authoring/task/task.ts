// A task: a definition that is a single function. Its run is one step, called `run`.

import { decode } from '../../model/codec.js'
import type { Program, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import type { Duration } from '../../model/time.js'
import { branded, type Made, readDefinition, type Surroundings } from '../definition.js'
import { isChecked } from '../input.js'
import { RETRY_OPTIONS, readRetry, readTimeout } from '../options.js'
import { executed } from '../recorded.js'
import { parse } from '../schema.js'
import { runRef, stepOf } from '../step.js'
import type {
  Definition,
  FnTypes,
  InputNotDeclared,
  Limits,
  Nothing,
  Opt,
  Result,
  RetryOptions,
  Schema,
  Step,
  Trigger,
} from '../types.js'

const OPTIONS = [
  'version',
  'description',
  'input',
  'timeout',
  'triggers',
  'limits',
  ...RETRY_OPTIONS,
]

export type TaskOptions<R, I> = RetryOptions &
  Opt<{
    version: string
    description: string
    /** Per attempt; counts execution only. */
    timeout: Duration
    triggers: readonly Trigger[]
    input: Schema<R, I>
    limits: Limits
  }>

export type TaskMade = Extract<Made, { kind: 'task' }>

export function task<N extends string, O, I = InputNotDeclared>(
  name: N,
  fn: (input: I, step: Step) => Result<O>,
): Definition<N, FnTypes<I, I, O, Nothing>>
export function task<N extends string, O, I = InputNotDeclared, R = I>(
  name: N,
  options: TaskOptions<R, I>,
  fn: (input: I, step: Step) => Result<O>,
): Definition<N, FnTypes<I, R, O, Nothing>>
export function task(...args: readonly unknown[]): Definition {
  const { facts, options, fn } = readDefinition<TaskMade['fn']>('task', OPTIONS, args)
  const where = `task("${facts.name}")`
  return branded({
    ...facts,
    kind: 'task',
    timeoutMs: readTimeout(options.timeout, where),
    retry: readRetry(options, where) ?? NO_RETRY,
    fn,
  })
}

export function taskProgram(made: TaskMade, around: Surroundings): Program {
  return {
    name: made.name,
    version: made.version,
    style: 'task',
    limits: made.limits,
    body: (turn) => {
      const { order } = turn.run
      return turn.step('run', {
        label: 'inline',
        retry: order?.retry ?? made.retry,
        timeoutMs: order?.timeoutMs ?? made.timeoutMs,
        execute: (attempt) => {
          const run = runRef(turn.run, made.version)
          const step = stepOf(attempt, 'run', { run }, around.log)
          const call = async () => made.fn((await inputOf(made, turn)) as never, step)
          const { valueBytesMax } = around
          const { stopOn } = order?.retry ?? made.retry
          const of = { name: made.name, valueBytesMax, undone: false, stopOn, run: null }
          return executed(call, undefined, of)
        },
      })
    },
  }
}

/**
 * engine.start has checked what it stored. What a parent or an event hands over is checked here, in the step itself:
 * the parent may not have this code, and its replay must not check again.
 */
function inputOf(made: TaskMade, turn: Turn): unknown {
  const input = decode(turn.run.input)
  if (made.input === null || isChecked(turn.run)) return input
  return parse(made.input, input, 'INPUT_INVALID', `The input of task "${made.name}"`)
}
