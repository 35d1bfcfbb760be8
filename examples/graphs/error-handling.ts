// Payment is tried again, a receipt may fail without harm, and whatever else goes wrong is written down once.

import { createEngine, graph, nodeType } from 'perdure'

let calls = 0
const pay = nodeType('shop.pay', {}, () => {
  calls += 1
  if (calls % 3 !== 0) throw new Error('the bank is busy')
  return { call: calls }
})
const mail = nodeType('shop.mail', {}, () => {
  throw new Error('no such mailbox')
})
const pack = nodeType('shop.pack', {}, ({ sku }: { sku: string }) => {
  if (sku === 'unicorn') throw new Error('there is none')
  return { sku }
})

const order = graph({
  id: 'careful-order',
  nodes: [
    { id: 'steady', type: 'retry', config: { attempts: 4, delay: 10 } },
    { id: 'paid', type: 'shop.pay', parent: 'steady' },
    { id: 'safe', type: 'try-catch' },
    { id: 'receipt', type: 'shop.mail', parent: 'safe' },
    { id: 'noted', type: 'set', parent: 'safe', config: { receipt: { cel: 'error.message' } } },
    { id: 'packed', type: 'shop.pack', config: { sku: { cel: 'input.sku' } } },
    { id: 'failed', type: 'on-error' },
    {
      id: 'told',
      type: 'return',
      config: {
        output: { state: 'open', at: { cel: 'error.nodeId' }, why: { cel: 'error.message' } },
      },
    },
  ],
  edges: [
    { from: 'trigger', to: 'steady' },
    { from: 'steady', to: 'safe' },
    { from: 'safe', to: 'noted', when: 'catch' },
    { from: 'safe', to: 'packed' },
    { from: 'failed', to: 'told' },
  ],
  output: { state: 'shipped', call: { cel: 'paid.call' }, receipt: { cel: 'receipt' } },
})

const engine = await createEngine({
  database: 'memory:',
  workflows: [order],
  nodeTypes: [pay, mail, pack],
})
const fine = await engine.start(order, { sku: 'pen' })
console.log(await fine.result()) // → { state: 'shipped', call: 3, receipt: 'no such mailbox' }

const wrong = await engine.start(order, { sku: 'unicorn' })
console.log(await wrong.result()) // → { state: 'open', at: 'packed', why: 'there is none' }
console.log(await wrong.status()) // → completed
await engine.close()
