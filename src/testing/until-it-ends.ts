// The scenario of a simulation that was given none: one run, and time passes until it has ended.

import type { RunHandle, RunInfo, StoredError } from '../index.js'
import type { PerdureError } from '../model/errors.js'
import { isFinal } from '../model/run.js'
import { needsScenario } from './errors.js'
import type { TestEngine } from './types.js'

/** How a run has ended. */
export interface Ended {
  readonly status: RunInfo['status']
  readonly output: unknown
  readonly error: Pick<StoredError, 'name' | 'message' | 'code'> | null
  readonly state: unknown
}

interface Starts {
  start(name: string, input: unknown, options: { readonly id: string }): Promise<RunHandle>
}

const ID = 'simulated'
const DAY_MS = 24 * 60 * 60 * 1000
/** From what is due in a moment to what is due in years. */
const SPANS_MS = [60_000, DAY_MS, 30 * DAY_MS, 365 * DAY_MS, 10 * 365 * DAY_MS]

export async function untilItEnds(
  engine: TestEngine,
  definition: string,
  input: unknown,
): Promise<Ended | PerdureError> {
  const run = await (engine as unknown as Starts).start(definition, input, { id: ID })
  await engine.settle()
  let info = await run.get()
  for (const spanMs of SPANS_MS) {
    if (isFinal(info.status) || waitsForPeople(info)) break
    await engine.advance(spanMs)
    info = await run.get()
  }
  if (isFinal(info.status)) return endOf(info)
  const { sentence } = await engine.explain(ID)
  return needsScenario(definition, sentence)
}

function waitsForPeople(info: RunInfo): boolean {
  return info.status === 'waiting' && info.until === null && info.available.length > 0
}

function endOf({ status, error, state, ...info }: RunInfo): Ended {
  const { name = '', message = '', code } = error ?? {}
  const told = error && { name, message, ...(code !== undefined && { code }) }
  return { status, output: info.output, error: told, state }
}
