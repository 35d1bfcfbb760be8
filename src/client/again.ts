// What is asked again over a connection that breaks, for a while: waiting for what takes long, and what changes nothing the second time.

import { PerdureError } from '../model/errors.js'

/** A server that is not there for longer is not only restarting. */
const PATIENCE_MS = 30_000
/** Somebody waits for the answer. */
const RESENT_MS = 10_000
const RESENT_PAUSE_MAX_MS = 500
const PAUSE_MS = 200
const PAUSE_MAX_MS = 5_000

const PASSING = [
  'SERVER_UNREACHABLE',
  'OVERLOADED',
  'RATE_LIMITED',
  'DATABASE_UNAVAILABLE',
  'ENGINE_CLOSED',
] as const

/** Says how long to pause before the next attempt; throws what will not pass. */
export class Patience {
  private readonly connection: { readonly isReached: boolean }
  private readonly patienceMs: number
  private readonly pauseMaxMs: number
  private failedAt: number | null = null
  private pauseMs = PAUSE_MS

  /** An address that has never answered is rather wrong than restarting. */
  constructor(
    connection: { readonly isReached: boolean },
    patienceMs = PATIENCE_MS,
    pauseMaxMs = PAUSE_MAX_MS,
  ) {
    this.connection = connection
    this.patienceMs = patienceMs
    this.pauseMaxMs = pauseMaxMs
  }

  reached(): void {
    this.failedAt = null
    this.pauseMs = PAUSE_MS
  }

  async failed(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now()
    this.failedAt ??= now
    const isPassing = PerdureError.is(error, ...PASSING) && this.connection.isReached
    if (!isPassing || now - this.failedAt > this.patienceMs) throw error
    // Those that have lost one server together do not come back together.
    await pause(this.pauseMs * (0.5 + Math.random() / 2), signal)
    this.pauseMs = Math.min(this.pauseMs * 2, this.pauseMaxMs)
  }
}

/**
 * A start whose answer was lost is sent again, if the second one is the same run: it has an id, and so has its message. Of others nobody
 * knows whether they were stored, and only the caller can decide.
 */
export async function startAgain<T>(
  connection: { readonly isReached: boolean },
  canRepeat: boolean,
  ask: () => Promise<T>,
): Promise<T> {
  const patience = startPatience(connection)
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isLost(error) || !canRepeat) throw error
      await patience.failed(error, undefined)
    }
  }
}

export const startPatience = (connection: { readonly isReached: boolean }): Patience =>
  new Patience(connection, RESENT_MS, RESENT_PAUSE_MAX_MS)

/** Nobody knows whether it was done. */
export const isLost = (error: unknown): boolean => PerdureError.is(error, 'SERVER_UNREACHABLE')

interface Start {
  readonly id?: unknown
  readonly message?: unknown
  readonly debounce?: unknown
}

/** The second one would be the first. Asked when it is called: the fields are the caller's. */
export function isSame({ id, message, debounce }: Start): boolean {
  const { id: messageId } = (message ?? { id: '' }) as { readonly id?: unknown }
  return id !== undefined && debounce === undefined && messageId !== undefined
}

export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
  signal?.throwIfAborted()
}
