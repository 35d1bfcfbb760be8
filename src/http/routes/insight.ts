// What a user interface shows of many runs at once, and of one run at an earlier time.

import { z } from '@hono/zod-openapi'
import { route } from '../route.js'
import { instant, ofWorkflow, pageOf, pageQuery } from '../schemas.js'
import {
  activity,
  activityQuery,
  inboxItem,
  runAt,
  seqQuery,
  stepStats,
} from '../schemas-insight.js'
import { checkWorkflow, given, seenBy } from './shared.js'

const role = 'viewer'
const { order: _, ...page } = pageQuery

const active = route({
  method: 'GET',
  path: '/activity',
  role,
  tag: 'insight',
  summary: 'How many runs were started and have ended, by time. Default: the last 24 hours.',
  query: z.strictObject({ ...ofWorkflow, ...activityQuery }),
  answer: activity,
  handle: async ({ client, query }) => client.activity(given(query)),
})

const inbox = route({
  method: 'GET',
  path: '/inbox',
  role,
  tag: 'insight',
  summary: 'Runs that wait for a person, the oldest first, with what can be sent to them.',
  query: z.strictObject({ ...ofWorkflow, ...page }),
  answer: pageOf(inboxItem),
  handle: async ({ client, query, caller }) => {
    const { items, next } = await client.inbox(given(query))
    return { items: items.map((item) => seenBy(caller, item)), next }
  },
})

const steps = route({
  method: 'GET',
  path: '/workflows/{name}/steps',
  role,
  tag: 'insight',
  summary: 'How often each step of a definition ran, failed and was tried again, and how long.',
  query: z.strictObject({ from: instant.optional() }),
  answer: stepStats,
  handle: async ({ client, params, query }) => client.stepStats(params.name ?? '', given(query)),
})

const at = route({
  method: 'GET',
  path: '/runs/{id}/at',
  role,
  tag: 'runs',
  summary: 'The run as it was behind an entry of its journal.',
  query: z.strictObject({ ...seqQuery, ...ofWorkflow }),
  answer: runAt,
  handle: async ({ client, params, query, caller }) => {
    await checkWorkflow(client, params.id ?? '', query)
    return seenBy(caller, await client.at(params.id ?? '', query.seq))
  },
})

export const insightRoutes = [active, inbox, steps, at]
