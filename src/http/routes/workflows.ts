// Definitions, and starts of their runs.

import { z } from '@hono/zod-openapi'
import { PerdureError, shown } from '../../model/errors.js'
import { DEFINITION_NAME } from '../../model/ids.js'
import { requestInvalid, requestTooLarge } from '../errors.js'
import { Answer, API, type Call, route } from '../route.js'
import {
  description,
  dict,
  duration,
  filterQuery,
  pageOf,
  pageQuery,
  runId,
  runInfo,
  STATUSES,
  shownDocument,
  storedError,
  texts,
} from '../schemas.js'
import { checkWorkspace, given, isCode, isKnown, sameKey, seenBy } from './shared.js'

const tag = 'workflows'
export const BATCH_MAX = 1_000

const message = z.strictObject({
  name: z.string(),
  payload: z.unknown().optional(),
  id: z.string().optional(),
})
const startFields = {
  input: z.unknown().optional(),
  id: z.string().optional(),
  workspace: z.string().optional(),
  tags: texts.optional(),
  priority: z.number().optional(),
  delay: duration.optional(),
  timeout: duration.optional(),
  message: message.optional(),
}
/** What a start of its own takes, alone or among others. */
export const loneFields = {
  ...startFields,
  debounce: z.strictObject({ key: z.string(), for: duration }).optional(),
  version: z.number().optional().openapi({ description: 'Of a stored graph.' }),
  snapshot: z.unknown().optional(),
}
const startBody = z.strictObject(loneFields).openapi('Start')
const item = z.strictObject(startFields)

type StartBody = z.output<typeof startBody>

/** A name that nothing here and no live worker knows is a slip: its run would wait for ever. */
export async function known({ engine, client }: Call, name: string): Promise<string> {
  if (!DEFINITION_NAME.test(name)) {
    throw new PerdureError('NAME_INVALID', `${shown(name)} cannot be the name of a definition.`, {
      hint: 'use a letter, then up to 127 of letters, digits, _ . -',
    })
  }
  if (await isKnown(engine, client, name)) return name
  throw new PerdureError('DEFINITION_UNKNOWN', `There is no definition "${name}".`, {
    hint: 'GET /api/v1/workflows has those of this server and of all workers',
  })
}

/** As engine.start takes them. The workspace is that of the client, and no other. */
export function optionsOf(
  { input: _, workspace: __, ...options }: StartBody,
  id: string | undefined,
) {
  return given({ ...options, id }) as Record<string, unknown>
}

const list = route({
  method: 'GET',
  path: '/workflows',
  role: 'viewer',
  tag,
  summary: 'All definitions of this server, and the names of those that only other workers have.',
  answer: z.object({
    items: z.array(description),
    elsewhere: z.array(z.object({ name: z.string(), version: z.string() })),
  }),
  handle: async ({ engine }) => {
    const items = engine.definitions()
    const workers = await engine.workers()
    const others = workers
      .flatMap(({ workflows }) => workflows)
      .filter((code) => isCode(code) && !items.some((one) => one.name === code.name))
    const unique = new Map(others.map((one) => [`${one.name}@${one.version}`, one]))
    return { items, elsewhere: [...unique.values()] }
  },
})

const describe = route({
  method: 'GET',
  path: '/workflows/{name}',
  role: 'viewer',
  tag,
  summary: 'What a definition is made of: its input, signals, places and transitions.',
  answer: description,
  handle: ({ client, params }) => client.describe(params.name ?? ''),
})

const start = route({
  method: 'POST',
  path: '/workflows/{name}/runs',
  role: 'operator',
  tag,
  summary: 'Starts a run. The same id or idempotency-key with the same input is the same run.',
  body: startBody,
  isBodyOptional: true,
  status: 201,
  answer: runId,
  handle: async (call) => {
    const { client, body, key, params } = call
    checkWorkspace(call, body.workspace)
    const name = await known(call as Call, params.name ?? '')
    const options = optionsOf(body, sameKey(key, body.id))
    const { id } = await client.start(name, body.input as never, options as never)
    return new Answer({ id }, { headers: { location: `${API}/runs/${encodeURIComponent(id)}` } })
  },
})

const startMany = route({
  method: 'POST',
  path: '/workflows/{name}/runs/batch',
  role: 'operator',
  tag,
  summary: `Starts up to ${BATCH_MAX} runs: all are checked before the first is stored.`,
  body: z.strictObject({ items: z.array(item) }),
  status: 201,
  answer: z.object({ items: z.array(runId) }),
  handle: async (call) => {
    const { client, body, key, params } = call
    if (body.items.length > BATCH_MAX) {
      throw requestTooLarge(`it has ${body.items.length} items`, `${BATCH_MAX} items in one batch`)
    }
    for (const one of body.items) checkWorkspace(call, one.workspace)
    const name = await known(call as Call, params.name ?? '')
    const items = body.items.map((one, i) => {
      const id = sameKey(key === undefined ? undefined : (one.id ?? `${key}:${i}`), one.id)
      return { input: one.input, options: optionsOf(one, id) }
    })
    const handles = await client.startMany(name, items as never)
    return { items: handles.map(({ id }) => ({ id })) }
  },
})

const stateless = route({
  method: 'POST',
  path: '/workflows/{name}/stateless',
  role: 'operator',
  tag,
  summary: 'Runs it in memory and gives its outcome. Nothing is stored.',
  body: z.strictObject({ input: z.unknown().optional(), timeout: duration.optional() }),
  isBodyOptional: true,
  answer: z.object({
    id: z.string(),
    status: z.enum(STATUSES),
    output: z.unknown().optional(),
    error: storedError.optional(),
    documents: z.array(shownDocument),
  }),
  handle: async ({ client, body, params, caller }) => {
    const { input, timeout } = body
    const options = given({ timeout, stateless: true })
    const outcome = await client.run(params.name ?? '', input as never, options as never)
    return seenBy(caller, outcome as typeof outcome & { error?: undefined })
  },
})

const send = route({
  method: 'POST',
  path: '/workflows/{name}/runs/{id}/send',
  role: 'operator',
  tag,
  summary:
    'An event for an event machine, which the first one creates; answers when it is at rest.',
  body: z.strictObject({
    event: dict,
    id: z.string().optional(),
    workspace: z.string().optional(),
  }),
  answer: z.object({
    id: z.string(),
    state: z.string(),
    transitions: z.number(),
    done: z.boolean(),
    snapshot: z.looseObject({ state: z.string(), status: z.string() }),
  }),
  handle: async (call) => {
    const { client, body, key, params } = call
    checkWorkspace(call, body.workspace)
    const name = await known(call as Call, params.name ?? '')
    const options = given({ id: sameKey(key, body.id) })
    return client.send(name, params.id ?? '', body.event as never, options)
  },
})

const { workflow: _, ...ofOne } = filterQuery

const executions = route({
  method: 'GET',
  path: '/workflows/{name}/executions',
  role: 'viewer',
  tag,
  summary: 'The runs of a definition, newest first.',
  query: z.strictObject({ ...ofOne, ...pageQuery }),
  answer: pageOf(runInfo),
  handle: async ({ client, params, query, caller }) => {
    const { tag: tags, ...filter } = query
    const page = await client.list(
      given({ ...filter, tags: tagsOf(tags), workflow: params.name ?? '' }) as never,
    )
    return { items: page.items.map((run) => seenBy(caller, run)), next: page.next }
  },
})

/** name:value, several times; the name is escaped as in a path, for it may have a colon. */
export function tagsOf(pairs: readonly string[] | undefined): Record<string, string> | undefined {
  return pairs && Object.fromEntries(pairs.map(tagOf))
}

function tagOf(pair: string): [string, string] {
  const colon = pair.indexOf(':')
  try {
    return [decodeURIComponent(pair.slice(0, colon)), pair.slice(colon + 1)]
  } catch {
    throw requestInvalid([{ path: 'query.tag', message: 'is not name:value' }])
  }
}

export const workflowRoutes = [list, describe, start, startMany, stateless, send, executions]
