// What is looked at before anybody is asked who they are: the host that a request names, the page it comes from, its method.
// A page in the browser of a developer can reach 127.0.0.1, and a name can be made to point there: both stop here.

import { hostUnknown, originForbidden, requestInvalid, requestTooLarge } from './errors.js'
import type { HeaderReader } from './headers.js'

const URL_LENGTH_MAX = 8 * 1024
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const SAFE = ['GET', 'HEAD', 'OPTIONS']

export interface Allowed {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
}

/** The foreign origin that may hear the answer, or null. */
export function guard(request: Request, allowed: Allowed, headers: HeaderReader): string | null {
  if (request.url.length > URL_LENGTH_MAX) {
    throw requestTooLarge('its address', `${URL_LENGTH_MAX} characters`)
  }
  const host = hostOf(request, headers)
  checkHost(host, allowed.hosts)
  return checkOrigin(request.method, headers, host, allowed.origins)
}

function hostOf(request: Request, headers: HeaderReader): string {
  const host = (headers.get('host') ?? new URL(request.url).host).toLowerCase()
  // Node keeps the first of two and says nothing; something between may have believed the second.
  if (host.includes(',')) {
    throw requestInvalid([{ path: 'headers.host', message: 'is there twice' }])
  }
  if (host === '') throw requestInvalid([{ path: 'headers.host', message: 'is missing' }])
  return host
}

function checkHost(host: string, hosts: readonly string[]): void {
  const name = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/.exec(host)?.[1]
  if (name === undefined) throw hostUnknown()
  if (!LOOPBACK.includes(name) && !hosts.includes(name) && !hosts.includes(host)) {
    throw hostUnknown()
  }
}

function checkOrigin(
  method: string,
  headers: HeaderReader,
  host: string,
  origins: readonly string[],
): string | null {
  const origin = headers.get('origin')
  const isOwn = origin === `http://${host}` || origin === `https://${host}`
  const isNamed = origin !== null && origins.includes(origin)
  if (origin !== null && !isOwn && !isNamed) throw originForbidden()
  const site = headers.get('sec-fetch-site')
  const isSafe = SAFE.includes(method)
  if (!isSafe && !isNamed && site !== null && site !== 'same-origin' && site !== 'none') {
    throw originForbidden()
  }
  return isNamed && !isOwn ? origin : null
}

export function isLoopback(address: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|\[::1\]|localhost)$/.test(address)
}

/** On every answer. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
