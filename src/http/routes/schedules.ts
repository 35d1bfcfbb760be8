// Runs that start at certain times.

import { z } from '@hono/zod-openapi'
import { requestInvalid, scheduleNotFound } from '../errors.js'
import { Answer, API, route } from '../route.js'
import { duration, instant, pageOf, pageQuery, runId, scheduleInfo, texts } from '../schemas.js'
import { checkWorkspace, given, sameKey } from './shared.js'

const tag = 'schedules'

const { order: _, ...page } = pageQuery

const list = route({
  method: 'GET',
  path: '/schedules',
  role: 'viewer',
  tag,
  summary: 'The schedules of the workspace.',
  query: z.strictObject(page),
  answer: pageOf(scheduleInfo),
  handle: async ({ client, query }) => ({ ...(await client.schedules.list(query)) }),
})

const get = route({
  method: 'GET',
  path: '/schedules/{id}',
  role: 'viewer',
  tag,
  summary: 'A schedule.',
  answer: scheduleInfo,
  handle: async ({ client, params }) => {
    const schedule = await client.schedules.get(params.id ?? '')
    if (schedule === null) throw scheduleNotFound(params.id ?? '')
    return schedule
  },
})

const next = route({
  method: 'GET',
  path: '/schedules/{id}/next',
  role: 'viewer',
  tag,
  summary: 'Its next times.',
  query: z.strictObject({
    count: z
      .string()
      .regex(/^[1-9]\d{0,2}$/, 'expected a whole number from 1 to 999')
      .transform(Number)
      .optional()
      .openapi({ type: 'integer', minimum: 1, maximum: 999 }),
  }),
  answer: z.object({ items: z.array(z.string().openapi({ format: 'date-time' })) }),
  handle: async ({ client, params, query }) => ({
    items: await client.schedules.next(params.id ?? '', query.count),
  }),
})

const set = route({
  method: 'PUT',
  path: '/schedules/{id}',
  role: 'author',
  tag,
  summary: 'Makes it or changes it. One of cron, every and at says when.',
  body: z.strictObject({
    workflow: z.string(),
    cron: z.string().max(500).optional(),
    timezone: z.string().max(100).optional(),
    every: duration.optional(),
    at: instant.optional(),
    input: z.unknown().optional(),
    overlap: z.string().max(40).optional(),
    missed: z.string().max(40).optional(),
    catchUp: duration.optional(),
    jitter: duration.optional(),
    tags: texts.optional(),
    workspace: z.string().optional(),
  }),
  answer: scheduleInfo,
  handle: async (call) => {
    const { workspace, ...body } = call.body
    checkWorkspace(call, workspace)
    return call.client.schedules.set(given({ ...body, id: call.params.id ?? '' }) as never)
  },
})

const remove = route({
  method: 'DELETE',
  path: '/schedules/{id}',
  role: 'author',
  tag,
  summary: 'Deletes it. Its runs stay.',
  handle: async ({ client, params }) => client.schedules.delete(params.id ?? ''),
})

const pause = route({
  method: 'POST',
  path: '/schedules/{id}/pause',
  role: 'operator',
  tag,
  summary: 'Its times pass until it is resumed.',
  handle: async ({ client, params }) => client.schedules.pause(params.id ?? ''),
})

const resume = route({
  method: 'POST',
  path: '/schedules/{id}/resume',
  role: 'operator',
  tag,
  summary: 'It goes on with its next time.',
  handle: async ({ client, params }) => client.schedules.resume(params.id ?? ''),
})

const runNow = route({
  method: 'POST',
  path: '/schedules/{id}/run',
  role: 'operator',
  tag,
  summary: 'One run now, whatever its times say.',
  body: z.strictObject({ id: z.string().optional() }),
  isBodyOptional: true,
  status: 201,
  answer: runId,
  handle: async ({ client, params, key, body }) => {
    const options = given({ id: sameKey(key, body.id) })
    const { id } = await client.schedules.runNow(params.id ?? '', options)
    return new Answer({ id }, { headers: { location: `${API}/runs/${encodeURIComponent(id)}` } })
  },
})

const backfill = route({
  method: 'POST',
  path: '/schedules/{id}/backfill',
  role: 'author',
  tag,
  summary: 'Runs for the times from … to …; times that had their run have no second one.',
  body: z.strictObject({ from: instant, to: instant }),
  status: 201,
  answer: z.object({ items: z.array(runId) }),
  handle: async ({ client, params, body }) => {
    if (body.to < body.from) {
      throw requestInvalid([{ path: 'body.to', message: 'is before body.from' }])
    }
    const handles = await client.schedules.backfill(params.id ?? '', body)
    return { items: handles.map(({ id }) => ({ id })) }
  },
})

export const scheduleRoutes = [list, get, next, set, remove, pause, resume, runNow, backfill]
