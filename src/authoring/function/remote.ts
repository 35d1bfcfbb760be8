// wf.start and wf.handle: other runs. What is done to them is a step of this run, under an id of its own: done once.

import { decode, encode } from '../../model/codec.js'
import { checkOptions, endedBadly, optionInvalid, PerdureError } from '../../model/errors.js'
import { isTriggersId, RUN_ID, type RunId, type Uid } from '../../model/ids.js'
import type { Attempt, ChildOrder, Due, RunAddress } from '../../model/program.js'
import { generatorOf } from '../../model/random.js'
import { NO_RETRY } from '../../model/retry.js'
import type { Message } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import type { Made } from '../definition.js'
import { refuseNested } from '../nesting.js'
import { answered, decoded, executed, failedAs, recordedIn } from '../recorded.js'
import { parse } from '../schema.js'
import { type Context, stepName } from './context.js'
import { named, refuseMore } from './do.js'

const NO_REASON = 'cancelled by another run'

interface StartSettings {
  readonly id: RunId | null
  readonly isDetached: boolean
  readonly timeoutMs: number | null
}

export async function start(
  context: Context,
  name: unknown,
  what: unknown,
  rest: readonly unknown[],
): Promise<unknown> {
  const step = stepName(name)
  const where = `wf.start("${step}")`
  refuseNested(context, where)
  const target = named(context, what, where)
  refuseMore(rest, 2, where)
  const [input, options] = rest
  const settings = readStart(options, where)
  const starting = { step, target, input, settings }
  return settings.id === null && !settings.isDetached
    ? startChild(context, starting)
    : startNamed(context, starting)
}

interface Starting {
  readonly step: string
  readonly target: Made | string
  readonly input: unknown
  readonly settings: StartSettings
}

/** A child like that of wf.do, only that nobody waits for it: one commit starts it and knows its id. */
async function startChild(context: Context, starting: Starting) {
  const { turn, around } = context
  let uid: Uid | null = null
  const ended = turn.child(starting.step, {
    ...orderOf(context, starting),
    startedAs: (as) => {
      uid ??= as
    },
  })
  ended.catch(() => {})
  const effect = {
    get value() {
      return encode(uid, 'the id of a child')
    },
  }
  const id = await decoded(turn.record(`${starting.step} started`, effect), around)
  return remoteRun(context, String(id), starting.target, () => childEnd(context, String(id), ended))
}

/** Under an id of the caller's, or to outlive the run: a step starts it, and finds it again if it runs twice. */
async function startNamed(context: Context, starting: Starting) {
  const { turn } = context
  const { step, target, settings } = starting
  const execute = async (attempt: Attempt) => {
    const { run } = turn
    const { idempotencyKey: startedBy } = attempt
    const parent = settings.isDetached ? null : { uid: run.uid, id: run.id, startedBy }
    const id = settings.id ?? idOf(startedBy)
    const { definition, version, timeoutMs } = orderOf(context, starting)
    const { workspace, tags } = run
    const input = await storedInput(context, starting, parent !== null)
    const order = { workspace, id, definition, version, input, timeoutMs, tags, parent }
    const started = await attempt.outside.start(order)
    // A fork has this result too, and no such child.
    return { id: started.id, uid: started.uid, by: started.isOurs ? run.uid : null }
  }
  const started = (await outsideStep(context, step, 'start', execute)) as {
    readonly id: string
    readonly uid: Uid
    readonly by: Uid | null
  }
  const { id, uid, by } = started
  if (by !== turn.run.uid) return remoteRun(context, id, target, null)
  const ended = turn.child(`${step} ended`, { ...orderOf(context, starting), adopts: uid })
  ended.catch(() => {})
  return remoteRun(context, id, target, () => childEnd(context, id, ended))
}

export function handle(context: Context, what: unknown, id: unknown) {
  const where = 'wf.handle'
  if (typeof id !== 'string' || !RUN_ID.test(id)) {
    throw optionInvalid('id', where, id, 'the id of a run')
  }
  return remoteRun(context, id, named(context, what, where), null)
}

/** `end`: of a child; null: of a run that is not this one's. */
function remoteRun(
  context: Context,
  id: string,
  target: Made | string,
  end: (() => Promise<unknown>) | null,
) {
  const to = { workspace: context.turn.run.workspace, id: id as RunId }
  return Object.freeze({
    id,
    result: (options?: unknown) =>
      options === undefined && end ? end() : awaitEnd(context, to, options),
    signal: (name: unknown, payload?: unknown) => signal(context, to, target, [name, payload]),
    cancel: async (reason: unknown = NO_REASON) => {
      if (typeof reason !== 'string') throw optionInvalid('reason', 'cancel', reason, 'a text')
      await outsideStep(context, `cancel ${id}`, 'cancel', (attempt) =>
        attempt.outside.cancel(to, reason, attempt.idempotencyKey),
      )
    },
  })
}

async function signal(
  context: Context,
  to: RunAddress,
  target: Made | string,
  [given, payload]: readonly [unknown, unknown],
): Promise<void> {
  const name = stepName(given)
  const { valueBytesMax } = context.around
  await outsideStep(context, `signal ${name} to ${to.id}`, 'signal', async (attempt) => {
    await checkDefinition(attempt, to, target)
    const schema =
      typeof target !== 'string' && Object.hasOwn(target.signals, name)
        ? target.signals[name]
        : undefined
    const what = `The payload of signal "${name}"`
    const parsed = schema ? await parse(schema, payload, 'PAYLOAD_INVALID', what) : payload
    const stored = encode(parsed, `the payload of signal "${name}"`, valueBytesMax)
    await attempt.outside.signal(to, name, stored, attempt.idempotencyKey)
  })
}

/** A handle must not reach a run of another definition. */
async function checkDefinition(attempt: Attempt, to: RunAddress, target: Made | string) {
  const definition = await attempt.outside.look(to)
  const wanted = typeof target === 'string' ? target : target.name
  if (definition !== wanted) throw noSuchRun(to.id, wanted)
}

const noSuchRun = (id: string, definition: string | null): PerdureError =>
  new PerdureError(
    'RUN_NOT_FOUND',
    `There is no run ${id}${definition ? ` of "${definition}"` : ''}.`,
    {
      hint: 'check the id, the definition and the workspace; finished runs are deleted after the retention time',
      runId: id,
    },
  )

/** One call to another run, recorded like every step. What is refused there is thrown here, and not tried again. */
function outsideStep(
  context: Context,
  name: string,
  label: string,
  code: (attempt: Attempt) => Promise<unknown>,
): Promise<unknown> {
  const { turn, around } = context
  refuseNested(context, `wf: ${name}`)
  const { valueBytesMax } = around
  const of = { name, valueBytesMax, undone: false, stopOn: [], run: context }
  const execute = (attempt: Attempt) => executed(code, attempt, of)
  return decoded(
    turn.step(stepName(name), { label, retry: NO_RETRY, timeoutMs: null, execute }),
    around,
  )
}

/** Waits for the end of any run: parked, with a row that says so. */
function awaitEnd(context: Context, to: RunAddress, options: unknown): Promise<unknown> {
  const { turn, around } = context
  const until = readTimeout(options)
  refuseNested(context, `result() of ${to.id}`)
  const wish = { names: [], until, heard: { run: to.id } }
  const answer = turn.receive(`result of ${to.id}`, wish)
  return answered(answer, around, (message) => {
    if (message !== null) return endOf(context, to.id, message)
    throw new PerdureError('WAIT_TIMED_OUT', `Run ${to.id} did not end in time.`, {
      hint: 'the run goes on: ask again, or wait longer',
      runId: to.id,
    })
  })
}

/** The name of the message is how the run has ended. */
function endOf({ around }: Context, id: string, { name, payload }: Message): unknown {
  if (name === 'completed') return payload === null ? undefined : decode(payload)
  if (name === 'unknown') throw noSuchRun(id, null)
  const cause = payload === null ? undefined : recordedIn(payload, around)
  const status = name === 'cancelled' || name === 'timed_out' ? name : 'failed'
  throw endedBadly(id, status, cause?.message ?? status, cause)
}

/** As a handle tells it: the recorded error is the cause. */
function childEnd(context: Context, id: string, ended: Promise<string>): Promise<unknown> {
  return failedAs(decoded(ended, context.around), (cause) => {
    const isCancelled = PerdureError.is(cause, 'WORKFLOW_CANCELLED')
    const isLate = PerdureError.is(cause, 'WORKFLOW_TIMED_OUT')
    const status = isCancelled ? 'cancelled' : isLate ? 'timed_out' : 'failed'
    return endedBadly(id, status, cause.message, cause)
  })
}

function orderOf({ around }: Context, { step, target, input, settings }: Starting): ChildOrder {
  const known = typeof target === 'string' ? null : target
  const isWorkflow = known !== null && known.kind !== 'task'
  return {
    definition: known?.name ?? (target as string),
    version: known?.version ?? null,
    input: encode(input, `the input of step "${step}"`, around.valueBytesMax),
    order: null,
    isTask: false,
    retry: NO_RETRY,
    timeoutMs: settings.timeoutMs ?? (isWorkflow ? known.timeoutMs : null),
  }
}

/** A child checks its input itself; nobody else would check that of a run without a parent. */
async function storedInput(
  { around }: Context,
  { step, target, input }: Starting,
  isChild: boolean,
) {
  const schema = typeof target === 'string' ? null : target.input
  const what = `The input of "${typeof target === 'string' ? target : target.name}"`
  const parsed = schema && !isChild ? await parse(schema, input, 'INPUT_INVALID', what) : input
  return encode(parsed, `the input of step "${step}"`, around.valueBytesMax)
}

/** The same at every attempt. */
const idOf = (key: string): RunId => generatorOf(key).uuid() as RunId

function readStart(options: unknown, where: string): StartSettings {
  if (options === undefined) return { id: null, isDetached: false, timeoutMs: null }
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, ['id', 'detached', 'timeout'])
  const { id, detached = false, timeout } = options as Readonly<Record<string, unknown>>
  if (id !== undefined && (typeof id !== 'string' || !RUN_ID.test(id))) {
    throw optionInvalid('id', where, id, '1 to 128 of letters, digits and _ . : @ + = -')
  }
  if (id !== undefined && isTriggersId(id)) {
    const expected = 'without cron:, event: or webhook: at its beginning, which are for triggers'
    throw optionInvalid('id', where, id, expected)
  }
  if (typeof detached !== 'boolean') {
    throw optionInvalid('detached', where, detached, 'true or false')
  }
  const timeoutMs = timeout === undefined ? null : durationMs(timeout as Duration)
  return { id: (id as RunId | undefined) ?? null, isDetached: detached, timeoutMs }
}

function readTimeout(options: unknown): Due | null {
  if (options === undefined) return null
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', 'result()', options, 'an object')
  }
  checkOptions(options, 'result()', ['timeout'])
  const { timeout } = options as { timeout?: Duration }
  return timeout === undefined ? null : { afterMs: durationMs(timeout) }
}
