// createHandler: one fetch function, and the way of a request through it: guard, who asks, how often, which route, what it
// gives, how the answer is written. Whatever is thrown on the way is a problem document.

import { OpenAPIHono, z } from '@hono/zod-openapi'
import type { Client, Engine } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { type Caller, callerOf, isAtLeast, OPEN, workspaceFor } from './access.js'
import { finished, preflight, Reply, written } from './answers.js'
import { readBody } from './body.js'
import { askedWorkspace, checked, checkQuery, keyOf } from './check.js'
import {
  methodNotAllowed,
  roleTooLow,
  routeUnknown,
  unauthenticated,
  workspaceForbidden,
} from './errors.js'
import { guard } from './guard.js'
import { type HeaderReader, headersOf, type NodeSide } from './headers.js'
import { HOOKS, receive } from './hooks.js'
import { documentRoutes } from './openapi.js'
import { type HandlerOptions, readOptions, type Settings } from './options.js'
import { PROBLEM_TYPE, problemOf } from './problems.js'
import { Buckets } from './rate.js'
import { type Call, fullPath, type Route } from './route.js'
import { Router } from './router.js'
import { ROUTES } from './routes/index.js'
import { StreamPool } from './streams.js'

/** The second argument is what Node's adapter gives; others may leave it out. */
export type Handler = (request: Request, node?: unknown) => Promise<Response>

/** One request on its way. */
interface Passing {
  readonly requestId: string
  readonly request: Request
  readonly headers: HeaderReader
  readonly url: URL
  readonly caller: Caller | null
}

type Handled = (
  passing: Passing,
  params: Readonly<Record<string, string>>,
) => Promise<Given> | Given
type Given = Reply | Response

/** For every server that speaks fetch: Hono, Next, Bun; `nodeListener` makes it one for Express, Fastify and Nest. */
export function createHandler<W>(engine: Engine<W>, options: HandlerOptions = {}): Handler {
  return makeHandler(engine as unknown as Engine, readOptions(options, 'createHandler', []))
}

/** Failed attempts of one address: ten, and then one each six seconds. */
const FAILURES = { burst: 10, perSecond: 10 / 60 }

export function makeHandler(engine: Engine, settings: Settings, streams?: StreamPool): Handler {
  const api = new Api(engine, settings, streams ?? new StreamPool())
  return (request, node) => api.answer(request, (node ?? {}) as NodeSide)
}

class Api {
  private readonly engine: Engine
  private readonly settings: Settings
  private readonly streams: StreamPool
  private readonly router = new Router<Handled>()
  private readonly clients = new Map<string, Client>()
  private readonly rate: Buckets | null
  private readonly failures: Buckets | null

  constructor(engine: Engine, settings: Settings, streams: StreamPool) {
    this.engine = engine
    this.settings = settings
    this.streams = streams
    this.rate = settings.rate && new Buckets(settings.rate)
    this.failures = settings.rate && new Buckets(FAILURES)
    this.addRoutes()
  }

  async answer(request: Request, node: NodeSide): Promise<Response> {
    const requestId = crypto.randomUUID()
    let origin: string | null = null
    try {
      const headers = headersOf(request, node)
      origin = guard(request, this.settings, headers)
      return finished(
        await this.passed({ request, headers, requestId }, node, origin),
        requestId,
        origin,
      )
    } catch (error) {
      return finished(this.refusal(error, requestId, request), requestId, origin)
    }
  }

  private async passed(
    { request, headers, requestId }: Pick<Passing, 'request' | 'headers' | 'requestId'>,
    node: NodeSide,
    origin: string | null,
  ): Promise<Given> {
    const { method } = request
    if (method === 'OPTIONS' && origin !== null) return preflight()
    const url = new URL(request.url)
    const pathname = this.unmounted(method, url.pathname)
    if (pathname.startsWith(HOOKS)) {
      this.rate?.take(`${HOOKS}${node.incoming?.socket?.remoteAddress ?? ''}`)
      return await receive(this.engine, request, pathname.slice(HOOKS.length))
    }
    const { studio } = this.settings
    if (studio?.has(method, pathname)) return await studio.answer(request, pathname)
    const isForAnyone = FOR_ANYONE.has(pathname)
    const caller = isForAnyone ? null : await this.callerOf(request, headers, node)
    if (caller) this.rate?.take(caller.name)
    const found = this.router.find(method, pathname)
    if (found === null) throw this.unmatched(method, pathname)
    return await found.value({ request, headers, requestId, url, caller }, found.params)
  }

  private async callerOf(request: Request, headers: HeaderReader, node: NodeSide): Promise<Caller> {
    const { known, authenticate, isOpen } = this.settings
    const caller = (await authenticate(request)) ?? callerOf(known, headers.get('authorization'))
    if (caller) return caller
    if (isOpen && known.length === 0) return OPEN
    this.failures?.take(node.incoming?.socket?.remoteAddress ?? 'unknown')
    throw unauthenticated()
  }

  /** Whether that who asked may still ask: for streams that stay open. */
  private async isStillKnown(request: Request): Promise<boolean> {
    const { known, authenticate, isOpen } = this.settings
    const caller =
      (await authenticate(request)) ?? callerOf(known, request.headers.get('authorization'))
    return caller !== null || (isOpen && known.length === 0)
  }

  private unmounted(method: string, pathname: string): string {
    const { basePath } = this.settings
    if (basePath === '') return pathname
    if (pathname === basePath) return '/'
    if (!pathname.startsWith(`${basePath}/`)) throw routeUnknown(method)
    return pathname.slice(basePath.length)
  }

  private addRoutes(): void {
    for (const one of ROUTES) {
      this.router.add(one.method, fullPath(one), (passing, params) =>
        this.handled(one, passing, params),
      )
    }
    const document = JSON.stringify(documentRoutes(new OpenAPIHono()))
    this.router.add(OPENAPI.method, fullPath(OPENAPI), ({ caller }) => {
      allowed(caller, 'viewer')
      return new Reply(document, 200, { 'content-type': 'application/json' })
    })
  }

  private unmatched(method: string, path: string): PerdureError {
    const methods = [...ROUTES, OPENAPI].filter((one) => pattern(one).test(path))
    if (methods.length === 0) return routeUnknown(method)
    return methodNotAllowed(method, [...new Set(methods.map((one) => one.method))])
  }

  private async handled(
    one: Route,
    { request, headers, requestId, url, caller }: Passing,
    params: Readonly<Record<string, string>>,
  ): Promise<Given> {
    if (one.role !== 'anyone') allowed(caller, one.role)
    const asked = askedWorkspace(headers)
    const workspace = caller ? workspaceFor(caller, asked) : 'default'
    if (workspace === null) throw workspaceForbidden()
    const query = checkQuery(url, one.query)
    const key = keyOf(headers)
    const body = await this.bodyFor(one, request, headers)
    const call: Call = {
      client: this.clientOf(workspace),
      engine: this.engine,
      caller: caller ?? NOBODY,
      workspace,
      params,
      query,
      body,
      key,
      request,
      problem: (error) => problemOf(error, requestId, this.settings.log),
      hasStudio: this.settings.studio !== null,
      stream: (events) =>
        this.streams.opener(request, () => this.isStillKnown(request))(events as never),
    }
    return written(one, await one.handle(call as never), headers)
  }

  /** They hold nothing of their own, and are asked for with every request. */
  private clientOf(workspace: string): Client {
    const known = this.clients.get(workspace)
    if (known) return known
    if (this.clients.size >= CLIENTS_MAX) this.clients.clear()
    const client = this.engine.workspace(workspace)
    this.clients.set(workspace, client)
    return client
  }

  /** A route without a body takes none. */
  private async bodyFor(one: Route, request: Request, headers: HeaderReader): Promise<unknown> {
    if (one.method === 'GET') return undefined
    const body = await readBody(request, headers)
    if (one.body === null) {
      if (body !== undefined) checked(NOTHING, body, 'body')
      return undefined
    }
    return checked(one.body, body === undefined && one.isBodyOptional ? {} : body, 'body')
  }

  private refusal(error: unknown, requestId: string, request: Request): Given {
    // Who asked has gone: nobody reads this, and nothing is wrong.
    if (request.signal?.aborted) return new Response(null, { status: GONE })
    const problem = problemOf(error, requestId, this.settings.log)
    const headers: Record<string, string> = { 'content-type': PROBLEM_TYPE }
    if (problem.status === 401) headers['www-authenticate'] = 'Bearer'
    // What was not read of the body must not be taken for the next request.
    if (problem.status === 413) headers.connection = 'close'
    const { allowed: methods, waitMs } = (PerdureError.is(error) ? error.details : {}) as {
      allowed?: readonly string[]
      waitMs?: number
    }
    if (problem.status === 405) headers.allow = (methods ?? []).join(', ')
    if (problem.status === 429) headers['retry-after'] = String(Math.ceil((waitMs ?? 0) / 1000))
    return new Reply(JSON.stringify(problem), problem.status, headers)
  }
}

/** As proxies write it down. */
const GONE = 499
/** Workspaces whose clients are kept. */
const CLIENTS_MAX = 1_000
const NOTHING = z.strictObject({})
const NOBODY: Caller = { name: 'nobody', role: 'viewer', workspaces: [] }
const OPENAPI = { method: 'GET', path: '/openapi.json', isAtRoot: true } as const
const FOR_ANYONE: ReadonlySet<string> = new Set(
  ROUTES.filter(({ role }) => role === 'anyone').map(fullPath),
)

const pattern = (one: Pick<Route, 'path' | 'isAtRoot'>): RegExp =>
  new RegExp(
    `^${fullPath(one)
      .replaceAll('.', '\\.')
      .replace(/\{\w+\}/g, '[^/]+')}$`,
  )

function allowed(caller: Caller | null, needed: Caller['role']): void {
  if (!caller) throw unauthenticated()
  if (!isAtLeast(caller.role, needed)) throw roleTooLow(needed, caller.role)
}
