import { DBOS } from '@dbos-inc/dbos-sdk'
import { arrive, fallAsleep, NAP_MS, step, wakeUp } from '../user-code.mjs'

const POOL = 20
const SIGNAL_SECONDS_MAX = 600

export const settings = `Workflows started in the process that runs them (no queue), \`systemDatabasePoolSize: ${POOL}\`, no tracing; 1,000 starters.`
export const width = 1_000
export const can = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']

const kinds = {
  async chain({ steps }) {
    let last = null
    for (let i = 0; i < steps; i += 1) {
      last = await DBOS.runStep(async () => step(), { name: 'step' })
    }
    return last
  },
  async sleeper({ key }) {
    fallAsleep(key)
    await DBOS.sleep(NAP_MS)
    return DBOS.runStep(async () => wakeUp(key), { name: 'wake up' })
  },
  async waiter() {
    await DBOS.runStep(async () => arrive(), { name: 'arrive' })
    return DBOS.recv('go', SIGNAL_SECONDS_MAX)
  },
}

export async function open({ url }) {
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: POOL,
    logLevel: 'error',
  })
  const registered = Object.fromEntries(
    Object.entries(kinds).map(([name, fn]) => [name, DBOS.registerWorkflow(fn, { name })]),
  )
  await DBOS.launch()
  return {
    async start(kind, input) {
      const run = await DBOS.startWorkflow(registered[kind])(input)
      return {
        result: () => run.getResult(),
        signal: (payload) => DBOS.send(run.workflowID, payload, 'go'),
      }
    },
  }
}
