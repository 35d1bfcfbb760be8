// The handle of one run, over HTTP.

import type { JournalEntry, Published, RunHandle, RunInfo } from '../index.js'
import { type ErrorCode, optionInvalid, PerdureError } from '../model/errors.js'
import { type Duration, durationMs } from '../model/time.js'
import { Patience } from './again.js'
import { type Connection, path } from './connection.js'
import { follow } from './follow.js'

/** So long the server holds an answer back; it has a limit of its own. */
const HELD_MS = 20_000

export interface Meant {
  readonly id: string
  /** A run of another definition is as one that is not there; undefined: of any. */
  readonly workflow: string | undefined
  readonly workspace: string | undefined
}

type Given = Readonly<Record<string, unknown>>
type Following = { readonly after?: number; readonly signal?: AbortSignal }

export function makeHandle(connection: Connection, meant: Meant): RunHandle {
  const { id, workflow, workspace } = meant
  const ask = async (action: string, body?: unknown) =>
    connection.ask({
      method: 'POST',
      path: `${path`/runs/${id}`}/${action}`,
      query: { workflow },
      body,
      workspace,
    })
  const handle = {
    id,
    result: (options?: Given) => resultOf(connection, meant, options ?? {}),
    status: async () => (await handle.get()).status,
    get: async () =>
      (await connection.ask({
        path: path`/runs/${id}`,
        query: { workflow },
        workspace,
      })) as RunInfo,
    signal: async (name: string, payload?: unknown, options?: Given) => {
      await ask('signals', { name, payload, ...sendable(options, 'signal') })
    },
    trigger: async (name: string, payload?: unknown, options?: Given) =>
      ask('triggers', { name, payload, ...sendable(options, 'trigger') }),
    cancel: async (reason?: string) => void (await ask('cancel', { reason })),
    retry: async () => void (await ask('retry', {})),
    pause: async () => void (await ask('pause')),
    resume: async () => void (await ask('resume')),
    events: ({ after = 0, signal }: Following = {}) =>
      follow<JournalEntry>(connection, {
        ...meant,
        path: path`/runs/${id}/events`,
        after,
        signal,
        placeOf: ({ seq }) => seq,
      }),
    stream: ({ after = 0, signal }: Following = {}) =>
      follow<Published>(connection, {
        ...meant,
        path: path`/runs/${id}/stream`,
        after,
        signal,
        placeOf: ({ offset }) => offset,
      }),
  }
  return handle as unknown as RunHandle
}

/** A transaction of the caller is on another machine. */
export function sendable(options: Given | undefined, call: string): Given {
  const { transaction, ...rest } = options ?? {}
  if (transaction === undefined) return rest
  throw optionInvalid('transaction', `client.${call}`, '…', 'left out: it cannot go over HTTP')
}

interface End {
  readonly isOver: boolean
  readonly output?: unknown
  readonly failure?: {
    readonly code: ErrorCode
    readonly message: string
    readonly hint: string
    readonly cause: unknown
  }
}

/** Asked again and again, also across restarts of the server. */
async function resultOf(
  connection: Connection,
  { id, workflow, workspace }: Meant,
  options: Given,
): Promise<unknown> {
  const { timeout, signal } = options as { timeout?: Duration; signal?: AbortSignal }
  const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(timeout)
  const until = performance.now() + timeoutMs
  const patience = new Patience(connection)
  for (;;) {
    signal?.throwIfAborted()
    const leftMs = Math.max(0, until - performance.now())
    const waitMs = Math.floor(Math.min(leftMs, HELD_MS))
    try {
      const query = { workflow, waitMs }
      const asked = { path: path`/runs/${id}/result`, query, workspace, signal }
      const end = (await connection.ask(asked)) as End
      patience.reached()
      if (end.failure) {
        const { code, message, hint, cause } = end.failure
        throw new PerdureError(code, message, { hint, runId: id, cause })
      }
      if (end.isOver) return end.output
    } catch (error) {
      signal?.throwIfAborted()
      await patience.failed(error, signal)
    }
    if (performance.now() >= until) {
      throw new PerdureError('WAIT_TIMED_OUT', `Run ${id} has not ended within ${timeoutMs} ms.`, {
        hint: 'the run goes on: ask again, or wait longer',
        runId: id,
      })
    }
  }
}
