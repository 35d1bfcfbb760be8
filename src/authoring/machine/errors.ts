// Errors of machines.

import { PerdureError } from '../../model/errors.js'

export const transitionTimedOut = (name: string, ms: number, runId: string): PerdureError =>
  new PerdureError('STEP_TIMED_OUT', `Transition '${name}' timed out after ${ms}ms`, {
    hint: 'give it more time with timeout, or 0 for none; pass ctx.signal to what it awaits',
    runId,
    step: name,
  })

export const childOfStateless = (where: string): PerdureError =>
  new PerdureError('NOT_AVAILABLE', `${where}: a stateless run cannot start a child.`, {
    hint: 'run it without { stateless: true }, or call the code of the child directly',
    details: { available: [] },
  })

export const snapshotInvalid = (what: string, hint: string): PerdureError =>
  new PerdureError('SNAPSHOT_INVALID', `The snapshot cannot be taken up: ${what}.`, { hint })
