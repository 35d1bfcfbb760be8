// Graphs that are stored, with their versions. To read, to check and to store one executes nothing.

import { z } from '@hono/zod-openapi'
import type { GraphJson } from '../../index.js'
import { graphNotFound, requestInvalid } from '../errors.js'
import { route } from '../route.js'
import { dict, moment, orNull, pageOf, pageQuery } from '../schemas.js'
import { expressionCheck, nodeTypeInfo } from '../schemas-insight.js'
import { checkWorkspace, given } from './shared.js'

const tag = 'graphs'

const { order: _, ...page } = pageQuery

const stored = z
  .object({
    name: z.string(),
    version: z.number(),
    workspace: orNull(z.string()),
    isArchived: z.boolean(),
    createdAt: moment,
    updatedAt: moment,
  })
  .openapi('StoredGraph')
const version = z.object({
  version: z.number(),
  note: orNull(z.string()),
  author: orNull(z.string()).openapi({ description: 'The name of the token that saved it.' }),
  createdAt: moment,
})
const problem = z.object({ path: z.string(), message: z.string() })

const list = route({
  method: 'GET',
  path: '/graphs',
  role: 'viewer',
  tag,
  summary: 'The stored graphs that the workspace can start.',
  query: z.strictObject(page),
  answer: pageOf(stored),
  handle: async ({ client, query }) => ({ ...(await client.graphs.list(query)) }),
})

const validate = route({
  method: 'POST',
  path: '/graphs/validate',
  role: 'viewer',
  tag,
  summary: 'Everything that is wrong with a graph, at once. Nothing is stored.',
  body: z.strictObject({ graph: z.unknown() }),
  answer: z.object({ problems: z.array(problem) }),
  handle: ({ client, body }) => client.graphs.validate(body.graph),
})

const get = route({
  method: 'GET',
  path: '/graphs/{name}',
  role: 'viewer',
  tag,
  summary: 'A stored graph, in its current version or in another.',
  query: z.strictObject({
    version: z
      .string()
      .regex(/^[1-9]\d{0,8}$/, 'expected a whole number from 1')
      .transform(Number)
      .optional()
      .openapi({ type: 'integer', minimum: 1 }),
  }),
  answer: stored.extend({ note: orNull(z.string()), author: orNull(z.string()), json: dict }),
  handle: async ({ client, params, query }) => {
    const found = await client.graphs.get(params.name ?? '', given(query))
    if (found === null) throw graphNotFound(params.name ?? '')
    return found
  },
})

const versions = route({
  method: 'GET',
  path: '/graphs/{name}/versions',
  role: 'viewer',
  tag,
  summary: 'Its versions, newest first.',
  query: z.strictObject(page),
  answer: pageOf(version),
  handle: async ({ client, params, query }) => ({
    ...(await client.graphs.versions(params.name ?? '', query)),
  }),
})

const save = route({
  method: 'PUT',
  path: '/graphs/{name}',
  role: 'author',
  tag,
  summary:
    'A new version, which new runs take from now on. `expected`: the version that was changed, 0 for a new graph.',
  body: z.strictObject({
    graph: z.looseObject({ id: z.string() }),
    expected: z.number().optional(),
    note: z.string().max(1_000).optional(),
    workspace: z.string().optional(),
  }),
  answer: z.object({ name: z.string(), version: z.number(), isNew: z.boolean() }),
  handle: async (call) => {
    const { graph, workspace, ...options } = call.body
    checkWorkspace(call, workspace)
    if (graph.id !== call.params.name) {
      throw requestInvalid([{ path: 'body.graph.id', message: 'is not the name in the address' }])
    }
    const saved = given({ ...options, author: call.caller.name })
    return call.client.graphs.save(graph as unknown as GraphJson, saved)
  },
})

const archive = route({
  method: 'DELETE',
  path: '/graphs/{name}',
  role: 'author',
  tag,
  summary: 'Nothing starts it any more, until it is saved again. Its runs go on.',
  handle: async ({ client, params }) => client.graphs.archive(params.name ?? ''),
})

const types = route({
  method: 'GET',
  path: '/node-types',
  role: 'viewer',
  tag,
  summary: 'The types of nodes that graphs may have here, with the schemas of their configs.',
  answer: z.object({ items: z.array(nodeTypeInfo) }),
  handle: ({ engine }) => ({ items: engine.nodeTypes() }),
})

const check = route({
  method: 'POST',
  path: '/expressions/check',
  role: 'viewer',
  tag,
  summary: 'What is wrong with an expression, and which names it can read. Nothing is evaluated.',
  body: z.strictObject({
    cel: z.string().max(10_000),
    graph: z.unknown().optional(),
    node: z.string().max(128).optional(),
  }),
  answer: expressionCheck,
  handle: ({ client, body: { cel, ...at } }) => client.graphs.checkExpression(cel, given(at)),
})

export const graphRoutes = [list, validate, get, versions, save, archive, types, check]
