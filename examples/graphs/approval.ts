// Somebody has two days to approve; then the boss has one; then it is refused. Days pass in a moment: the clock is a test's.

import { graph } from 'perdure'
import { createTestEngine } from 'perdure/testing'

const match = { id: { cel: 'input.id' } }
const approval = graph({
  id: 'approval',
  settings: { waitTimeout: '7 days' },
  nodes: [
    {
      id: 'answer',
      type: 'wait-for-event',
      config: { mode: 'event', event: 'approval.answered', match },
      timeout: '2 days',
    },
    {
      id: 'reminded',
      type: 'emit',
      config: { event: 'boss.asked', payload: { id: { cel: 'input.id' } } },
    },
    {
      id: 'escalated',
      type: 'wait-for-event',
      config: { mode: 'event', event: 'approval.answered', match },
      timeout: '1 day',
    },
    { id: 'said', type: 'set', config: { by: { cel: 'answer.by' } } },
    { id: 'bossSaid', type: 'set', config: { by: { cel: 'escalated.by' } } },
    { id: 'nobody', type: 'return', config: { output: 'refused: nobody has answered' } },
    { id: 'done', type: 'merge' },
  ],
  edges: [
    { from: 'trigger', to: 'answer' },
    { from: 'answer', to: 'said' },
    { from: 'answer', to: 'reminded', when: 'timeout' },
    { from: 'reminded', to: 'escalated' },
    { from: 'escalated', to: 'bossSaid' },
    { from: 'escalated', to: 'nobody', when: 'timeout' },
    { from: 'said', to: 'done' },
    { from: 'bossSaid', to: 'done' },
  ],
  output: { cel: "'approved by ' + by" },
})

const engine = await createTestEngine({ workflows: [approval] })
const [quick, slow, silent] = [
  await engine.start(approval, { id: 'a-1' }),
  await engine.start(approval, { id: 'a-2' }),
  await engine.start(approval, { id: 'a-3' }),
]
await engine.settle()
await engine.emit('approval.answered', { id: 'a-1', by: 'ada' })
console.log(await quick.result()) // → approved by ada

await engine.advance('2 days')
await engine.emit('approval.answered', { id: 'a-2', by: 'the boss' })
console.log(await slow.result()) // → approved by the boss

await engine.advance('1 day')
console.log(await silent.result()) // → refused: nobody has answered
await engine.close()
