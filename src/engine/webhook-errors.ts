// What is said of webhooks: each wording once. Never a path, a signature or a secret: who reads it may be the sender.

import { PerdureError } from '../model/errors.js'

/** The same for a path that cannot be one, one that is not there any more, and a method that none takes. */
export const webhookNotFound = (): PerdureError =>
  new PerdureError('WEBHOOK_NOT_FOUND', 'There is no such webhook.', {
    hint: 'engine.webhooks.list() has the paths; they take POST, PUT and PATCH',
  })

export const webhookUnknown = (id: string): PerdureError =>
  new PerdureError('WEBHOOK_NOT_FOUND', `There is no webhook "${id}".`, {
    hint: 'engine.webhooks.list() says which there are',
  })

const SIGNATURES = {
  missing: ['is missing, or not of the scheme', 'send the headers that the scheme asks for'],
  stale: ['is of a time that is more than five minutes away', 'sign each sending anew'],
  wrong: ['does not fit the body', 'sign the bytes that are sent, with the secret of this webhook'],
} as const

export const signatureInvalid = (
  problem: keyof typeof SIGNATURES,
): PerdureError<'WEBHOOK_SIGNATURE_INVALID'> => {
  const [what, hint] = SIGNATURES[problem]
  const message = `The signature of the request ${what}.`
  return new PerdureError('WEBHOOK_SIGNATURE_INVALID', message, { hint, details: { problem } })
}

export const bodyNotJson = (what: string, cause?: unknown): PerdureError<'WEBHOOK_INVALID'> =>
  new PerdureError('WEBHOOK_INVALID', `The body of the request is not JSON: ${what}.`, {
    hint: 'send JSON in UTF-8, without a byte order mark',
    details: { problem: 'json' },
    cause,
  })

export const bodyOfAnotherType = (): PerdureError<'WEBHOOK_INVALID'> =>
  new PerdureError('WEBHOOK_INVALID', 'The body of the request is of another type than JSON.', {
    hint: 'send JSON, with content-type: application/json and without an encoding',
    details: { problem: 'type' },
  })

export const dedupeMissing = (what: string, cause?: unknown): PerdureError<'WEBHOOK_INVALID'> =>
  new PerdureError('WEBHOOK_INVALID', `The request has no ${what}, by which it is known.`, {
    hint: 'send it, or leave "dedupe" out of the trigger',
    details: { problem: 'dedupe' },
    cause,
  })

export const secretMissing = (name: string, why = 'there is none'): PerdureError =>
  new PerdureError('WEBHOOK_SECRET_MISSING', `Secret "${name}" of a webhook: ${why}.`, {
    hint: 'let http.secrets of createEngine give { value, hosts: [] } for this name',
  })

export const webhookFailed = (
  target: string,
  why: string,
  status: number | null,
): PerdureError<'WEBHOOK_FAILED'> =>
  new PerdureError('WEBHOOK_FAILED', `Webhook "${target}" was not delivered: ${why}.`, {
    hint: 'see what its receiver says; engine.retry(id) sends it again',
    details: { status },
  })
