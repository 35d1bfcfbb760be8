// A call over HTTP. What is reached, and what must not be, is decided where the engine calls it from.

import { shown } from '../../model/errors.js'
import { httpRefused } from './errors.js'
import type { HttpRequest } from './http-call.js'
import type { NodeType } from './plan.js'
import { readTemplate, type Template } from './template.js'
import type { Visit } from './visit.js'

const TIMEOUT_MS = 60_000
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

interface HttpConfig {
  readonly method: Template
  readonly url: Template
  readonly headers: Template
  readonly body: Template
}

export const http: NodeType = {
  name: 'http',
  description: 'Calls a service over HTTP. An answer of 400 or more is a failure of the node.',
  read: (config): HttpConfig => {
    config.only('url', 'method', 'headers', 'body')
    if (!config.has('url')) config.wrong('url', 'is missing')
    const { method = 'GET', url } = config.given
    if (typeof method === 'string' && !METHODS.includes(method)) {
      config.wrong('method', `is ${shown(method)}; it is ${METHODS.join(', ')} or an expression`)
    }
    if (typeof url === 'string' && !/^https?:\/\//.test(url)) {
      config.wrong('url', `is ${shown(url)}; it begins with http:// or https://`)
    }
    return {
      method: config.has('method') ? config.template('method') : readTemplate('GET', 'method'),
      url: config.template('url'),
      headers: config.has('headers') ? config.template('headers') : readTemplate({}, 'headers'),
      body: config.template('body'),
    }
  },
  run: async (visit: Visit) => {
    const { method, url, headers, body } = visit.node.config as HttpConfig
    const timeoutMs = visit.node.timeoutMs ?? TIMEOUT_MS
    const { output } = await visit.step({
      timeoutMs,
      code: async ({ signal }) => {
        const filled = {
          method: String(visit.fill(method)),
          url: String(visit.fill(url)),
          headers: visit.fill(headers) as HttpRequest['headers'],
          body: visit.fill(body),
        }
        const answer = await visit.scene.around.http({ ...filled, timeoutMs, signal })
        if (answer.status >= 400) throw httpRefused(visit, filled, answer)
        return { input: filled, output: answer }
      },
    })
    return { output }
  },
}
