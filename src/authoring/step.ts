// What user code is given about its run and its step.

import type { Attempt } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import type { Log, RunRef, Step } from './types.js'

export function runRef(run: RunFacts, version: string): RunRef {
  return Object.freeze({
    id: run.id,
    workflow: run.definition,
    version: run.version ?? version,
    workspace: run.workspace,
    parentId: run.parentId,
    createdAt: new Date(run.createdAt),
  })
}

/** A log that says of which run it speaks, and nothing while `silent()`. */
export function runLog(log: Log, about: object, silent: () => boolean): Log {
  const say =
    (level: keyof Log) =>
    (message: string, data?: object): void => {
      if (!silent()) log[level](message, { ...about, ...data })
    }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

export function stepOf(attempt: Attempt, name: string, run: RunRef, log: Log): Step {
  return {
    key: attempt.idempotencyKey,
    attempt: attempt.number,
    retryCount: attempt.number - 1,
    // Most steps never look at it, and making one costs more than a step.
    get signal() {
      return attempt.signal
    },
    run,
    get log() {
      return runLog(log, { runId: run.id, step: name, attempt: attempt.number }, () => false)
    },
  }
}
