// The OpenAPI document, made of the table of routes.

import { type OpenAPIHono, z } from '@hono/zod-openapi'
import { fullPath, type Route } from './route.js'
import { ROUTES } from './routes/index.js'
import { problemSchema } from './schemas.js'

export function documentRoutes(app: Pick<OpenAPIHono, 'openAPIRegistry' | 'getOpenAPI31Document'>) {
  const { openAPIRegistry: registry } = app
  registry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  for (const one of ROUTES) registry.registerPath(pathOf(one))
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Perdure',
      version: '1',
      description:
        'Durable runs: start them, read them, send to them. Values are plain JSON; with `accept: application/vnd.perdure.value` they come in the exact form that perdure/client speaks.',
    },
  })
}

function pathOf(one: Route) {
  const names = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const params = z.object(Object.fromEntries(names.map((name) => [name, z.string()])))
  const isJson = one.contentType === 'application/json'
  const schema = one.answer ?? (isJson ? z.object({ ok: z.literal(true) }) : z.string())
  const problem = {
    description: 'What went wrong, with a code and a hint.',
    content: { 'application/problem+json': { schema: problemSchema } },
  }
  const headers = z.object({
    'perdure-workspace': z.string().optional(),
    ...(one.method !== 'GET' && { 'idempotency-key': z.string().optional() }),
  })
  return {
    method: one.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete',
    path: fullPath(one),
    operationId: operationId(one),
    tags: [one.tag],
    summary: one.summary,
    description: one.role === 'anyone' ? 'For anyone.' : `For the role ${one.role} and above.`,
    ...(one.role !== 'anyone' && { security: [{ token: [] }] }),
    request: {
      ...(names.length > 0 && { params }),
      ...(one.query && { query: one.query as z.ZodObject }),
      ...(one.role !== 'anyone' && { headers }),
      ...(one.shownBody && {
        body: {
          required: !one.isBodyOptional,
          content: { 'application/json': { schema: one.shownBody } },
        },
      }),
    },
    responses: {
      [one.status]: { description: 'Done.', content: { [one.contentType]: { schema } } },
      default: problem,
    },
  }
}

/** get_runs_id_history */
function operationId({ method, path }: Route): string {
  return `${method.toLowerCase()}${path.replace(/[{}]/g, '').replace(/\W+/g, '_')}`
}
