// An engine with a few definitions, the API on it, and a way to ask it.

import { afterAll, beforeAll, expect } from 'vitest'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { createHandler, type HandlerOptions } from '../../src/http/index.js'
import { type Engine, graph, machine, typed, workflow } from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'

export const order = workflow(
  'order',
  { signals: { approval: typed<{ ok: boolean }>() } },
  async (wf, input: { n: number }) => {
    await wf.do('charge', () => input.n)
    const approval = await wf.waitFor('approval')
    return { n: input.n, approval }
  },
)
export const echo = workflow('echo', async (_wf, input: unknown) => input)
export const failing = workflow('failing', async (wf, input: { message?: string } | undefined) =>
  wf.do('break', () => {
    throw new Error(input?.message ?? 'out of order')
  }),
)
export const parent = workflow('parent', async (wf, input: { n: number }) =>
  wf.do('child', echo, input),
)
export const shown = workflow('shown', async (wf) => {
  await wf.documents.save('note', { text: 'hello' }, { key: 'a' })
  return 'done'
})
export const picking = machine('picking', {
  initial: 'idle',
  context: { taken: 0 },
  states: {
    idle: { on: { ASSIGN: { target: 'picking' } } },
    picking: { on: { DONE: { target: 'finished' } } },
    finished: { final: true },
  },
})
export const routing = graph({
  id: 'routing',
  nodes: [
    { id: 'score', type: 'set', config: { score: { cel: 'input.n * 2' } } },
    { id: 'judge', type: 'set', config: { big: { cel: 'variables.score > 10' } } },
  ],
  edges: [
    { from: 'trigger', to: 'score' },
    { from: 'score', to: 'judge' },
  ],
})

export const spoken = workflow('spoken', async (wf, words: readonly string[]) => {
  await wf.do('speak', (step) => {
    for (const word of words) step.publish({ word, at: new Date(5) })
  })
})

/** One at a time, and each until it is told to go. */
export const single = workflow(
  'single',
  { limits: { concurrency: 1 }, signals: { go: typed<undefined>() } },
  async (wf) =>
    wf.do(
      'hold',
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
    ),
)

export const DEFINITIONS = [
  ...([order, echo, failing, parent, shown] as const),
  ...([picking, routing, spoken, single] as const),
] as const

export interface Sent {
  readonly token?: string
  readonly workspace?: string
  readonly headers?: Readonly<Record<string, string>>
  /** As JSON; `raw` as it is. */
  readonly body?: unknown
  readonly raw?: string | Uint8Array | undefined
}

/** What JSON.parse gives. */
type Loose = ReturnType<JSON['parse']>

export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Loose
}

export type Ask = (method: string, path: string, sent?: Sent) => Promise<Got>

export function asking(handler: (request: Request) => Promise<Response>): Ask {
  return async (method, path, { token, workspace, headers, body, raw } = {}) => {
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await handler(
      new Request(`http://127.0.0.1:4114${path}`, {
        method,
        headers: {
          ...(content !== undefined && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(workspace !== undefined && { 'perdure-workspace': workspace }),
          ...headers,
        },
        ...(content !== undefined && { body: content as string }),
      }),
    )
    const text = await textOf(response, path)
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    }
  }
}

/** The changes of a workspace have no end: what comes first is enough. */
async function textOf(response: Response, path: string): Promise<string> {
  const isEndless = response.ok && path.startsWith('/api/v1/changes')
  if (!isEndless || !response.body) return response.text()
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value as Uint8Array | undefined)
}

/**
 * One engine for a file, on the store in memory: what is asked here is the API, not the database (client.test.ts asks those).
 * Nothing that a test does may change Object.prototype.
 */
export function serverOf(options: HandlerOptions = { open: true }) {
  const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype))
  const state = { logged: [] as unknown[] } as {
    engine: Engine<typeof DEFINITIONS>
    ask: Ask
    logged: unknown[]
  }
  const log = {
    debug: () => {},
    info: () => {},
    warn: (...said: unknown[]) => void state.logged.push(said),
    error: (...said: unknown[]) => void state.logged.push(said),
  }
  beforeAll(async () => {
    const settings = readEngineOptions({ workflows: DEFINITIONS, log }, {})
    const engine = await composeEngine(settings, { opened: await openMemory() })
    state.engine = engine as unknown as typeof state.engine
    state.ask = asking(createHandler(state.engine, { rateLimit: false, log, ...options }))
  })
  afterAll(async () => {
    await state.engine.close()
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype)
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })
  return state
}
