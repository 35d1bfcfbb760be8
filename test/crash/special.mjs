// Workloads of single tests.

import { setTimeout as sleep } from 'node:timers/promises'
import { workflow } from '../../dist/index.js'

/** The one that is to be stopped does not end by itself. */
const HELD_MS = process.env.PERDURE_FAULT ? 60_000 : 2_500

export default function special({ ledger, say }) {
  /** One step that ends at once beside one that takes longer than it takes to notice a lost lease. */
  const held = workflow('held', async (wf) =>
    Promise.all([
      wf.do('quick', async (step) => {
        await ledger.begun(step, 'quick')
        return 1
      }),
      wf.do('long', async (step) => {
        await ledger.begun(step, 'long')
        const aborted = new Promise((resolve) => {
          const stop = () => {
            say({ aborted: step.run.id, code: step.signal.reason?.code })
            resolve(null)
          }
          if (step.signal.aborted) stop()
          else step.signal.addEventListener('abort', stop)
        })
        await Promise.race([aborted, sleep(HELD_MS)])
        return 2
      }),
    ]),
  )

  const poison = workflow('poison', async (wf) => {
    await wf.do('harmless', async (step) => ledger.begun(step, 'harmless'))
    await wf.do('deadly', async (step) => {
      await ledger.begun(step, 'deadly')
      process.kill(process.pid, 'SIGKILL')
      await sleep(1_000)
    })
  })

  /** Long enough to be in the company of a poisonous one. */
  const slow = workflow('slow', async (wf) => {
    for (const name of ['s1', 's2', 's3']) {
      await wf.do(name, async (step) => {
        await ledger.begun(step, name)
        await sleep(400)
      })
    }
    return 'slow'
  })

  const definitions = [held, poison, slow]
  const kinds = Object.fromEntries(
    definitions.map((definition) => [
      definition.name,
      {
        drive: async (engine, id) => {
          const handle = await engine.start(definition, undefined, { id })
          say({ acked: id })
          return handle
        },
      },
    ]),
  )
  return { definitions, kinds }
}
