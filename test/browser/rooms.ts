// What there is for the pages beside the runs: questions with documents, schedules, limits, a graph that is stored.

import { z } from 'zod'
import { createEngine, type Engine, workflow } from '../../src/index.js'
import { leads, order, refund, review, WORKFLOWS } from './world.js'

/** A person reads what it shows, and says yes or no. */
export const publish = workflow(
  'publish',
  {
    description: 'Publishes an article when an editor has read it.',
    input: z.object({ title: z.string(), words: z.number() }),
    signals: {
      decision: z.object({
        ok: z.boolean().describe('Is it good enough?'),
        section: z.enum(['science', 'culture']),
        note: z.string().optional().describe('For the author'),
      }),
    },
  },
  async (wf, { title, words }) => {
    await wf.do('proofread', () => words)
    await wf.documents.save('draft', {
      text: `# ${title}\n\nBees **dance** to say where the flowers are:\n\n- the angle is the way\n- the length is how far`,
    })
    const { ok, section } = await wf.waitFor('decision', { timeout: '2 days' })
    await wf.do('typeset', () => section)
    return ok ? { url: `/${section}/${title.toLowerCase()}` } : null
  },
)

/** One at a time. */
export const narrow = workflow('narrow', { limits: { concurrency: 1 } }, async (wf) => {
  await wf.do('hold', ({ signal }) => aborted(signal), { retries: 0 })
})

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })

export const NARROW = ['narrow-1', 'narrow-2', 'narrow-3']

/** A name that a page must show as text. */
export const HOSTILE = '<img src=x onerror=alert(1)>'

export async function engineWithRooms(): Promise<Engine> {
  const workflows = [...WORKFLOWS, publish, narrow]
  const engine = (await createEngine({ database: 'memory:', workflows })) as unknown as Engine
  await engine.start(publish, { title: 'Bees', words: 900 }, { id: 'pub-1' })
  await engine.start(review, { topic: HOSTILE }, { id: 'rev-1', tags: { for: HOSTILE } })
  const done = await engine.start(order, { id: 'o-1', amount: 7 }, { id: 'ord-1' })
  await done.signal('approval', { ok: true, carrier: 'post' })
  await engine.start(order, { id: 'o-2', amount: 100 }, { id: 'ord-2' })
  await engine.run(refund, { id: 'r-1' }, { id: 'ref-1' })
  await engine.run(leads, { id: 'l-1', email: 'bob@acme.example' }, { id: 'lead-1' })
  const { id: _, ...drawn } = leads.json
  await engine.graphs.save({ id: 'drawn-leads', ...drawn })
  const again = { id: 'drawn-leads', ...drawn, output: { owner: { cel: 'owner' } } }
  await engine.graphs.save(again, { note: 'with a campaign' })
  for (const id of NARROW) await engine.start(narrow, undefined, { id })
  const input = { id: 'r-2' }
  await engine.schedules.set({ id: 'nightly', workflow: refund, cron: '30 3 * * 1-5', input })
  await engine.schedules.set({ id: 'hourly', workflow: refund, every: '1h', input })
  await engine.schedules.pause('hourly')
  await done.result()
  return engine
}
