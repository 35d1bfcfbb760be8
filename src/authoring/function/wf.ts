// The `wf` of one turn: every verb checks what it is given, asks one question, and decodes the answer.
// What is wrong with a call is thrown at the call, so that a forgotten await cannot hide it.

import { encode } from '../../model/codec.js'
import { optionInvalid, shown } from '../../model/errors.js'
import { TRANSACTION_MAX_MS, TRANSACTION_MS } from '../../model/limits.js'
import type { Attempt, Due, Transaction, Turn } from '../../model/program.js'
import { generatorOf } from '../../model/random.js'
import { NO_RETRY } from '../../model/retry.js'
import { type Duration, durationMs } from '../../model/time.js'
import type { Surroundings } from '../definition.js'
import type { Documents } from '../documents.js'
import { calledByStep, refuseNested } from '../nesting.js'
import { readStepOptions } from '../options.js'
import { answered, decoded, effectOf, thrown } from '../recorded.js'
import { parseNow } from '../schema.js'
import { stepOf } from '../step.js'
import type { Instant, Log, PgClient, RunRef, Step, Wf } from '../types.js'
import { undoBy } from '../undo.js'
import { type Context, type ContextOfRun, contextOf, instantMs, stepName } from './context.js'
import { doStep } from './do.js'
import { documentsOf } from './documents.js'
import { emit, waitForEvent } from './events.js'
import { handle, start } from './remote.js'
import { DoneWith, loop, race, scope } from './scopes.js'
import { waitFor } from './wait.js'

const NO_REASON = 'cancelled by the workflow itself'

export function makeWf(turn: Turn, made: ContextOfRun, around: Surroundings): Wf {
  return new Verbs(contextOf(turn, made, around)) as unknown as Wf
}

/** Methods, not functions of its own: one is made for every run and for every replay. */
class Verbs {
  readonly #context: Context
  #generator: ReturnType<typeof generatorOf> | null = null

  constructor(context: Context) {
    this.#context = context
  }

  get run(): RunRef {
    return this.#context.run
  }

  get log(): Log {
    return this.#context.log
  }

  get documents(): Documents {
    return documentsOf(this.#context)
  }

  get signal(): AbortSignal {
    return this.#context.turn.stopping
  }

  do(name: unknown, what: unknown, ...rest: readonly unknown[]): Promise<unknown> {
    return doStep(this.#context, name, what, rest)
  }

  transaction(name: unknown, fn: unknown, options?: unknown): Promise<unknown> {
    return transaction(this.#context, name, fn, options)
  }

  sleep(name: unknown, duration: Duration): Promise<void> {
    const where = `wf.sleep("${stepName(name)}")`
    return sleep(this.#context, where, name, { afterMs: durationMs(duration) })
  }

  sleepUntil(name: unknown, when: Instant): Promise<void> {
    const where = `wf.sleepUntil("${stepName(name)}")`
    return sleep(this.#context, where, name, { at: instantMs(when, where) })
  }

  waitFor(what: unknown, options?: unknown): Promise<unknown> {
    return waitFor(this.#context, what, options)
  }

  waitForEvent(event: unknown, options?: unknown): Promise<unknown> {
    return waitForEvent(this.#context, event, options)
  }

  emit(event: unknown, payload?: unknown): void {
    emit(this.#context, event, payload)
  }

  start(name: unknown, target: unknown, ...rest: readonly unknown[]): Promise<unknown> {
    return start(this.#context, name, target, rest)
  }

  handle(target: unknown, id: unknown): unknown {
    return handle(this.#context, target, id)
  }

  scope(name: unknown, fn: unknown, options?: unknown): Promise<unknown> {
    return scope(this.#context, [name, fn, options], inner)
  }

  race(name: unknown, branches: unknown): Promise<unknown> {
    return race(this.#context, [name, branches], inner)
  }

  loop(name: unknown, initial: unknown, round: unknown): Promise<unknown> {
    return loop(this.#context, [name, initial, round], innerOfRound)
  }

  setState(state: unknown): void {
    setState(this.#context, state)
  }

  cancel(reason: unknown = NO_REASON): Promise<never> {
    return this.#context.turn.stop(reasonText(reason))
  }

  patched(id: unknown): boolean {
    return this.#context.turn.mark(stepName(id))
  }

  now(): Date {
    return new Date(this.#context.turn.now())
  }

  random(): number {
    return this.#random().fraction()
  }

  uuid(): string {
    return this.#random().uuid()
  }

  /** Most runs never ask for it. */
  #random(): ReturnType<typeof generatorOf> {
    const { run, path } = this.#context.turn
    // A round draws the same whether or not the rounds before it are repeated.
    this.#generator ??= generatorOf((run.seed ?? run.uid) + path)
    return this.#generator
  }
}

class RoundVerbs extends Verbs {
  done(result: unknown): DoneWith {
    return new DoneWith(result)
  }
}

const inner = (context: Context): Verbs => new Verbs(context)
const innerOfRound = (context: Context): Verbs => new RoundVerbs(context)

function sleep(context: Context, where: string, name: unknown, due: Due): Promise<void> {
  const { turn, around } = context
  refuseNested(context, where)
  return answered(turn.sleep(stepName(name), due), around)
}

function setState(context: Context, state: unknown): void {
  const { turn, around, stateSchema } = context
  refuseNested(context, 'wf.setState')
  const what = `The state of run ${turn.run.id}`
  const checked =
    stateSchema === null ? state : parseNow(stateSchema, state, 'PAYLOAD_INVALID', what)
  turn.show({ state: encode(checked, 'the state of the run', around.valueBytesMax) })
}

function reasonText(reason: unknown): string {
  return typeof reason === 'string' && reason !== '' ? reason : shown(reason)
}

function transaction(
  context: Context,
  name: unknown,
  fn: unknown,
  options: unknown,
): Promise<unknown> {
  const { turn, around } = context
  const step = stepName(name)
  const where = `wf.transaction("${step}")`
  refuseNested(context, where)
  if (typeof fn !== 'function') throw optionInvalid('fn', where, fn, 'a function: (tx) => …')
  const { retry, timeoutMs, undo } = readStepOptions(options, where)
  const limitMs = timeoutMs ?? TRANSACTION_MS
  if (limitMs > TRANSACTION_MAX_MS) {
    throw optionInvalid('timeout', where, `${limitMs} ms`, `at most ${TRANSACTION_MAX_MS} ms`)
  }
  const code = fn as (tx: unknown, step: Step) => unknown
  const { valueBytesMax, tx } = around
  const policy = retry ?? NO_RETRY
  const work = (attempt: Attempt) =>
    calledByStep(async (sql: Transaction) => {
      context.executing += 1
      try {
        const result = await code(tx(plain(sql)), stepOf(attempt, step, context, around.log))
        return effectOf(result, { name: step, valueBytesMax, undone: true })
      } finally {
        context.executing -= 1
      }
    })
  return decoded(
    turn.step(step, {
      label: 'transaction',
      retry: policy,
      timeoutMs: limitMs,
      // The kernel sees what the code throws as it is: it knows a conflict of the database by its code.
      execute: (attempt) =>
        attempt.transaction(limitMs, work(attempt)).catch((error: unknown) => {
          throw thrown(error, { name: step, stopOn: policy.stopOn })
        }),
      ...(undo && { undo: undoBy(undo, { name: step, retry: policy, context }) }),
    }),
    around,
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
