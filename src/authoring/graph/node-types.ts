// All types of nodes that come with the engine.

import { emit, machineEvent, task, workflow } from './nodes-call.js'
import { loop, retry, tryCatch } from './nodes-container.js'
import {
  cancel,
  condition,
  end,
  fork,
  merge,
  returnNode,
  set,
  switchNode,
  trigger,
} from './nodes-flow.js'
import { http } from './nodes-http.js'
import { delay, waitForEvent } from './nodes-wait.js'
import type { NodeType } from './plan.js'

const onError: NodeType = {
  name: 'on-error',
  description: 'What follows it is run when a node has failed and nobody caught it.',
  read: (config) => config.only(),
  run: async () => ({}),
}

const ALL = [
  ...[trigger, set, condition, switchNode, fork, merge, delay, waitForEvent, loop, tryCatch],
  ...[retry, onError, http, task, workflow, machineEvent, emit, end, returnNode, cancel],
]

export const BUILT_IN: ReadonlyMap<string, NodeType> = new Map(ALL.map((type) => [type.name, type]))
