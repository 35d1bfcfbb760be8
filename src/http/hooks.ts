// POST /hooks/<path>: requests from outside that start runs. Who sends them has no token: the path is secret, or they are signed.

import type { Engine } from '../index.js'
import { bytesOf } from './body.js'

export const HOOKS = '/hooks/'

export async function receive(engine: Engine, request: Request, path: string): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const answer = await engine.webhooks.receive(path, {
    method: request.method,
    headers: [...request.headers],
    body: await bytesOf(request),
    query: [...searchParams],
  })
  return new Response(JSON.stringify(answer), {
    status: answer.started ? 202 : 200,
    headers: { 'content-type': 'application/json' },
  })
}
