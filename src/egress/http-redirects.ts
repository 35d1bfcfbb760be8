// Where a redirect leads, and what goes with it. Whether it may be gone to is asked as for any other address.

import { httpBlocked } from './errors.js'
import { hostOf } from './http-guard.js'
import { type GivenHeaders, harmless } from './http-headers.js'

export interface Hop {
  readonly method: string
  readonly url: string
  readonly headers: GivenHeaders
  readonly body: unknown
}

const REDIRECTS = [301, 302, 303, 307, 308]

/** null: it is the answer. */
export function nextHop(
  hop: Hop,
  status: number,
  location: string | undefined,
  call: string,
): Hop | null {
  if (!REDIRECTS.includes(status) || location === undefined) return null
  const from = new URL(hop.url)
  if (!URL.canParse(location, from.href)) {
    throw httpBlocked(call, 'it was redirected to what is not a URL', 'ask those who run it')
  }
  const to = new URL(location, from)
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw httpBlocked(call, 'it was redirected from https to http', 'ask those who run it')
  }
  // As browsers do it: 303, and the older two after a POST, mean "look there".
  const isLook = status === 303 ? hop.method !== 'HEAD' : status < 303 && hop.method === 'POST'
  const headers = isSameService(from, to) ? hop.headers : harmless(hop.headers)
  return {
    url: to.href,
    method: isLook ? 'GET' : hop.method,
    headers: isLook ? withoutType(headers) : headers,
    body: isLook ? null : hop.body,
  }
}

/** The same host and port, or the same host by https instead of http. */
function isSameService(from: URL, to: URL): boolean {
  if (hostOf(from) === hostOf(to)) return true
  return from.hostname === to.hostname && from.port === '' && to.port === ''
}

function withoutType(headers: GivenHeaders): GivenHeaders {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type')
  return Object.fromEntries(kept)
}
