import { graph } from '../../../src/index.js'

export const bad: unknown = graph({
  id: 'bad',
  nodes: [{ id: 'a', type: 'set', config: { x: 1 } }],
  edges: [{ from: 'trigger', to: 'b' }],
} as never)
