// What the HTTP API says when a request is wrong: each wording once.

import { PerdureError, shown } from '../model/errors.js'

export interface RequestProblem {
  /** 'body.input', 'query.limit'. */
  readonly path: string
  readonly message: string
}

const PROBLEMS_TOLD_MAX = 20

export const requestInvalid = (
  problems: readonly RequestProblem[],
  hint = 'GET /openapi.json says what each route takes',
): PerdureError<'REQUEST_INVALID'> => {
  const told = problems.slice(0, PROBLEMS_TOLD_MAX)
  const [first] = told
  const where = first ? `${first.path} ${first.message}` : 'it cannot be read'
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return new PerdureError('REQUEST_INVALID', `The request is not valid: ${where}${more}.`, {
    hint,
    details: { problems: told },
  })
}

export const requestTooLarge = (what: string, limit: string): PerdureError =>
  new PerdureError('REQUEST_TOO_LARGE', `The request is too large: ${what}.`, {
    hint: `at most ${limit}; keep large data elsewhere and send a reference to it`,
  })

export const contentTypeInvalid = (found: string | null): PerdureError =>
  new PerdureError(
    'CONTENT_TYPE_INVALID',
    `A body of type ${found === null ? '(none)' : shown(found)} is not taken here.`,
    { hint: 'send JSON in UTF-8, not compressed, with content-type: application/json' },
  )

export const routeUnknown = (method: string): PerdureError =>
  new PerdureError('ROUTE_UNKNOWN', `There is nothing to ${shown(method)} at this address.`, {
    hint: 'GET /openapi.json has all addresses; those of the API begin with /api/v1',
  })

export const methodNotAllowed = (method: string, allowed: readonly string[]): PerdureError =>
  new PerdureError('METHOD_NOT_ALLOWED', `${shown(method)} is not for this address.`, {
    hint: `it takes ${allowed.join(', ')}`,
    details: { allowed },
  })

export const hostUnknown = (): PerdureError =>
  new PerdureError('HOST_UNKNOWN', 'The request names a host that this server is not for.', {
    hint: "call it by localhost or 127.0.0.1, or name its host in the option hosts: ['api.example.com']",
  })

export const originForbidden = (): PerdureError =>
  new PerdureError('FORBIDDEN', 'The request comes from a page of another origin.', {
    hint: "name the origin in the option origins: ['https://app.example.com'], if its pages may call this API",
  })

export const unauthenticated = (): PerdureError =>
  new PerdureError('UNAUTHENTICATED', 'The request has no valid token.', {
    hint: 'send it in a header, never in the address: authorization: Bearer …',
  })

export const roleTooLow = (needed: string, has: string): PerdureError =>
  new PerdureError('FORBIDDEN', `This takes the role ${needed}, and the token has ${has}.`, {
    hint: 'use a token with that role',
    details: { needed, has },
  })

export const workspaceForbidden = (): PerdureError =>
  new PerdureError('FORBIDDEN', 'The request names a workspace that it may not act in.', {
    hint: 'name a workspace of the token in the header perdure-workspace, and no other in the body',
  })

export const rateLimited = (waitMs: number): PerdureError =>
  new PerdureError('RATE_LIMITED', 'Too many requests.', {
    hint: `wait ${Math.max(1, Math.ceil(waitMs / 1000))} s before the next one`,
    details: { waitMs: Math.ceil(waitMs) },
  })

export const streamsFull = (streamsMax: number): PerdureError =>
  new PerdureError('OVERLOADED', `This process serves ${streamsMax} streams already.`, {
    hint: 'close some, or ask another process',
  })

export const internal = (): PerdureError =>
  new PerdureError('INTERNAL', 'Something went wrong inside.', {
    hint: 'the log of the server has the reason under this requestId',
  })

export const graphNotFound = (name: string): PerdureError =>
  new PerdureError('DEFINITION_UNKNOWN', `There is no stored graph ${shown(name)}.`, {
    hint: 'GET /api/v1/graphs has those of the workspace',
  })

export const webhookNotFound = (id: string): PerdureError =>
  new PerdureError('WEBHOOK_NOT_FOUND', `There is no webhook ${shown(id)}.`, {
    hint: 'GET /api/v1/webhooks has those of the workspace',
  })

export const scheduleNotFound = (id: string): PerdureError =>
  new PerdureError('SCHEDULE_NOT_FOUND', `There is no schedule ${shown(id)}.`, {
    hint: 'GET /api/v1/schedules says which there are in this workspace',
  })
