// What user code is given about its run and its step.

import { encode } from '../model/codec.js'
import { CHUNK_BYTES_MAX } from '../model/limits.js'
import type { Attempt } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import { parseNow } from './schema.js'
import type { Log, RunRef, Schema, Step } from './types.js'

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

/** The run that a step belongs to, as user code sees it. */
interface Around {
  readonly run: RunRef
  readonly streamSchema?: Schema | null
}

export function stepOf(attempt: Attempt, name: string, around: Around, log: Log): Step {
  return new StepOf(attempt, name, around, log)
}

/** Most steps look at nothing of this: what costs something is made when it is asked for. */
export class StepOf implements Step {
  readonly #around: Around
  readonly #attempt: Attempt
  readonly #name: string
  readonly #log: Log

  constructor(attempt: Attempt, name: string, around: Around, log: Log) {
    this.#attempt = attempt
    this.#name = name
    this.#around = around
    this.#log = log
  }

  get run(): RunRef {
    return this.#around.run
  }

  get key(): string {
    return this.#attempt.idempotencyKey
  }

  get attempt(): number {
    return this.#attempt.number
  }

  get retryCount(): number {
    return this.#attempt.number - 1
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  publish(value: unknown): void {
    const { streamSchema: schema } = this.#around
    const what = `What step "${this.#name}" publishes`
    const checked = schema ? parseNow(schema, value, 'PAYLOAD_INVALID', what) : value
    this.#attempt.publish(encode(checked, `what step "${this.#name}" publishes`, CHUNK_BYTES_MAX))
  }

  get log(): Log {
    const { id: runId, workflow } = this.run
    const about = { runId, workflow, step: this.#name, attempt: this.attempt }
    return runLog(this.#log, about, () => false)
  }
}
