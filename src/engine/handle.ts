// The handle of one run.

import type { Address } from '../kernel/api.js'
import type { Settled } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { decodeError } from '../model/error-record.js'
import { checkOptions, optionInvalid, runNotFound } from '../model/errors.js'
import { TIMER_MAX_MS } from '../model/limits.js'
import { type Duration, durationMs } from '../model/time.js'
import { addressOf, beforeRead, beforeWrite, type Core, type Found, transactionOf } from './core.js'
import { endedBadly, resultTimedOut } from './errors.js'
import { followEvents, followStream } from './follow.js'
import { endError } from './info.js'
import { sendSignal, sendTrigger } from './messages.js'
import { optionsObject } from './paged.js'
import { infoOf, viewOf } from './read.js'
import { retryRun } from './retry.js'
import type { RunHandle } from './types.js'

const NO_REASON = 'cancelled from outside'

export interface HandleOf {
  readonly workspace: string
  readonly id: string
  readonly target: Found
  /** It was started here, so it is known to be a run of that definition. */
  readonly isKnown: boolean
}

export function makeHandle(core: Core, of: HandleOf): RunHandle {
  const to = addressOf(of.workspace, of.id)
  let checked = of.isKnown
  /** A handle made of an id from outside must not reach a run of another definition. */
  const check = async (): Promise<void> => {
    if (!checked) await ownView(core, of)
    checked = true
  }
  const handle = {
    id: to.id,
    result: async (options?: unknown) => {
      beforeRead(core)
      const wait = readWait(options)
      await check()
      return outputOf(core, await settled(core, to, wait))
    },
    status: async () => (await handle.get()).status,
    get: async () => {
      beforeRead(core)
      return infoOf(core, await ownView(core, of))
    },
    signal: async (name: unknown, payload?: unknown, options?: unknown) => {
      const where = `signal("${String(name)}")`
      const { id, transaction } = optionsObject(options, where, ['id', 'transaction'])
      const within = transactionOf(transaction, where)
      beforeWrite(core, 'signal', within)
      if (!within) await check()
      await sendSignal(core, { to, target: of.target, name, payload, id, within })
    },
    trigger: async (name: unknown, payload?: unknown, options?: unknown) => {
      const where = `trigger("${String(name)}")`
      const { id, within: patience } = optionsObject(options, where, ['id', 'within'])
      beforeWrite(core, 'trigger')
      await check()
      const { target } = of
      return infoOf(core, await sendTrigger(core, { to, target, name, payload, id, patience }))
    },
    cancel: async (reason?: unknown) => {
      beforeWrite(core, 'cancel')
      await check()
      await core.kernel.cancel(to, reasonOf(reason), null)
    },
    retry: async () => {
      beforeWrite(core, 'retry')
      await check()
      await retryRun(core, to, null)
    },
    events: (options?: unknown) => followEvents(core, () => ownView(core, of), options),
    stream: (options?: unknown) => followStream(core, () => ownView(core, of), options),
    pause: async () => {
      beforeWrite(core, 'pause')
      await check()
      await core.kernel.operations.pause(to)
    },
    resume: async () => {
      beforeWrite(core, 'resume')
      await check()
      await core.kernel.operations.resume(to)
    },
  }
  return handle as unknown as RunHandle
}

export function reasonOf(reason: unknown): string {
  if (reason === undefined) return NO_REASON
  if (typeof reason === 'string') return reason
  throw optionInvalid('reason', 'cancel', reason, 'a text')
}

async function ownView(core: Core, of: HandleOf) {
  const view = await viewOf(core, of.workspace, of.id)
  if (view.definition !== of.target.name) throw runNotFound(of.id)
  return view
}

function outputOf(core: Core, { id, status, payload, reason }: Settled): unknown {
  if (status === 'completed') return payload === null ? undefined : decode(payload)
  const cause = payload === null ? undefined : decodeError(payload, core.errors)
  throw endedBadly(id, status, endError(status, payload, reason).message, cause)
}

interface Wait {
  readonly timeoutMs: number | null
  readonly signal: AbortSignal | null
}

function readWait(options: unknown): Wait {
  if (options === undefined) return AS_LONG_AS_IT_TAKES
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', 'result()', options, 'an object')
  }
  checkOptions(options, 'result()', ['timeout', 'signal'])
  const { timeout, signal } = options as { timeout?: Duration; signal?: unknown }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw optionInvalid('signal', 'result()', signal, 'an AbortSignal')
  }
  return {
    timeoutMs: timeout === undefined ? null : durationMs(timeout),
    signal: signal ?? null,
  }
}

const AS_LONG_AS_IT_TAKES: Wait = { timeoutMs: null, signal: null }

/** The end of a run; rejects when the caller has waited long enough, and when the engine is closed. */
export async function settled(
  core: Core,
  to: Address,
  { timeoutMs, signal }: Wait = AS_LONG_AS_IT_TAKES,
): Promise<Settled> {
  if (timeoutMs === null && signal === null) return core.kernel.result(to, null)
  const given = new AbortController()
  const abort = (): void => given.abort(signal?.reason)
  const late = (): void => given.abort(resultTimedOut(to.id, timeoutMs ?? 0))
  const timer = timeoutMs === null ? null : setTimeout(late, Math.min(timeoutMs, TIMER_MAX_MS))
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  try {
    return await core.kernel.result(to, given.signal)
  } finally {
    signal?.removeEventListener('abort', abort)
    if (timer !== null) clearTimeout(timer)
  }
}
