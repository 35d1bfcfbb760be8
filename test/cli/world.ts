// Definitions for people to talk to, and a server that has them.

import { afterAll, beforeAll } from 'vitest'
import { z } from 'zod'
import { type Serving, serve } from '../../src/http/index.js'
import {
  createEngine,
  type Engine,
  fatal,
  graph,
  machine,
  task,
  workflow,
} from '../../src/index.js'
import { perdure, type Ran } from './captured.js'

const approval = z.object({ ok: z.boolean(), note: z.string().optional() })

export const order = workflow(
  'order',
  {
    description: 'An order from charge to parcel',
    input: z.object({ item: z.string() }),
    signals: { approval },
  },
  async (wf, { item }) => {
    await wf.do(
      'charge',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('card network down')
      },
      { retries: 3, retryDelay: 10 },
    )
    const { ok, note } = await wf.waitFor('approval', { timeout: '24h' })
    if (!ok) throw fatal('refused by a person')
    return { item, note }
  },
)
export const parent = workflow('parent', async (wf) => wf.do('child', order, { item: 'tea' }))
export const failing = workflow('failing', async (wf) =>
  wf.do('charge', () => {
    throw new Error('card network down')
  }),
)
export const quick = workflow('quick', async (_wf, input: unknown) => ({ input }))
export const listening = workflow('listening', async (wf) =>
  wf.waitForEvent('paid', { match: { id: 'o-1' } }),
)
export const picking = machine('picking', {
  initial: 'idle',
  context: { taken: 0 },
  states: {
    idle: { on: { ASSIGN: { target: 'picking' } } },
    picking: { on: { DONE: { target: 'finished' }, DROP: { target: 'idle' } } },
    finished: { final: true },
  },
})
export const shown = workflow('shown', async (wf) => {
  await wf.documents.save('note', { text: 'hello' }, { key: 'a' })
})
export const limited = task('limited', { limits: { concurrency: 2 } }, async () => {})
export const routing = graph({
  id: 'routing',
  nodes: [{ id: 'score', type: 'set', config: { score: { cel: 'input.n * 2' } } }],
  edges: [{ from: 'trigger', to: 'score' }],
})
export const DEFINITIONS = [
  ...[order, parent, failing, quick, listening, picking, shown, limited, routing],
] as const

export interface World {
  readonly engine: Engine
  readonly url: string
  /** `perdure ${line}`, which talks to the server; what has blanks in it is a word of its own. */
  say(
    line: string,
    ...more: Parameters<typeof perdure> extends [unknown, ...infer R] ? R : never
  ): Promise<Ran>
}

/** One for a file, on the embedded database in memory. */
export function served(): World {
  let engine: Engine
  let server: Serving
  beforeAll(async () => {
    engine = (await createEngine({
      database: 'memory:',
      workflows: DEFINITIONS,
    })) as unknown as Engine
    server = await serve(engine, { port: 0, rateLimit: false })
  })
  afterAll(async () => {
    await server?.close()
    await engine?.close()
  })
  return {
    get engine() {
      return engine
    },
    get url() {
      return server.url
    },
    say: (line, over = {}, answers = []) =>
      perdure(wordsOf(line), { ...over, env: { PERDURE_URL: server.url, ...over.env } }, answers),
  }
}

/** As a shell: blanks part words, single quotes keep them together. */
export const wordsOf = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'(.*)'$/, '$1'))
