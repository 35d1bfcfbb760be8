// createHandler: one fetch function, and the way of a request through it: guard, who asks, how often, which route, what it
// gives, how the answer is written. Whatever is thrown on the way is a problem document.

import { OpenAPIHono, z } from '@hono/zod-openapi'
import type { Engine } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { type Caller, callerOf, isAtLeast, OPEN, workspaceFor } from './access.js'
import { finished, preflight, written } from './answers.js'
import { readBody } from './body.js'
import { askedWorkspace, checked, checkQuery, keyOf } from './check.js'
import {
  methodNotAllowed,
  roleTooLow,
  routeUnknown,
  unauthenticated,
  workspaceForbidden,
} from './errors.js'
import { guard, type NodeSide } from './guard.js'
import { HOOKS, receive } from './hooks.js'
import { documentRoutes } from './openapi.js'
import { type HandlerOptions, readOptions, type Settings } from './options.js'
import { PROBLEM_TYPE, problemOf } from './problems.js'
import { Buckets } from './rate.js'
import { fullPath, type Route } from './route.js'
import { ROUTES } from './routes/index.js'
import { StreamPool } from './streams.js'

/** The second argument is what Node's adapter gives; others may leave it out. */
export type Handler = (request: Request, node?: unknown) => Promise<Response>

type Env = { Bindings: { readonly passing: Passing } }

/** One request on its way. */
interface Passing {
  readonly caller: Caller | null
  readonly requestId: string
}

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
  private readonly app = new OpenAPIHono<Env>()
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
      origin = guard(request, this.settings, node)
      const response = await this.passed(request, node, requestId, origin)
      return finished(response, requestId, origin)
    } catch (error) {
      return finished(this.refusal(error, requestId, request), requestId, origin)
    }
  }

  private async passed(
    given: Request,
    node: NodeSide,
    requestId: string,
    origin: string | null,
  ): Promise<Response> {
    if (given.method === 'OPTIONS' && origin !== null) return preflight()
    const request = this.unmounted(given)
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(HOOKS)) {
      this.rate?.take(`${HOOKS}${node.incoming?.socket?.remoteAddress ?? ''}`)
      return await receive(this.engine, request, pathname.slice(HOOKS.length))
    }
    const isForAnyone = FOR_ANYONE.has(pathname)
    const caller = isForAnyone ? null : await this.callerOf(request, node)
    if (caller) this.rate?.take(caller.name)
    // Hono answers HEAD as GET, and what it does not know with a page of its own.
    if (given.method === 'HEAD') throw this.unmatched('HEAD', pathname)
    const response = await this.app.fetch(request, { passing: { caller, requestId } })
    return response
  }

  private async callerOf(request: Request, node: NodeSide): Promise<Caller> {
    const { known, authenticate, isOpen } = this.settings
    const caller =
      (await authenticate(request)) ?? callerOf(known, request.headers.get('authorization'))
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

  private unmounted(request: Request): Request {
    const { basePath } = this.settings
    if (basePath === '') return request
    const url = new URL(request.url)
    if (!url.pathname.startsWith(`${basePath}/`)) throw routeUnknown(request.method)
    url.pathname = url.pathname.slice(basePath.length)
    return new Request(url, request)
  }

  private addRoutes(): void {
    const { app } = this
    for (const one of ROUTES) {
      app.on(one.method, honoPath(one), (c) =>
        this.handled(one, c.req.raw, c.req.param(), c.env.passing),
      )
    }
    const document = documentRoutes(app)
    app.get('/openapi.json', (c) => {
      allowed(c.env.passing.caller, 'viewer')
      return new Response(JSON.stringify(document), {
        headers: { 'content-type': 'application/json' },
      })
    })
    app.notFound((c) => {
      throw this.unmatched(c.req.method, c.req.path)
    })
    app.onError((error, c) => this.refusal(error, c.env.passing.requestId, c.req.raw))
  }

  private unmatched(method: string, path: string): PerdureError {
    const methods = [...ROUTES, OPENAPI].filter((one) => pattern(one).test(path))
    if (methods.length === 0) return routeUnknown(method)
    return methodNotAllowed(method, [...new Set(methods.map((one) => one.method))])
  }

  private async handled(
    one: Route,
    request: Request,
    params: Readonly<Record<string, string>>,
    { caller }: Passing,
  ): Promise<Response> {
    const { headers } = request
    if (one.role !== 'anyone') allowed(caller, one.role)
    const asked = askedWorkspace(headers)
    const workspace = caller ? workspaceFor(caller, asked) : 'default'
    if (workspace === null) throw workspaceForbidden()
    const query = checkQuery(new URL(request.url), one.query)
    const key = keyOf(headers)
    const body = await this.bodyFor(one, request)
    const call = {
      client: this.engine.workspace(workspace),
      engine: this.engine,
      caller: caller ?? NOBODY,
      workspace,
      params,
      query,
      body,
      key,
      request,
      hasStudio: false,
      stream: this.streams.opener(request, () => this.isStillKnown(request)),
    }
    return written(one, await one.handle(call as never), headers)
  }

  /** A route without a body takes none. */
  private async bodyFor(one: Route, request: Request): Promise<unknown> {
    if (one.method === 'GET') return undefined
    const body = await readBody(request)
    if (one.body === null) {
      if (body !== undefined) checked(NOTHING, body, 'body')
      return undefined
    }
    return checked(one.body, body === undefined && one.isBodyOptional ? {} : body, 'body')
  }

  private refusal(error: unknown, requestId: string, request: Request): Response {
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
    return new Response(JSON.stringify(problem), { status: problem.status, headers })
  }
}

/** As proxies write it down. */
const GONE = 499
const NOTHING = z.strictObject({})
const NOBODY: Caller = { name: 'nobody', role: 'viewer', workspaces: [] }
const OPENAPI = { method: 'GET', path: '/openapi.json', isAtRoot: true } as const
const FOR_ANYONE: ReadonlySet<string> = new Set(
  ROUTES.filter(({ role }) => role === 'anyone').map(fullPath),
)

const honoPath = (one: Route): string => fullPath(one).replace(/\{(\w+)\}/g, ':$1')

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
