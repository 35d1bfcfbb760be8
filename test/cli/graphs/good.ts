import { graph } from '../../../src/index.js'

export const good: unknown = graph({
  id: 'good',
  nodes: [{ id: 'a', type: 'set', config: { x: 1 } }],
  edges: [{ from: 'trigger', to: 'a' }],
})
