// Errors of machines.

import { PerdureError } from '../../model/errors.js'

export const transitionTimedOut = (name: string, ms: number, runId: string): PerdureError =>
  new PerdureError('STEP_TIMED_OUT', `Transition '${name}' timed out after ${ms}ms`, {
    hint: 'give it more time with timeout, or 0 for none; pass ctx.signal to what it awaits',
    runId,
    step: name,
  })
