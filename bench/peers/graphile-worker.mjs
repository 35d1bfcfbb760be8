import { EventEmitter } from 'node:events'
import { Logger, run } from 'graphile-worker'
import { fallAsleep, NAP_MS, step, wakeUp } from '../user-code.mjs'

const CONCURRENCY = 24
const POOL = 20

export const settings = `One runner, \`concurrentJobs: ${CONCURRENCY}\`, \`maxPoolSize: ${POOL}\`, local queue of 500, completions in batches; a job has no result: its end is the event of the worker; a chain is a job that adds the next; 100 starters.`
export const width = 100
export const can = ['w1', 'w2', 'w3', 'w4']

export async function open({ url }) {
  const ends = new Map()
  const late = new Map()
  const events = new EventEmitter()
  events.on('job:complete', ({ job }) => {
    if (job.payload.left > 1) return
    ends.get(job.payload.id)?.()
    ends.delete(job.payload.id)
  })
  const runner = await run({
    connectionString: url,
    events,
    noHandleSignals: true,
    taskList: {
      async step({ left, ...rest }, { addJob }) {
        step()
        if (left > 1) await addJob('step', { ...rest, left: left - 1 })
      },
      'wake up': async ({ key, id }) => {
        late.set(id, wakeUp(key))
      },
    },
    preset: {
      worker: {
        concurrentJobs: CONCURRENCY,
        maxPoolSize: POOL,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
      },
    },
    logger: new Logger(() => () => {}),
  })
  let last = 0
  return {
    async start(kind, input) {
      const id = ++last
      const ended = new Promise((resolve) => ends.set(id, resolve))
      if (kind === 'sleeper') {
        fallAsleep(input.key)
        const runAt = new Date(Date.now() + NAP_MS)
        await runner.addJob('wake up', { ...input, id, left: 1 }, { runAt })
        return { result: () => ended.then(() => late.get(id)) }
      }
      await runner.addJob('step', { id, left: input.steps, payload: input.payload })
      return { result: () => ended }
    },
  }
}
