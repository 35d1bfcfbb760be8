// What is said of calls to the outside: each wording once. No query (it may hold a token) and no header is ever shown.

import { PerdureError } from '../model/errors.js'

/** Not sent, or not taken: it would be the same another time. */
export const httpBlocked = (call: string, why: string, hint: string): PerdureError =>
  new PerdureError('HTTP_BLOCKED', `${call} was blocked: ${why}.`, { hint })

export const httpFailed = (
  call: string,
  why: string,
  hint: string,
  cause?: unknown,
): PerdureError => new PerdureError('HTTP_FAILED', `${call} failed: ${why}.`, { hint, cause })

/** 'POST https://api.example.com/orders' */
export function shownCall(method: string, url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  const target = parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : 'an address'
  return `${method} ${target.length > 200 ? `${target.slice(0, 197)}…` : target}`
}
