// Refuses wf.do and its siblings inside the function of a step: at the next replay that function is not called, and
// what it asked would be missing. Costs nothing unless a step of the same run is executing at that moment.

import { stepNested } from '../model/errors.js'
import { fatal } from '../model/marks.js'

export interface Executing {
  /** How many functions of steps of the run are executing. */
  executing: number
}

const NAME = 'the function of a step (perdure)'
const FRAMES_MAX = 100

/** Calls of `fn` can be told from a stack, also after an await and in minified code. */
export function calledByStep<F extends (...args: never[]) => unknown>(fn: F): F {
  return Object.defineProperty(fn, 'name', { value: NAME })
}

export function refuseNested(run: Executing, call: string): void {
  if (run.executing === 0 || !isInsideStep()) return
  throw fatal(stepNested(call))
}

/** AsyncLocalStorage would know it too, but slows down every promise of the process; a stack is looked at only here. */
function isInsideStep(): boolean {
  const { prepareStackTrace, stackTraceLimit } = Error
  const probe: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = FRAMES_MAX
    Error.prepareStackTrace = (_, sites) => sites.some((site) => site.getFunctionName() === NAME)
    Error.captureStackTrace(probe, refuseNested)
    return probe.stack === true
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace
  }
}
