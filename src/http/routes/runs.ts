// Reading runs.

import { z } from '@hono/zod-openapi'
import { PerdureError } from '../../model/errors.js'
import { requestInvalid } from '../errors.js'
import { route } from '../route.js'
import {
  checkpoint,
  ended,
  explanation,
  filterQuery,
  journalEntry,
  loggedNode,
  ofWorkflow,
  pageOf,
  pageQuery,
  runInfo,
  shownDocument,
} from '../schemas.js'
import { causeFor, checkWorkflow, given, runOf, seenBy } from './shared.js'
import { tagsOf } from './workflows.js'

const tag = 'runs'
const role = 'viewer'
/** So long an answer is held back for a run that has not ended: proxies cut at 30 s or 60 s. */
const RESULT_WAIT_MAX_MS = 25_000

const list = route({
  method: 'GET',
  path: '/runs',
  role,
  tag,
  summary: 'Runs of the workspace, newest first.',
  query: z.strictObject({ ...filterQuery, ...pageQuery }),
  answer: pageOf(runInfo),
  handle: async ({ client, query, caller }) => {
    const { tag: tags, ...filter } = query
    const page = await client.list(given({ ...filter, tags: tagsOf(tags) }) as never)
    return { items: page.items.map((run) => seenBy(caller, run)), next: page.next }
  },
})

const get = route({
  method: 'GET',
  path: '/runs/{id}',
  role,
  tag,
  summary: 'A run as it is now.',
  query: z.strictObject(ofWorkflow),
  answer: runInfo,
  handle: async ({ client, params, query, caller }) =>
    seenBy(caller, await runOf(client, params.id ?? '', query.workflow)),
})

const history = route({
  method: 'GET',
  path: '/runs/{id}/history',
  role,
  tag,
  summary: 'The journal of a run: everything that has happened, oldest first.',
  query: z.strictObject({ ...pageQuery, ...ofWorkflow }),
  answer: pageOf(journalEntry),
  handle: async ({ client, params, query: { workflow, ...page }, caller }) => {
    await checkWorkflow(client, params.id ?? '', { workflow })
    const { items, next } = await client.history(params.id ?? '', page)
    return { items: items.map((entry) => seenBy(caller, entry)), next }
  },
})

const checkpoints = route({
  method: 'GET',
  path: '/runs/{id}/checkpoints',
  role,
  tag,
  summary: 'Where a machine was, transition by transition.',
  query: z.strictObject({ ...pageQuery, ...ofWorkflow }),
  answer: pageOf(checkpoint),
  handle: async ({ client, params, query: { workflow, ...page } }) => {
    await checkWorkflow(client, params.id ?? '', { workflow })
    return { ...(await client.checkpoints(params.id ?? '', page)) }
  },
})

const documents = route({
  method: 'GET',
  path: '/runs/{id}/documents',
  role,
  tag,
  summary: 'What the run shows to people.',
  query: z.strictObject({ type: z.string().max(256).optional(), ...ofWorkflow }),
  answer: z.object({ items: z.array(shownDocument) }),
  handle: async ({ client, params, query: { workflow, type } }) => {
    await checkWorkflow(client, params.id ?? '', { workflow })
    return { items: await client.documents(params.id ?? '', type as string) }
  },
})

const children = route({
  method: 'GET',
  path: '/runs/{id}/children',
  role,
  tag,
  summary: 'The runs that it has started, newest first.',
  query: z.strictObject({ ...pageQuery, ...ofWorkflow }),
  answer: pageOf(runInfo),
  handle: async ({ client, params, query: { workflow, ...page }, caller }) => {
    const parent = await runOf(client, params.id ?? '', workflow)
    const found = await client.list({ ...page, parentId: parent.id })
    return { items: found.items.map((run) => seenBy(caller, run)), next: found.next }
  },
})

const nodes = route({
  method: 'GET',
  path: '/runs/{id}/nodes',
  role,
  tag,
  summary: 'What has become of each node of a run of a graph.',
  query: z.strictObject(ofWorkflow),
  answer: z.object({ items: z.array(loggedNode) }),
  handle: async ({ client, params, query, caller }) => {
    await checkWorkflow(client, params.id ?? '', query)
    const logged = await client.nodes(params.id ?? '')
    return { items: logged.map((node) => seenBy(caller, node)) }
  },
})

const explain = route({
  method: 'GET',
  path: '/runs/{id}/explain',
  role,
  tag,
  summary: 'Why is it not moving?',
  query: z.strictObject(ofWorkflow),
  answer: explanation,
  handle: async ({ client, params, query }) => {
    await checkWorkflow(client, params.id ?? '', query)
    return client.explain(params.id ?? '')
  },
})

const ENDS = ['WORKFLOW_FAILED', 'WORKFLOW_CANCELLED', 'WORKFLOW_TIMED_OUT'] as const

const result = route({
  method: 'GET',
  path: '/runs/{id}/result',
  role,
  tag,
  summary:
    'The end of a run. The answer is held back for up to waitMs; isOver says whether it has ended.',
  query: z.strictObject({
    ...ofWorkflow,
    waitMs: z
      .string()
      .regex(/^\d{1,5}$/, 'expected milliseconds')
      .transform((text) => Math.min(Number(text), RESULT_WAIT_MAX_MS))
      .optional()
      .openapi({ type: 'integer', minimum: 0, maximum: RESULT_WAIT_MAX_MS }),
  }),
  answer: ended,
  handle: async ({ client, params, query, request, caller }) => {
    const run = await runOf(client, params.id ?? '', query.workflow)
    const { id, workflow, status } = run
    const handle = client.handle(workflow, id)
    // What has ended is there, and only has to be read.
    const waitMs = run.finishedAt === null ? (query.waitMs ?? 0) : RESULT_WAIT_MAX_MS
    if (waitMs === 0) return { id, isOver: false, status }
    try {
      const options = { timeout: waitMs, signal: request.signal }
      return { id, isOver: true, status: 'completed', output: await handle.result(options) }
    } catch (error) {
      // Closed while it waited: whoever asks again asks another process, or new code.
      const isToAskAgain = PerdureError.is(error, 'WAIT_TIMED_OUT', 'ENGINE_CLOSED')
      if (isToAskAgain && run.finishedAt === null) return { id, isOver: false, status }
      if (!PerdureError.is(error, ...ENDS)) throw error
      const { code, message, hint } = error
      const cause = causeFor(caller, error.cause)
      const end = (await client.get(id)) ?? { status }
      return { id, isOver: true, status: end.status, failure: { code, message, hint, cause } }
    }
  },
})

const events = route({
  method: 'GET',
  path: '/runs/{id}/events',
  role,
  tag,
  summary:
    'Its journal as server-sent events: what is stored, then each entry as it is stored, until the run has ended. The id of an event is the number of its entry; last-event-id goes on behind it.',
  query: z.strictObject({ after: z.string().optional(), ...ofWorkflow }),
  contentType: 'text/event-stream',
  handle: async ({ client, params, query, request, stream, caller }) => {
    const after = afterOf(request.headers.get('last-event-id') ?? query.after)
    const { id, workflow } = await runOf(client, params.id ?? '', query.workflow)
    const handle = client.handle(workflow, id)
    return stream(async function* entries(signal) {
      for await (const entry of handle.events({ after, signal })) {
        yield { id: String(entry.seq), event: entry.kind, data: seenBy(caller, entry) }
      }
    })
  },
})

const published = route({
  method: 'GET',
  path: '/runs/{id}/stream',
  role,
  tag,
  summary:
    'What its steps publish as server-sent events: what is stored, then each value as it is stored, until the run has ended. The id of an event is its offset; last-event-id goes on behind it.',
  query: z.strictObject({ after: z.string().optional(), ...ofWorkflow }),
  contentType: 'text/event-stream',
  handle: async ({ client, params, query, request, stream }) => {
    const after = afterOf(request.headers.get('last-event-id') ?? query.after)
    const { id, workflow } = await runOf(client, params.id ?? '', query.workflow)
    const handle = client.handle(workflow, id)
    return stream(async function* values(signal) {
      for await (const data of handle.stream({ after, signal })) {
        yield { id: String(data.offset), event: 'published', data }
      }
    })
  },
})

const changes = route({
  method: 'GET',
  path: '/changes',
  role,
  tag,
  summary:
    'What is committed to the runs of the workspace, as server-sent events: each change once, those of a run in order. last-event-id goes on behind that event, in every process. The event reload says that runs are to be listed again: the first one, and where something may be missing.',
  query: z.strictObject({ after: z.string().optional() }),
  contentType: 'text/event-stream',
  handle: ({ client, query, request, stream }) => {
    const after = request.headers.get('last-event-id') ?? query.after
    if (after !== undefined && after !== '' && !/^\d{1,19}-\d{1,18}-\d{1,9}$/.test(after)) {
      throw notAnEvent()
    }
    return stream(async function* committed(signal) {
      for await (const data of client.changes({ after: after || undefined, signal })) {
        yield { id: data.cursor, event: data.isReload ? 'reload' : 'change', data }
      }
    })
  },
})

const notAnEvent = () =>
  requestInvalid([{ path: 'headers.last-event-id', message: 'is not the id of an event' }])

function afterOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw notAnEvent()
}

export const runRoutes = [
  list,
  get,
  history,
  checkpoints,
  documents,
  children,
  nodes,
  explain,
  result,
  events,
  published,
  changes,
]
