// The undo beside a step: given back what the step gave back, executed as a step is.

import { decode } from '../model/codec.js'
import type { Attempt, Effect } from '../model/program.js'
import type { RetryPolicy, Stored } from '../model/run.js'
import type { Surroundings } from './definition.js'
import type { Executing } from './nesting.js'
import { executed } from './recorded.js'
import { stepOf } from './step.js'
import type { RunRef, Step } from './types.js'

export type UndoCode = (output: unknown, step: Step) => unknown

interface Of {
  readonly name: string
  readonly retry: RetryPolicy
  readonly context: Executing & { readonly run: RunRef; readonly around: Surroundings }
}

export function undoBy(code: UndoCode, { name, retry, context }: Of) {
  return (value: Stored, attempt: Attempt): Promise<Effect> => {
    const { around } = context
    const undone = `undo:${name}`
    const step = stepOf(attempt, undone, context, around.log)
    // What it gives back is nobody's business.
    const call = async (): Promise<void> => void (await code(decode(value), step))
    const { valueBytesMax } = around
    const { stopOn } = retry
    return executed(call, undefined, {
      name: undone,
      valueBytesMax,
      undone: false,
      stopOn,
      run: context,
    })
  }
}
