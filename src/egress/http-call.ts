// Calls a service, guarded: resolve, check every address, connect to a checked one; once more at each redirect.
// No proxies from the environment, no cookies, no connection that is kept.

import { lookup as resolveName } from 'node:dns/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { HttpAnswer, HttpCaller, HttpRequest } from '../authoring/graph/http-call.js'
import { PerdureError } from '../model/errors.js'
import { TIMER_MAX_MS } from '../model/limits.js'
import { httpBlocked, httpFailed, shownCall } from './errors.js'
import { receivedBody, sentBody } from './http-body.js'
import { checkAddresses, checkUrl, type Guard, type GuardOptions, readGuard } from './http-guard.js'
import { answered, checkHeaders, headersFor, type Secrets } from './http-headers.js'
import { type Hop, nextHop } from './http-redirects.js'

const BYTES_MAX = 5 * 1024 * 1024
const REDIRECTS_MAX = 3
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export interface HttpCallerOptions extends GuardOptions {
  /** Of an answer, after decompression. */
  readonly maxBytes?: number | undefined
  readonly maxRedirects?: number | undefined
  /** All addresses of a name. */
  readonly lookup?: ((hostname: string) => Promise<readonly string[]>) | undefined
  readonly secrets?: Secrets | undefined
}

interface Settings {
  readonly guard: Guard
  readonly bytesMax: number
  readonly redirectsMax: number
  readonly lookup: (hostname: string) => Promise<readonly string[]>
  readonly secrets: Secrets | undefined
}

export function makeHttpCaller(options: HttpCallerOptions = {}): HttpCaller {
  const settings: Settings = {
    guard: readGuard(options),
    bytesMax: options.maxBytes ?? BYTES_MAX,
    redirectsMax: options.maxRedirects ?? REDIRECTS_MAX,
    lookup: options.lookup ?? lookupAll,
    secrets: options.secrets,
  }
  return (request) => callWithin(request, settings)
}

async function lookupAll(hostname: string): Promise<readonly string[]> {
  return (await resolveName(hostname, { all: true })).map(({ address }) => address)
}

/** One limit for everything: a service that sends a byte a second is not alive for ever. */
async function callWithin(request: HttpRequest, settings: Settings): Promise<HttpAnswer> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), Math.min(request.timeoutMs, TIMER_MAX_MS))
  const signal = AbortSignal.any([request.signal, late.signal])
  const method = request.method.toUpperCase()
  const call = shownCall(method.slice(0, 20), request.url)
  try {
    request.signal.throwIfAborted()
    return await follow({ ...request, method }, signal, settings)
  } catch (error) {
    request.signal.throwIfAborted()
    if (PerdureError.is(error)) throw error
    if (late.signal.aborted) {
      const hint = 'give it more time with timeout, or find out why the service is slow'
      throw httpFailed(call, `it did not end within ${request.timeoutMs} ms`, hint)
    }
    throw httpFailed(call, reasonOf(error), 'see whether the service is there', error)
  } finally {
    clearTimeout(timer)
  }
}

/** Never the message of a parser or a socket as it is: it can hold what was sent. */
function reasonOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: readonly { code?: unknown }[] }
  const known = code ?? errors?.[0]?.code
  return typeof known === 'string' ? known : 'the connection broke'
}

async function follow(first: Hop, signal: AbortSignal, settings: Settings): Promise<HttpAnswer> {
  let hop = first
  for (let redirects = 0; ; redirects += 1) {
    const call = shownCall(hop.method, hop.url)
    const message = await send(hop, call, signal, settings)
    try {
      const next = nextHop(hop, message.statusCode ?? 0, message.headers.location, call)
      if (!next) {
        const body = await receivedBody(message, hop.method, call, settings.bytesMax)
        return { status: message.statusCode ?? 0, headers: answered(message.headers), body }
      }
      if (redirects === settings.redirectsMax) {
        const hint = 'give the address that it leads to'
        const times = redirects === 0 ? '' : ` more than ${redirects} times`
        throw httpBlocked(call, `it was redirected${times}`, hint)
      }
      hop = next
    } finally {
      message.destroy()
    }
  }
}

// ── one hop ─────────────────────────────────────────────────────────────────────────────────────────────────

async function send(
  hop: Hop,
  call: string,
  signal: AbortSignal,
  settings: Settings,
): Promise<IncomingMessage> {
  if (!METHODS.includes(hop.method)) {
    throw httpBlocked(call, 'there is no such method', `use one of ${METHODS.join(', ')}`)
  }
  const url = checkUrl(hop.url, call, settings.guard)
  checkHeaders(hop.headers, call)
  const addresses = await unlessAborted(resolved(url, call, settings), signal)
  const headers = await unlessAborted(headersFor(url, hop.headers, call, settings.secrets), signal)
  const body = sentBody(hop.body)
  if (body) {
    if (!headers.has('content-type')) headers.set('content-type', body.type)
    headers.set('content-length', String(Buffer.byteLength(body.text)))
  }
  const { guard } = settings
  const text = body?.text
  return exchange({ url, method: hop.method, headers, addresses, text }, call, signal, guard)
}

/** Every address of the host, checked. */
async function resolved(url: URL, call: string, { guard, lookup }: Settings): Promise<string[]> {
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(literal) ? [literal] : await lookup(url.hostname)
  checkAddresses(url, addresses, call, guard)
  if (addresses.length > 0) return [...addresses]
  throw httpFailed(call, `${url.hostname} has no address`, 'check the name of the host')
}

interface Exchange {
  readonly url: URL
  readonly method: string
  readonly headers: ReadonlyMap<string, string>
  readonly addresses: readonly string[]
  readonly text: string | undefined
}

function exchange(
  { url, method, headers, addresses, text }: Exchange,
  call: string,
  signal: AbortSignal,
  guard: Guard,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const start = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = start(url, {
      method,
      headers: Object.fromEntries(headers),
      agent: false,
      lookup: answering(addresses),
      signal,
    })
    request.on('error', reject)
    request.once('response', resolve)
    request.once('socket', (socket) => {
      socket.once('connect', () => {
        // The last look: where it really is.
        try {
          checkAddresses(url, [socket.remoteAddress ?? ''], call, guard)
        } catch (error) {
          request.destroy(error as Error)
        }
      })
    })
    request.end(text)
  })
}

/** What node asks for a name: it hears the checked addresses, whatever the name means by now. */
function answering(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_, options, callback) => {
    const [first] = all
    if (options.all) callback(null, all)
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** What is awaited here cannot be cancelled: it is left behind. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
