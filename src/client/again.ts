// Waiting for what takes long, over a connection that may break: asked again, for a while.

import { PerdureError } from '../model/errors.js'

/** A server that is not there for longer is not only restarting. */
const PATIENCE_MS = 30_000
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
  private failedAt: number | null = null
  private pauseMs = PAUSE_MS

  /** An address that has never answered is rather wrong than restarting. */
  constructor(connection: { readonly isReached: boolean }) {
    this.connection = connection
  }

  reached(): void {
    this.failedAt = null
    this.pauseMs = PAUSE_MS
  }

  async failed(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now()
    this.failedAt ??= now
    const isPassing = PerdureError.is(error, ...PASSING) && this.connection.isReached
    if (!isPassing || now - this.failedAt > PATIENCE_MS) throw error
    await pause(this.pauseMs, signal)
    this.pauseMs = Math.min(this.pauseMs * 2, PAUSE_MAX_MS)
  }
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
