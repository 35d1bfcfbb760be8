// Workloads of graphs: nodes in a row and side by side, which come together once; failures that are caught or tried again; a
// list done two at a time; an event that is waited for.

import { setTimeout as sleep } from 'node:timers/promises'
import { cel, graph, nodeType } from '../../dist/index.js'
import { shows } from './workloads-scopes.mjs'

const STEP_MS = 3

/** @param {{ ledger: object, begin: Function, square: object }} tools */
export function makeGraphWorkloads({ ledger, begin, square }) {
  /** `failsIn`: a part of the names under which it fails. */
  const note = nodeType('crash.note', {}, async ({ value, failsIn }, { nodeId, step }) => {
    const name = step.key.split('/').slice(2).join('/')
    await ledger.begun(step, name)
    await sleep(STEP_MS)
    if (failsIn && name.startsWith(failsIn)) throw new Error(`${nodeId} is refused`)
    return value ?? nodeId
  })

  const drawn = graph('drawn', {}, (g) => {
    const nine = g.do('nine', square, 3)
    g.fork('parts', {
      long: () => {
        g.node('cut', note.name)
        g.node('bend', note.name)
      },
      short: () => g.node('paint', note.name),
    })
    const joined = g.node('joined', note.name)
    const last = g.node('last', note.name, { value: joined })
    return { nine, last }
  })

  const careful = graph('careful', {}, (g) => {
    g.tryCatch(
      'safe',
      () => {
        g.node('good', note.name)
        g.node('bad', note.name, { failsIn: 'safe/' })
      },
      (error) => g.node('caught', note.name, { value: error.message }),
    )
    g.retry('steady', { attempts: 2, delay: 30 }, () => {
      g.node('first', note.name)
      g.node('second', note.name, { failsIn: 'steady/' })
    })
    g.loop('each', [1, 2, 3], (one) => g.node('done', note.name, { value: one }), { parallel: 2 })
    const end = g.node('end', note.name)
    return { caught: cel`caught`, each: cel`each`, end }
  })

  const listening = graph('listening', {}, (g) => {
    g.node('ready', note.name)
    const heard = g.waitForEvent('heard', 'called out', { match: { for: cel`run.executionId` } })
    g.delay('pause', 40)
    return { last: g.node('last', note.name, { value: heard.n }) }
  })

  const plain = (definition) => ({ drive: (engine, id) => begin(engine, definition, id) })
  const kinds = {
    drawn: plain(drawn),
    careful: plain(careful),
    listening: {
      drive: async (engine, id) => {
        const handle = await begin(engine, listening, id)
        await shows(engine, id, ({ reason }) => reason === 'event')
        // Twice: the second one is no other event.
        for (const n of [7, 7]) await engine.emit('called out', { for: id, n }, { id: `${id}-out` })
        return handle
      },
    },
  }
  return { definitions: [drawn, careful, listening], nodeTypes: [note], kinds }
}
