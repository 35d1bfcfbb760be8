// A graph as a definition.

import type { Facts } from '../definition.js'
import type { Plan } from './plan.js'
import type { GraphJson } from './types.js'

export interface GraphMade extends Facts {
  readonly kind: 'graph'
  readonly plan: Plan
  readonly json: GraphJson
}
