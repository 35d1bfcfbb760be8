// W11: nodes of graphs, in a chain of ten and as one before fifty before one, next to the same steps as a function; and runs
// under a limit per key, with a thousand keys. What flows of BullMQ do of it is in `./peers/bullmq.mjs`.

import { createEngine, graph, nodeType, workflow } from '../dist/index.js'
import { PAYLOAD } from './user-code.mjs'
import { CHAIN, perSecond, WIDTH } from './workloads.mjs'

const KEYS = 1_000
/** More than are ever open: what is measured is what counting costs, not waiting for a slot. */
const settings = { concurrency: 10_000, perWorkspace: 10_000 }

const work = nodeType('bench.work', {}, async () => ({ payload: PAYLOAD }))
const node = (id) => ({ id, type: 'bench.work' })
const ids = Array.from({ length: CHAIN }, (_, i) => `n${i}`)

const chain = graph({
  id: 'chain',
  settings,
  nodes: ids.map(node),
  edges: ids.map((to, i) => ({ from: ids[i - 1] ?? 'trigger', to })),
  output: {},
})

const wide = Array.from({ length: WIDTH }, (_, i) => `w${i}`)
const fan = graph({
  id: 'fan',
  settings,
  nodes: [node('first'), ...wide.map(node), node('last')],
  edges: [
    { from: 'trigger', to: 'first' },
    ...wide.flatMap((id) => [
      { from: 'first', to: id },
      { from: id, to: 'last' },
    ]),
  ],
  output: {},
})

const steps = workflow('steps', async (wf) => {
  for (const id of ids) await wf.do(id, async () => ({ payload: PAYLOAD }))
})

const keyed = workflow(
  'keyed',
  { limits: { perKey: { key: 'key', concurrency: 1 } } },
  async (wf, _input) => {
    await wf.do('step', async () => ({ payload: PAYLOAD }))
  },
)
const free = workflow('free', async (wf, _input) => {
  await wf.do('step', async () => ({ payload: PAYLOAD }))
})

export async function graphs({ url, seconds }) {
  const engine = await createEngine({
    database: url,
    workflows: [chain, fan, steps, keyed, free],
    nodeTypes: [work],
    worker: { concurrency: 1_000 },
  })
  const rate = async (start, each) => {
    await perSecond(start, Math.min(seconds, 1))
    return (await perSecond(start, seconds)) * each
  }
  let next = 0
  const keyOf = () => {
    next += 1
    return { key: `k${next % KEYS}` }
  }
  const figures = {
    functions: await rate(() => engine.start(steps), CHAIN),
    chain: await rate(() => engine.start(chain), CHAIN),
    fan: await rate(() => engine.start(fan), WIDTH + 2),
    free: await rate(() => engine.start(free, keyOf()), 1),
    keyed: await rate(() => engine.start(keyed, keyOf()), 1),
  }
  await engine.close()
  return figures
}
