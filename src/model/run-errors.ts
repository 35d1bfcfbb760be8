// Errors that the execution of a run meets: its steps, its scopes, its end.

import { type ErrorCode, PerdureError } from './error.js'
import type { FinalStatus } from './run.js'

export const leaseLost = (runId: string): PerdureError =>
  new PerdureError('LEASE_LOST', `This worker has lost run ${runId}; another goes on with it.`, {
    hint: 'nothing to do: what this code still does is not recorded; stop when the AbortSignal says so',
    runId,
  })

export const stepTimedOut = (step: string, ms: number, runId: string): PerdureError =>
  new PerdureError('STEP_TIMED_OUT', `Step "${step}" timed out after ${ms} ms.`, {
    hint: 'raise its timeout, or give it retries; pass step.signal on so that the work really stops',
    runId,
    step,
  })

export const scopeTimedOut = (scope: string, runId: string): PerdureError =>
  new PerdureError('STEP_TIMED_OUT', `Scope "${scope}" timed out.`, {
    hint: 'what it had done is undone; raise its timeout, or catch this and go on without it',
    runId,
    step: scope,
  })

/** For the AbortSignals of what a scope has left open. */
export const scopeEnded = (scope: string, runId: string): PerdureError =>
  new PerdureError('WORKFLOW_CANCELLED', `Scope "${scope}" of run ${runId} has ended.`, {
    hint: 'nothing of a scope is left running when it ends; await what must finish inside it',
    runId,
    step: scope,
  })

export const undoFailed = (runId: string, undo: string, why: string, after: string): PerdureError =>
  new PerdureError(
    'UNDO_FAILED',
    `"${undo}" of run ${runId} failed for good: ${why}. What was done before it is not undone.`,
    {
      hint: `mend what it needs, then engine.retry("${runId}") runs it again; or cancel the run with force`,
      runId,
      step: undo,
      details: after === '' ? {} : { after },
    },
  )

export const stepNested = (call: string): PerdureError =>
  new PerdureError('STEP_NESTED', `${call} was called inside the function of a step.`, {
    hint: 'call it in the workflow itself, before or after that step; wf.scope(name, fn) holds steps together',
  })

export const workflowCancelled = (runId: string, reason: string): PerdureError =>
  new PerdureError('WORKFLOW_CANCELLED', reason || `Run ${runId} was cancelled.`, {
    hint: 'a cancelled run stays cancelled; start a new one to do the work after all',
    runId,
    details: { reason },
  })

export const workflowTimedOut = (runId: string, ms: number): PerdureError =>
  new PerdureError('WORKFLOW_TIMED_OUT', `Run ${runId} did not end within ${ms} ms.`, {
    hint: 'raise the timeout of the workflow or of the start; waiting in the queue counts too',
    runId,
  })

export const workerCrashed = (runId: string, crashes: number): PerdureError =>
  new PerdureError(
    'WORKER_CRASHED',
    `Run ${runId} was being executed when its worker died, ${crashes} times in a row.`,
    {
      hint: 'look for a step that ends the process (memory, a native module, process.exit), then retry the run',
      runId,
    },
  )

export const runFinished = (runId: string, status: string): PerdureError =>
  new PerdureError('RUN_FINISHED', `Run ${runId} is ${status}: it takes no more messages.`, {
    hint: 'start a new run, or retry a failed one first',
    runId,
    details: { status },
  })

const ENDS: Record<Exclude<FinalStatus, 'completed'>, [ErrorCode, string, string]> = {
  failed: ['WORKFLOW_FAILED', 'failed', 'engine.retry(id) runs the failed step again'],
  cancelled: ['WORKFLOW_CANCELLED', 'was cancelled', 'start a new run if it was a mistake'],
  timed_out: ['WORKFLOW_TIMED_OUT', 'timed out', 'start it with a longer timeout'],
}

export function endedBadly(
  runId: string,
  status: Exclude<FinalStatus, 'completed'>,
  message: string,
  cause: Error | undefined,
): PerdureError {
  const [code, verb, hint] = ENDS[status]
  return new PerdureError(code, `Run ${runId} ${verb}: ${message}`, { hint, runId, cause })
}

export const streamFull = (step: string, most: number, bytesMax: number): PerdureError =>
  new PerdureError('STREAM_FULL', `Step "${step}" has published too much.`, {
    hint: `one execution may publish ${most} values and ${bytesMax / 1024 / 1024} MiB: publish several tokens at once, or keep large data elsewhere`,
  })
