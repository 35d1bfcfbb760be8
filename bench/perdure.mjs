// Perdure through its public API, as the peers are through theirs.

import { bullmq } from '../dist/bullmq/index.js'
import { createEngine, task, workflow } from '../dist/index.js'
import { arrive, fallAsleep, NAP_MS, step, wakeUp } from './user-code.mjs'

export const settings = 'Default settings, `worker: { concurrency: 1000 }`; 1,000 starters.'
export const width = 1_000
export const can = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']

const chain = workflow('chain', async (wf, { steps }) => {
  let last = null
  for (let i = 0; i < steps; i += 1) last = await wf.do('step', step)
  return last
})
const sleeper = workflow('sleeper', async (wf, { key }) => {
  fallAsleep(key)
  await wf.sleep('nap', NAP_MS)
  return wf.do('wake up', () => wakeUp(key))
})
const waiter = workflow('waiter', async (wf) => {
  await wf.do('arrive', arrive)
  return wf.waitFor('go')
})
const queuedStep = task('queued-step', () => step())
/** One queue-based step: a run of its own. */
const queued = workflow('queued', async (wf) => wf.do('step', queuedStep))
/** Steps, a wait in which the process may change, and some steps more. */
const long = workflow('long', async (wf, { steps, more }) => {
  for (let i = 0; i < steps; i += 1) await wf.do('step', step)
  await wf.waitFor('go')
  for (let i = 0; i < more; i += 1) await wf.do('step', step)
})

export const definitions = { chain, sleeper, waiter, queued, long }

export function openEngine({ url, worker = { concurrency: width }, more = [], redis = null }) {
  const workflows = [...Object.values(definitions), queuedStep, ...more]
  const transport = redis ? { transport: bullmq({ connection: redis }) } : {}
  return createEngine({ database: url, workflows, worker, ...transport })
}

export async function open(options) {
  const engine = await openEngine(options)
  return {
    async start(kind, input) {
      const run = await engine.start(definitions[kind], input)
      return { result: () => run.result(), signal: (payload) => run.signal('go', payload) }
    },
  }
}
