// wf.do: the second argument decides. A function runs here and now; a definition or a name is a run of its own.

import { encode } from '../../model/codec.js'
import { optionInvalid, PerdureError, shown } from '../../model/errors.js'
import { DEFINITION_NAME } from '../../model/ids.js'
import { NO_RETRY } from '../../model/retry.js'
import {
  isClass,
  type Made,
  madeOf,
  orderOf,
  refName,
  refuseOptionsAsInput,
} from '../definition.js'
import { refuseNested } from '../nesting.js'
import { readStepOptions, STEP_OPTIONS, type StepSettings } from '../options.js'
import { decoded, executed } from '../recorded.js'
import { stepOf } from '../step.js'
import type { Step } from '../types.js'
import { type Context, stepName } from './context.js'

export function doStep(
  context: Context,
  name: unknown,
  what: unknown,
  rest: readonly unknown[],
): Promise<unknown> {
  const step = stepName(name)
  const where = `wf.do("${step}")`
  refuseNested(context.executing, where)
  // The brand first: a definition may be a function or a class too.
  const made = madeOf(what)
  if (made === null && typeof what === 'function' && !isClass(what)) {
    refuseMore(rest, 1, where)
    return inline(context, step, what as (step: Step) => unknown, readStepOptions(rest[0], where))
  }
  const target = made ?? named(context, what, where)
  refuseMore(rest, 2, where)
  const [input, options] = rest
  if (typeof target !== 'string') {
    const before = `wf.do("${step}", …`
    refuseOptionsAsInput(target, input, { where, before, options: STEP_OPTIONS })
  }
  return child(context, step, target, input, readStepOptions(options, where))
}

function inline(
  { turn, run, around, executing }: Context,
  name: string,
  fn: (step: Step) => unknown,
  { retry, timeoutMs }: StepSettings,
): Promise<unknown> {
  const { valueBytesMax } = around
  const { stopOn } = retry ?? NO_RETRY
  const step = { name, valueBytesMax, undone: false, stopOn, executing }
  return decoded(
    turn.step(name, {
      label: 'inline',
      retry: retry ?? NO_RETRY,
      timeoutMs,
      execute: (attempt) => executed(() => fn(stepOf(attempt, name, run, around.log)), step),
    }),
    around,
  )
}

function child(
  { turn, around }: Context,
  name: string,
  target: Made | string,
  input: unknown,
  { retry, timeoutMs }: StepSettings,
): Promise<unknown> {
  const known = typeof target === 'string' ? null : target
  const isWorkflow = known?.kind === 'workflow'
  return decoded(
    turn.child(name, {
      definition: known?.name ?? (target as string),
      version: known?.version ?? null,
      input: encode(input, `the input of step "${name}"`, around.valueBytesMax),
      // A task carries out the order itself, in its one step; a workflow is started anew.
      order: isWorkflow ? null : orderOf(retry, timeoutMs),
      retry: isWorkflow ? (retry ?? NO_RETRY) : NO_RETRY,
      // Of a workflow it limits the whole child run; a task has it in its order, per attempt.
      timeoutMs: isWorkflow ? (timeoutMs ?? known.timeoutMs) : null,
    }),
    around,
  )
}

/** A name that this engine does not have is allowed: another worker may, now or after the next deploy. */
function named({ around }: Context, what: unknown, where: string): Made | string {
  const name = refName(what) ?? what
  if (typeof name === 'string' && DEFINITION_NAME.test(name)) return around.find(name) ?? name
  throw new PerdureError('DEFINITION_UNKNOWN', `${where} cannot run ${shown(what)}.`, {
    hint: isClass(what)
      ? 'a class is not a step: give a function, a task, a workflow, or the name of one'
      : 'give a function, a task, a workflow, or the name of one',
  })
}

function refuseMore(rest: readonly unknown[], most: number, where: string): void {
  if (rest.length <= most) return
  throw optionInvalid('arguments', where, rest[most], 'left out')
}
