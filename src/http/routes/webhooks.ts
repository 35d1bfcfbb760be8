// Webhook triggers, for people. The requests themselves come to /hooks/…: src/http/hooks.ts.

import { z } from '@hono/zod-openapi'
import type { WebhookInfo } from '../../index.js'
import { webhookNotFound } from '../errors.js'
import { type Call, route } from '../route.js'
import { moment, orNull } from '../schemas.js'

const tag = 'webhooks'

const info = z
  .object({
    id: z.string(),
    workflow: z.string(),
    workspace: z.string(),
    path: z.string().openapi({ description: 'Behind /hooks/. Whoever knows it may start runs.' }),
    isSigned: z.boolean(),
    createdAt: moment,
    rotatedAt: orNull(moment),
  })
  .openapi('Webhook')

/** Those of the caller's workspace. */
async function own({ engine, workspace }: Pick<Call, 'engine' | 'workspace'>) {
  return (await engine.webhooks.list()).filter((one: WebhookInfo) => one.workspace === workspace)
}

const list = route({
  method: 'GET',
  path: '/webhooks',
  role: 'operator',
  tag,
  summary: 'The addresses at which requests start runs: their paths are secrets.',
  answer: z.object({ items: z.array(info) }),
  handle: async (call) => ({ items: await own(call) }),
})

const rotate = route({
  method: 'POST',
  path: '/webhooks/{id}/rotate',
  role: 'author',
  tag,
  summary: 'A new path; the old one is gone at once.',
  answer: info,
  handle: async (call) => {
    const id = call.params.id ?? ''
    if (!(await own(call)).some((one) => one.id === id)) throw webhookNotFound(id)
    return call.engine.webhooks.rotate(id)
  },
})

export const webhookRoutes = [list, rotate]
