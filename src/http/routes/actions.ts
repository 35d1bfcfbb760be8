// What is done to one run: messages, cancel, retry, pause, resume, fork.

import { z } from '@hono/zod-openapi'
import { Answer, API, route } from '../route.js'
import { dict, duration, ofWorkflow, runId, runInfo } from '../schemas.js'
import { checkWorkflow, checkWorkspace, given, sameKey, seenBy } from './shared.js'

const tag = 'runs'
const method = 'POST' as const
const role = 'operator' as const
const query = z.strictObject(ofWorkflow)
const workspace = z.string().optional()

const mail = {
  name: z.string(),
  payload: z.unknown().optional(),
  id: z.string().optional(),
  workspace,
}

const signal = route({
  method,
  path: '/runs/{id}/signals',
  role,
  tag,
  summary: 'Mail: stored, and kept until the run takes it.',
  query,
  body: z.strictObject(mail),
  handle: async (call) => {
    const { client, params, body, key } = call
    checkWorkspace(call, body.workspace)
    await checkWorkflow(client, params.id ?? '', call.query)
    const options = given({ id: sameKey(key, body.id) })
    await client.signal(params.id ?? '', body.name, body.payload, options)
  },
})

const trigger = route({
  method,
  path: '/runs/{id}/triggers',
  role,
  tag,
  summary:
    'A call: refused unless the run can take it now, or within a time; answers with the run.',
  query,
  body: z.strictObject({ ...mail, within: duration.optional() }),
  answer: runInfo,
  handle: async (call) => {
    const { client, params, body, key, caller } = call
    checkWorkspace(call, body.workspace)
    await checkWorkflow(client, params.id ?? '', call.query)
    const options = given({ id: sameKey(key, body.id), within: body.within }) as object
    return seenBy(caller, await client.trigger(params.id ?? '', body.name, body.payload, options))
  },
})

const cancel = route({
  method,
  path: '/runs/{id}/cancel',
  role,
  tag,
  summary: 'Stops it and undoes what it has done; force ends it without that.',
  query,
  body: z.strictObject({
    reason: z.string().max(4_096).optional(),
    id: z.string().optional(),
    force: z.boolean().optional(),
    workspace,
  }),
  isBodyOptional: true,
  handle: async (call) => {
    const { client, params, body, key } = call
    checkWorkspace(call, body.workspace)
    await checkWorkflow(client, params.id ?? '', call.query)
    const options = given({ id: sameKey(key, body.id), force: body.force })
    await client.cancel(params.id ?? '', body.reason, options)
  },
})

const retry = route({
  method,
  path: '/runs/{id}/retry',
  role,
  tag,
  summary: 'Runs again what has failed.',
  query,
  body: z.strictObject({ expectedAttempt: z.number().optional(), workspace }),
  isBodyOptional: true,
  handle: async (call) => {
    const { client, params, body } = call
    checkWorkspace(call, body.workspace)
    await checkWorkflow(client, params.id ?? '', call.query)
    await client.retry(params.id ?? '', given({ expectedAttempt: body.expectedAttempt }))
  },
})

const pause = route({
  method,
  path: '/runs/{id}/pause',
  role,
  tag,
  summary: 'It makes no progress until it is resumed.',
  query,
  handle: async ({ client, params, query: named }) => {
    await checkWorkflow(client, params.id ?? '', named)
    await client.pause(params.id ?? '')
  },
})

const resume = route({
  method,
  path: '/runs/{id}/resume',
  role,
  tag,
  summary: 'A paused run goes on.',
  query,
  handle: async ({ client, params, query: named }) => {
    await checkWorkflow(client, params.id ?? '', named)
    await client.resume(params.id ?? '')
  },
})

const fork = route({
  method,
  path: '/runs/{id}/fork',
  role: 'author',
  tag,
  summary: 'A new run that goes on from a point of another, with other results if some are given.',
  query,
  body: z.strictObject({
    from: z.union([z.string(), z.number()]).optional(),
    version: z.number().optional(),
    state: z.unknown().optional(),
    input: z.unknown().optional(),
    outputs: dict.optional(),
    id: z.string().optional(),
    workspace,
  }),
  isBodyOptional: true,
  status: 201,
  answer: runId,
  handle: async (call) => {
    const { client, params, body, key } = call
    checkWorkspace(call, body.workspace)
    await checkWorkflow(client, params.id ?? '', call.query)
    const { workspace: _, ...rest } = body
    const options = given({ ...rest, id: sameKey(key, body.id) })
    const { id } = await client.fork(params.id ?? '', options)
    return new Answer({ id }, { headers: { location: `${API}/runs/${encodeURIComponent(id)}` } })
  },
})

export const actionRoutes = [signal, trigger, cancel, retry, pause, resume, fork]
