// ctx: what the code of one attempt of a transition may do beside changing its state. All of it counts only if the
// transition commits.

import { encode } from '../../model/codec.js'
import { checkOptions, optionInvalid } from '../../model/errors.js'
import { RUN_ID } from '../../model/ids.js'
import { TRANSACTION_MAX_MS, TRANSACTION_MS } from '../../model/limits.js'
import type { Attempt, EmittedEvent, Transaction, Turn } from '../../model/program.js'
import { generatorOf } from '../../model/random.js'
import type { NewDocument, Stored } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { DocumentDraft } from '../document-draft.js'
import type { Documents } from '../documents.js'
import { emitted, eventNameOf } from '../function/events.js'
import { parseNow } from '../schema.js'
import { runRef, StepOf } from '../step.js'
import { namedTarget } from '../target.js'
import type { PgClient, Tx } from '../types.js'
import type { Attempted, Scene } from './fire.js'
import type { TransitionContext } from './types.js'

/** A child that is to be started when its transition has committed. */
export interface Starting {
  readonly definition: string
  readonly version: string | null
  readonly input: Stored
  readonly id: string
  readonly callback: string | null
  readonly timeoutMs: number | null
}

export class ContextOf extends StepOf implements TransitionContext {
  readonly input: unknown
  readonly place: string
  readonly starts: Starting[] = []
  readonly events: EmittedEvent[] = []
  output: { readonly value: unknown } | undefined
  readonly #scene: Scene
  readonly #attempt: Attempt
  readonly #name: string
  #documents: DocumentDraft | null = null
  #opened: Promise<Transaction> | null = null

  constructor(scene: Scene, turn: Turn, attempt: Attempt, of: Pick<Attempted, 'place' | 'name'>) {
    const { made, around, input } = scene
    super(attempt, of.name, { run: runRef(turn.run, made.version) }, around.log)
    this.input = input
    this.place = of.place
    this.#scene = scene
    this.#attempt = attempt
    this.#name = of.name
  }

  get documents(): Documents {
    this.#documents ??= new DocumentDraft(this.#attempt, this.#scene.around.valueBytesMax)
    return this.#documents
  }

  /** What it has saved. */
  get written(): readonly NewDocument[] {
    return this.#documents?.written ?? []
  }

  /** One for the whole transition, opened when it is first asked for, and closed with its answer. */
  transaction<O>(fn: (tx: Tx) => Promise<O>): Promise<O> {
    this.#refuseLate()
    const { around } = this.#scene
    const work = (sql: Transaction): Promise<O> => fn(around.tx(sql as PgClient) as Tx)
    if (this.#opened !== null) return this.#opened.then(work)
    return new Promise<O>((resolve, reject) => {
      this.#opened = new Promise((opened, failed) => {
        const first = (sql: Transaction): Promise<O> => {
          opened(sql)
          return work(sql)
        }
        const done = this.#attempt.transaction(transactionMs(this.#scene), first)
        done.then(resolve, reject)
        done.catch(failed)
      })
      this.#opened.catch(() => {})
    })
  }

  async start(child: unknown, ...args: readonly unknown[]): Promise<{ readonly id: string }> {
    this.#refuseLate()
    const [input, options] = args
    const where = `ctx.start of transition '${this.#name}'`
    const { around } = this.#scene
    const target = namedTarget(around, child, where)
    const known = typeof target === 'string' ? null : target
    const { id: given, callback, timeoutMs } = readOptions(options, where)
    const id = given ?? generatorOf(`${this.key}/${this.starts.length}`).uuid()
    this.starts.push({
      definition: known?.name ?? (target as string),
      version: known?.version ?? null,
      input: encode(input, `the input of child "${id}"`, around.valueBytesMax),
      id,
      callback,
      timeoutMs: timeoutMs ?? (known?.kind === 'task' ? null : (known?.timeoutMs ?? null)),
    })
    return { id }
  }

  emit(given: unknown, payload: unknown): void {
    this.#refuseLate()
    const { events: schemas, valueBytesMax } = this.#scene.around
    const name = eventNameOf(given, schemas)
    const schema = schemas?.[name]
    const what = `The payload of event "${name}"`
    const parsed = schema ? parseNow(schema, payload, 'PAYLOAD_INVALID', what) : payload
    this.events.push(emitted(name, parsed, valueBytesMax))
  }

  setOutput(value: unknown): void {
    this.#refuseLate()
    this.output = { value }
  }

  /** Its time is over, or the run is another's: nothing it writes now would count. */
  #refuseLate(): void {
    if (this.signal.aborted) throw this.signal.reason
  }
}

/** It is open as long as the transition runs on. */
function transactionMs({ around }: Scene): number {
  const { transitionTimeoutMs } = around
  return Math.max(
    TRANSACTION_MS,
    Math.min(transitionTimeoutMs ?? TRANSACTION_MAX_MS, TRANSACTION_MAX_MS),
  )
}

function readOptions(options: unknown, where: string) {
  if (options === undefined) return { id: null, callback: null, timeoutMs: null }
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, ['id', 'callback', 'timeout'])
  const { id, callback, timeout } = options as Readonly<Record<string, unknown>>
  if (id !== undefined && (typeof id !== 'string' || !RUN_ID.test(id))) {
    throw optionInvalid('id', where, id, '1 to 128 of letters, digits and _ . : @ + = -')
  }
  if (callback !== undefined && typeof callback !== 'string') {
    throw optionInvalid('callback', where, callback, 'the name of a wait transition or event')
  }
  const timeoutMs = timeout === undefined ? null : durationMs(timeout as Duration)
  return { id: (id as string | undefined) ?? null, callback: callback ?? null, timeoutMs }
}
