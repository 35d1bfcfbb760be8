// The `wf` of one turn: every verb checks what it is given, asks one question, and decodes the answer.
// What is wrong with a call is thrown at the call, so that a forgotten await cannot hide it.

import { optionInvalid, shown } from '../../model/errors.js'
import { TRANSACTION_MAX_MS, TRANSACTION_MS } from '../../model/limits.js'
import type { Transaction, Turn } from '../../model/program.js'
import { generatorOf } from '../../model/random.js'
import { NO_RETRY } from '../../model/retry.js'
import type { RunFacts } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import type { Surroundings } from '../definition.js'
import { readStepOptions } from '../options.js'
import { answered, decoded, effectOf } from '../recorded.js'
import { runLog, runRef, stepOf } from '../step.js'
import type { Instant, PgClient, Step, Wf } from '../types.js'
import { type Context, instantMs, stepName } from './context.js'
import { doStep } from './do.js'
import { waitFor } from './wait.js'

const NO_REASON = 'cancelled by the workflow itself'

export function makeWf(turn: Turn, version: string, around: Surroundings): Wf {
  const context: Context = { turn, run: runRef(turn.run, version), around }
  const generator = lazily(turn.run)
  const verbs = {
    run: context.run,
    log: runLog(around.log, { runId: turn.run.id }, () => turn.replaying),
    get signal() {
      return turn.stopping
    },
    do: (name: unknown, what: unknown, ...rest: readonly unknown[]) =>
      doStep(context, name, what, rest),
    transaction: (name: unknown, fn: unknown, options?: unknown) =>
      transaction(context, name, fn, options),
    sleep: (name: unknown, duration: Duration) =>
      answered(turn.sleep(stepName(name), { afterMs: durationMs(duration) })),
    sleepUntil: (name: unknown, when: Instant) =>
      answered(turn.sleep(stepName(name), { at: instantMs(when, `sleepUntil("${name}")`) })),
    waitFor: (what: unknown, options?: unknown) => waitFor(context, what, options),
    cancel: (reason: unknown = NO_REASON) => turn.stop(reasonText(reason)),
    patched: (id: unknown) => turn.mark(stepName(id)),
    now: () => new Date(turn.now()),
    random: () => generator().fraction(),
    uuid: () => generator().uuid(),
  }
  return verbs as unknown as Wf
}

/** Most runs never ask for random. */
function lazily(run: RunFacts): () => ReturnType<typeof generatorOf> {
  let made: ReturnType<typeof generatorOf> | undefined
  return () => {
    made ??= generatorOf(run.seed ?? run.uid)
    return made
  }
}

function reasonText(reason: unknown): string {
  return typeof reason === 'string' && reason !== '' ? reason : shown(reason)
}

function transaction(
  { turn, run, around }: Context,
  name: unknown,
  fn: unknown,
  options: unknown,
): Promise<unknown> {
  const step = stepName(name)
  const where = `wf.transaction("${step}")`
  if (typeof fn !== 'function') throw optionInvalid('fn', where, fn, 'a function: (tx) => …')
  const { retry, timeoutMs } = readStepOptions(options, where)
  const limitMs = timeoutMs ?? TRANSACTION_MS
  if (limitMs > TRANSACTION_MAX_MS) {
    throw optionInvalid('timeout', where, `${limitMs} ms`, `at most ${TRANSACTION_MAX_MS} ms`)
  }
  const code = fn as (tx: PgClient, step: Step) => unknown
  const { valueBytesMax } = around
  return decoded(
    turn.step(step, {
      label: 'transaction',
      retry: retry ?? NO_RETRY,
      timeoutMs: limitMs,
      // What the code throws goes out as it is: the kernel knows a conflict of the database by its code.
      execute: (attempt) =>
        attempt.transaction(limitMs, async (sql) => {
          const result = await code(plain(sql), stepOf(attempt, step, run, around.log))
          return effectOf(result, { name: step, valueBytesMax, undone: true })
        }),
    }),
  )
}

/** Drivers give back objects with functions inside; a step's result must be storable as it is. */
function plain(sql: Transaction): PgClient {
  const query = async (text: string, params?: readonly unknown[]) => {
    const { rows, rowCount } = await sql.query(text, params)
    return { rows, rowCount }
  }
  return { query } as PgClient
}
