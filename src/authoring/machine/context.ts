// ctx: what the code of one attempt of a transition may do beside changing its state. All of it counts only if the
// transition commits.

import { encode } from '../../model/codec.js'
import { checkOptions, optionInvalid } from '../../model/errors.js'
import { RUN_ID } from '../../model/ids.js'
import { TRANSACTION_MAX_MS, TRANSACTION_MS } from '../../model/limits.js'
import type { Attempt, EmittedEvent, Transaction, Turn } from '../../model/program.js'
import { generatorOf } from '../../model/random.js'
import type { NewDocument } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { DocumentDraft } from '../document-draft.js'
import type { Documents } from '../documents.js'
import { emitted, eventNameOf } from '../function/events.js'
import { parseNow } from '../schema.js'
import { runRef, StepOf } from '../step.js'
import { namedTarget } from '../target.js'
import type { PgClient, Tx } from '../types.js'
import { childOfStateless } from './errors.js'
import type { Group, Starting, Together } from './family.js'
import type { Attempted, Scene } from './scene.js'
import type { TransitionContext } from './types.js'

export class ContextOf extends StepOf implements TransitionContext {
  readonly input: unknown
  readonly place: string
  readonly starts: Starting[] = []
  readonly groups: Group[] = []
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
    const [input, options] = args
    const where = `ctx.start of transition '${this.#name}'`
    const { callback, ...given } = readOptions(options, where, ['id', 'callback', 'timeout'])
    const start = this.#starting(where, [child, input, given])
    this.starts.push({ ...start, callback })
    return { id: start.id }
  }

  all(children: unknown, options: unknown): Promise<readonly { readonly id: string }[]> {
    return this.#together('all', children, options)
  }

  allSettled(children: unknown, options: unknown): Promise<readonly { readonly id: string }[]> {
    return this.#together('allSettled', children, options)
  }

  sequence(children: unknown, options: unknown): Promise<readonly { readonly id: string }[]> {
    return this.#together('sequence', children, options)
  }

  async #together(together: Together, children: unknown, options: unknown) {
    const where = `ctx.${together} of transition '${this.#name}'`
    const { callback } = readOptions(options, where, ['callback'])
    if (callback === null)
      throw optionInvalid('callback', where, callback, 'the name of a wait transition or event')
    if (!Array.isArray(children) || children.length === 0 || !children.every(Array.isArray)) {
      throw optionInvalid(
        'children',
        where,
        children,
        'a list of at least one [definition, input, { id, timeout }]',
      )
    }
    const key = `${this.key}/${this.groups.length}`
    const starts = children.map((child: readonly unknown[], place): Starting => {
      const given = readOptions(child[2], where, ['id', 'timeout'])
      const start = this.#starting(
        where,
        [child[0], child[1], given],
        `${this.groups.length}.${place}`,
      )
      return { ...start, callback: null, group: { key, place } }
    })
    const [first, ...rest] = starts
    const isSequence = together === 'sequence'
    this.starts.push(...(isSequence && first ? [first] : starts))
    const outcomes = starts.map(() => null)
    this.groups.push({ key, callback, together, outcomes, queue: isSequence ? rest : [] })
    return starts.map(({ id }) => ({ id }))
  }

  #starting(
    where: string,
    [child, input, given]: readonly [unknown, unknown, Pick<Options, 'id' | 'timeoutMs'>],
    place = String(this.starts.length),
  ): Omit<Starting, 'callback'> {
    this.#refuseLate()
    const { around } = this.#scene
    if (around.isStateless) throw childOfStateless(where)
    const target = namedTarget(around, child, where)
    const known = typeof target === 'string' ? null : target
    const id = given.id ?? generatorOf(`${this.key}/${place}`).uuid()
    return {
      definition: known?.name ?? (target as string),
      version: known?.version ?? null,
      input: encode(input, `the input of child "${id}"`, around.valueBytesMax),
      id,
      timeoutMs: given.timeoutMs ?? (known?.kind === 'task' ? null : (known?.timeoutMs ?? null)),
    }
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

interface Options {
  readonly id: string | null
  readonly callback: string | null
  readonly timeoutMs: number | null
}

function readOptions(options: unknown, where: string, known: readonly string[]): Options {
  if (options === undefined) return { id: null, callback: null, timeoutMs: null }
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, known)
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
