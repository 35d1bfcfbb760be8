import { OpenWorkflow } from 'openworkflow'
import { BackendPostgres } from 'openworkflow/postgres'
import { arrive, fallAsleep, NAP_MS, step, wakeUp } from '../user-code.mjs'

const CONCURRENCY = 100

export const settings = `One worker, \`concurrency: ${CONCURRENCY}\`; 500 starters, because its \`result()\` asks once a second.`
export const width = 500
export const can = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']

const kinds = {
  async chain({ input, step: api }) {
    let last = null
    for (let i = 0; i < input.steps; i += 1) last = await api.run({ name: `step ${i}` }, step)
    return last
  },
  async sleeper({ input, step: api }) {
    fallAsleep(input.key)
    await api.sleep('nap', `${NAP_MS}ms`)
    return api.run({ name: 'wake up' }, () => wakeUp(input.key))
  },
  async waiter({ step: api, run }) {
    await api.run({ name: 'arrive' }, arrive)
    return api.waitForSignal({ signal: run.id })
  },
}

export async function open({ url }) {
  const backend = await BackendPostgres.connect(url)
  const client = new OpenWorkflow({ backend })
  const defined = Object.fromEntries(
    Object.entries(kinds).map(([name, fn]) => [name, client.defineWorkflow({ name }, fn)]),
  )
  await client.newWorker({ concurrency: CONCURRENCY }).start()
  return {
    async start(kind, input) {
      const run = await defined[kind].run(input ?? {})
      return {
        result: () => run.result(),
        signal: (data) => client.sendSignal({ signal: run.workflowRun.id, data }),
      }
    },
  }
}
