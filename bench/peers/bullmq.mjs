import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq'
import { fallAsleep, NAP_MS, PAYLOAD, step, wakeUp } from '../user-code.mjs'
import { CHAIN, perSecond, WIDTH } from '../workloads.mjs'

const CONCURRENCY = 200
const QUEUE = 'bench'
const KEPT = 10_000

export const settings = `One worker, \`concurrency: ${CONCURRENCY}\`, the last ${KEPT} finished jobs kept; Redis without snapshots and without append-only file, so nothing is on disk; a chain is a flow of nested jobs, a sleeper a delayed job; 1,000 starters.`
export const width = 1_000
export const can = ['w1', 'w2', 'w3', 'w4']

export async function open({ redis }) {
  const connection = { ...redis, maxRetriesPerRequest: null }
  const queue = new Queue(QUEUE, { connection })
  const flows = new FlowProducer({ connection })
  flows.setMaxListeners(0)
  const events = new QueueEvents(QUEUE, { connection })
  events.setMaxListeners(0)
  await events.waitUntilReady()
  const work = async ({ name, data }) => (name === 'wake up' ? wakeUp(data.key) : step())
  const worker = new Worker(QUEUE, work, { connection, concurrency: CONCURRENCY })
  await worker.waitUntilReady()
  const handle = (job) => ({ result: () => job.waitUntilFinished(events) })
  const opts = { removeOnComplete: { count: KEPT } } // one that is gone cannot be waited for
  return {
    async start(kind, input) {
      if (kind === 'sleeper') {
        fallAsleep(input.key)
        return handle(await queue.add('wake up', input, { ...opts, delay: NAP_MS }))
      }
      if (input.steps === 1) return handle(await queue.add('step', input.payload, opts))
      return handle((await flows.add(nested(input, opts))).job)
    },
    /** Jobs per second: there are more of them than nodes. */
    async graphs({ seconds }) {
      const rate = async (tree, jobs) => {
        const start = async () => handle((await flows.add(tree)).job)
        await perSecond(start, Math.min(seconds, 1))
        return (await perSecond(start, seconds)) * jobs
      }
      const chain = nested({ steps: CHAIN, payload: PAYLOAD }, opts)
      return { chain: await rate(chain, CHAIN), fan: await rate(fan(opts), 2 * WIDTH + 1) }
    },
  }
}

/** The innermost is executed first. */
function nested({ steps, payload }, opts) {
  const job = { name: 'step', queueName: QUEUE, data: payload, opts }
  return steps === 1 ? job : { ...job, children: [nested({ steps: steps - 1, payload }, opts)] }
}

/** One before fifty before one. A job has one parent, so each of the fifty has a first one of its own. */
function fan(opts) {
  const each = nested({ steps: 2, payload: PAYLOAD }, opts)
  return { ...each, children: Array.from({ length: WIDTH }, () => each) }
}
