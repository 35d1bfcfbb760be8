// wf.do: the second argument decides. A function runs here and now; a definition or a name is a run of its own.

import { encode } from '../../model/codec.js'
import { optionInvalid } from '../../model/errors.js'
import type { Attempt, Effect, StepOrder } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import type { RetryPolicy } from '../../model/run.js'
import { isClass, type Made, madeOf, orderOf, refuseOptionsAsInput } from '../definition.js'
import { refuseNested } from '../nesting.js'
import { readStepOptions, STEP_OPTIONS, type StepSettings } from '../options.js'
import { decoded, executed } from '../recorded.js'
import { stepOf } from '../step.js'
import { namedTarget } from '../target.js'
import type { Step } from '../types.js'
import { undoBy } from '../undo.js'
import { type Context, stepName } from './context.js'

export function doStep(
  context: Context,
  name: unknown,
  what: unknown,
  rest: readonly unknown[],
): Promise<unknown> {
  const step = stepName(name)
  const where = `wf.do("${step}")`
  refuseNested(context, where)
  // The brand first: a definition may be a function or a class too.
  const made = madeOf(what)
  if (made === null && typeof what === 'function' && !isClass(what)) {
    refuseMore(rest, 1, where)
    return inline(context, step, what as (step: Step) => unknown, readStepOptions(rest[0], where))
  }
  const target = named(context, what, where)
  refuseMore(rest, 2, where)
  const [input, options] = rest
  if (typeof target !== 'string') {
    const before = `wf.do("${step}", …`
    refuseOptionsAsInput(target, input, { where, before, options: STEP_OPTIONS })
  }
  return child(context, step, target, input, readStepOptions(options, where))
}

function inline(
  context: Context,
  name: string,
  fn: (step: Step) => unknown,
  settings: StepSettings,
): Promise<unknown> {
  const { turn, around } = context
  return decoded(turn.step(name, new InlineStep(context, name, fn, settings)), around)
}

/** One is made for every step of every run: an object with a method costs less than one with a function of its own. */
class InlineStep implements StepOrder {
  readonly label = 'inline'
  readonly retry: RetryPolicy
  readonly timeoutMs: number | null
  private readonly context: Context
  private readonly name: string
  private readonly fn: (step: Step) => unknown
  readonly undo?: NonNullable<StepOrder['undo']>

  constructor(
    context: Context,
    name: string,
    fn: (step: Step) => unknown,
    { retry, timeoutMs, undo }: StepSettings,
  ) {
    this.context = context
    this.name = name
    this.fn = fn
    this.retry = retry ?? NO_RETRY
    this.timeoutMs = timeoutMs
    if (undo) this.undo = undoBy(undo, { name, retry: this.retry, context })
  }

  execute(attempt: Attempt): Promise<Effect> {
    const { name, context } = this
    const { around } = context
    const { valueBytesMax } = around
    const { stopOn } = this.retry
    const step = stepOf(attempt, name, context, around.log)
    return executed(this.fn, step, { name, valueBytesMax, undone: false, stopOn, run: context })
  }
}

function child(
  context: Context,
  name: string,
  target: Made | string,
  input: unknown,
  { retry, timeoutMs, undo }: StepSettings,
): Promise<unknown> {
  const { turn, around } = context
  const known = typeof target === 'string' ? null : target
  const isWorkflow = known !== null && known.kind !== 'task'
  return decoded(
    turn.child(name, {
      definition: known?.name ?? (target as string),
      version: known?.version ?? null,
      input: encode(input, `the input of step "${name}"`, around.valueBytesMax),
      isTask: !isWorkflow,
      // A task carries out the order itself, in its one step; a workflow is started anew.
      order: isWorkflow ? null : orderOf(retry, timeoutMs),
      retry: isWorkflow ? (retry ?? NO_RETRY) : NO_RETRY,
      // Of a workflow it limits the whole child run; a task has it in its order, per attempt.
      timeoutMs: isWorkflow ? (timeoutMs ?? known.timeoutMs) : null,
      ...(undo && { undo: undoBy(undo, { name, retry: retry ?? NO_RETRY, context }) }),
    }),
    around,
  )
}

export function named({ around }: Context, what: unknown, where: string): Made | string {
  return namedTarget(around, what, where)
}

export function refuseMore(rest: readonly unknown[], most: number, where: string): void {
  if (rest.length <= most) return
  throw optionInvalid('arguments', where, rest[most], 'left out')
}
