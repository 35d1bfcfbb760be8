// A worker process on Redis, to be killed. ORDER: { database, schema, ledger }. It says { open } on stdout, and writes what it executes to
// the ledger before it goes on.

import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { composeEngine } from '../../dist/compose-engine.js'
import { readEngineOptions } from '../../dist/engine/options.js'
import { workflow } from '../../dist/index.js'

const { database, schema, ledger } = JSON.parse(process.env.ORDER)
const STEPS = 6

const payment = workflow('payment', async (wf, n) => {
  let sum = n
  for (let step = 1; step <= STEPS; step += 1) {
    sum = await wf.do(`add ${step}`, async () => {
      appendFileSync(ledger, `${wf.run.id} ${step}\n`)
      await sleep(5)
      return sum + step
    })
    if (step === 3) await wf.sleep('rest', 100)
  }
  return sum
})

const silent = () => {}
const log = { debug: silent, info: silent, warn: silent, error: silent }
const options = {
  database,
  schema,
  workflows: [payment],
  log,
  worker: { concurrency: 8, lease: 3_000 },
}
await composeEngine(readEngineOptions(options, {}), { kernel: { pollMs: 100 } })
process.stdout.write('open\n')
