// How an answer is written: plain or rich, with the headers that all have.

import { SECURITY_HEADERS } from './guard.js'
import type { HeaderReader } from './headers.js'
import { plainText } from './plain.js'
import { Answer, type Route } from './route.js'
import { RICH_TYPE, richText } from './values.js'

/** An answer that is whole, and not yet a Response: headers that are put on one later cost more than all the rest of it. */
export class Reply {
  readonly text: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(text: string, status: number, headers: Readonly<Record<string, string>>) {
    this.text = text
    this.status = status
    this.headers = headers
  }
}

export function written(one: Route, given: unknown, headers: HeaderReader): Reply | Response {
  if (given instanceof Response) return given
  const { value, more } = given instanceof Answer ? given : new Answer(given, {})
  const isRich = (headers.get('accept') ?? '').split(',').some((type) => type.trim() === RICH_TYPE)
  const shown = value === undefined && one.answer === null ? { ok: true } : value
  return new Reply(isRich ? richText(shown) : plainText(shown), more.status ?? one.status, {
    'content-type': isRich ? RICH_TYPE : 'application/json',
    ...more.headers,
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

export function finished(
  answer: Reply | Response,
  requestId: string,
  origin: string | null,
): Response {
  if (answer instanceof Reply) {
    const { text, status, headers } = answer
    const all = { ...SECURITY_HEADERS, ...headers, 'x-request-id': requestId }
    return new Response(text, {
      status,
      headers: origin === null ? all : { ...all, ...forOrigin(origin) },
    })
  }
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
    // The files of the Studio have a policy and a time to be kept of their own.
    if (!answer.headers.has(name)) answer.headers.set(name, value)
  }
  answer.headers.set('x-request-id', requestId)
  if (origin === null) return answer
  for (const [name, value] of Object.entries(forOrigin(origin))) answer.headers.set(name, value)
  return answer
}

const forOrigin = (origin: string): Record<string, string> => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'x-request-id, location, retry-after',
  'cross-origin-resource-policy': 'cross-origin',
  vary: 'origin',
})
