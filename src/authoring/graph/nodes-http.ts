// A call over HTTP.

import { PerdureError } from '../../model/errors.js'
import type { NodeType } from './plan.js'
import type { Template } from './template.js'

const TIMEOUT_MS = 60_000

export const http: NodeType = {
  name: 'http',
  description: 'Calls a service over HTTP.',
  read: (config) => {
    config.only('url', 'method', 'headers', 'body')
    if (!config.has('url')) config.wrong('url', 'is missing')
    return config.template('')
  },
  run: async (visit) => {
    const { output } = await visit.step({
      timeoutMs: visit.node.timeoutMs ?? TIMEOUT_MS,
      code: async () => {
        const input = visit.fill(visit.node.config as Template)
        throw new PerdureError('OPTION_INVALID', `Not yet: ${JSON.stringify(input)}`, { hint: '' })
      },
    })
    return { output }
  },
}
