// How an answer is written: plain or rich, with the headers that all have.

import { SECURITY_HEADERS } from './guard.js'
import { Answer, type Route } from './route.js'
import { plainText, RICH_TYPE, richText } from './values.js'

export function written(one: Route, given: unknown, headers: Headers): Response {
  if (given instanceof Response) return given
  const { value, more } = given instanceof Answer ? given : new Answer(given, {})
  const isRich = (headers.get('accept') ?? '').split(',').some((type) => type.trim() === RICH_TYPE)
  const shown = value === undefined && one.answer === null ? { ok: true } : value
  return new Response(isRich ? richText(shown) : plainText(shown), {
    status: more.status ?? one.status,
    headers: {
      'content-type': isRich ? RICH_TYPE : 'application/json',
      ...more.headers,
    },
  })
}

/** A browser asks whether a page of an origin that was named may call. */
export function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, accept, idempotency-key, last-event-id, perdure-workspace',
      'access-control-max-age': '600',
    },
  })
}

export function finished(response: Response, requestId: string, origin: string | null): Response {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
    // The files of the Studio have a policy and a time to be kept of their own.
    if (!response.headers.has(name)) response.headers.set(name, value)
  }
  response.headers.set('x-request-id', requestId)
  if (origin === null) return response
  response.headers.set('access-control-allow-origin', origin)
  response.headers.set('access-control-expose-headers', 'x-request-id, location, retry-after')
  response.headers.set('cross-origin-resource-policy', 'cross-origin')
  response.headers.set('vary', 'origin')
  return response
}
