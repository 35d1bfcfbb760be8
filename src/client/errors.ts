// What the client itself has to say.

import { PerdureError } from '../model/errors.js'

export const serverUnreachable = (url: string, cause: unknown): PerdureError =>
  new PerdureError(
    'SERVER_UNREACHABLE',
    `${url} does not answer: ${cause instanceof Error ? cause.message : String(cause)}`,
    {
      hint: 'look whether it runs, and whether the address is right; a start with an id may be repeated',
      cause,
    },
  )

/** Something else answered: a proxy, a login page, another server. */
export const answerForeign = (url: string, status: number): PerdureError =>
  new PerdureError(
    'SERVER_UNREACHABLE',
    `What answers at ${url} is not the API of Perdure (status ${status}).`,
    {
      hint: 'give the address that serve() or your own server has, without /api/v1',
      details: { status },
    },
  )
