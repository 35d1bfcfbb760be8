// A graph as a definition.

import type { Made } from '../definition.js'

export type GraphMade = Extract<Made, { kind: 'graph' }>
