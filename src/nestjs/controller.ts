// The HTTP API and the Studio as a controller: what the application does with its requests is done with these too, its guards
// above all. The answers are those of perdure/http.

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  All,
  type CanActivate,
  Controller,
  Inject,
  NotFoundException,
  Req,
  Res,
  type Type,
  UnsupportedMediaTypeException,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common'
import type { HttpAdapterHost } from '@nestjs/core'
import { createHandler, type HandlerOptions, nodeListener } from '../http/index.js'
import type { Engine } from '../index.js'
import { optionInvalid } from '../model/errors.js'
import { PERDURE_ENGINE } from './decorators.js'

export interface PerdureMount extends Omit<HandlerOptions, 'basePath'> {
  /** Where, behind the global prefix of the application. Default '/perdure'. */
  readonly path?: string | undefined
  /** Asked before every request, the Studio's too. Who passes them is an admin, unless `tokens` or `authenticate` say who it is. */
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[] | undefined
}

interface Asked extends IncomingMessage {
  /** Of Fastify. */
  readonly raw?: IncomingMessage
  readonly originalUrl?: string
  /** With rawBody: true, the bytes. */
  readonly rawBody?: unknown
  /** What the application's parser made of it. */
  readonly body?: unknown
}
interface Answer extends ServerResponse {
  readonly raw?: ServerResponse
  hijack?(): void
}
type Listener = ReturnType<typeof nodeListener>

/** Each prefix has a handler of its own; there is one, in as many spellings as the router takes. */
const BASES_MAX = 8

export function controllerOf(mount: PerdureMount): Type<object> {
  const { path = '/perdure', guards = [], ...handler } = mount
  if (!/^(\/[\w.-]+)+$/.test(path)) {
    throw optionInvalid('mount.path', 'PerdureModule', path, "a path: '/perdure'")
  }
  const saysWho = handler.tokens !== undefined || handler.authenticate !== undefined
  const options = { ...(guards.length > 0 && !saysWho && { open: true }), ...handler }
  const mounted = new RegExp(`^((?:/[^/?]+)*?${path.replaceAll('.', '\\.')})(?:[/?]|$)`)

  class PerdureController {
    private readonly engine: Engine
    private readonly listeners = new Map<string, Listener>()

    constructor(engine: Engine) {
      this.engine = engine
    }

    /** What is wrong with the options is said at the start. */
    onModuleInit(): void {
      this.listenerAt(path)
    }

    async handle(request: Asked, answer: Answer): Promise<void> {
      const node = request.raw ?? request
      const url = request.originalUrl ?? node.url ?? ''
      const base = mounted.exec(url)?.[1]
      const listener = base === undefined ? null : this.listenerAt(base)
      if (!listener) throw new NotFoundException()
      const rawBody = bodyOf(request, node)
      answer.hijack?.()
      await listener(Object.assign(node, { url }, rawBody && { rawBody }), answer.raw ?? answer)
    }

    private listenerAt(basePath: string): Listener | null {
      const known = this.listeners.get(basePath)
      if (known) return known
      if (this.listeners.size >= BASES_MAX) return null
      const listener = nodeListener(createHandler(this.engine, { ...options, basePath }))
      this.listeners.set(basePath, listener)
      return listener
    }
  }
  Controller({ path, version: VERSION_NEUTRAL })(PerdureController)
  UseGuards(...guards)(PerdureController)
  Inject(PERDURE_ENGINE)(PerdureController, undefined, 0)
  Req()(PerdureController.prototype, 'handle', 0)
  Res()(PerdureController.prototype, 'handle', 1)
  return PerdureController as unknown as Type<object>
}

/** A wildcard is written differently by Fastify, Express 4 and Express 5: known when the application is made. */
export function route(controller: Type<object>, { httpAdapter }: HttpAdapterHost): void {
  const isExpress5 =
    httpAdapter?.getType() === 'express' && !('lazyrouter' in httpAdapter.getInstance())
  const { prototype } = controller
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'handle')
  if (descriptor) All(['/', isExpress5 ? '/*rest' : '/*'])(prototype, 'handle', descriptor)
}

/** What the application has read before, as bytes again; null: it is still to be read. */
function bodyOf({ rawBody, body }: Asked, node: IncomingMessage): Buffer | null {
  if (Buffer.isBuffer(rawBody)) return rawBody
  if (!node.readableDidRead) return null
  if (Buffer.isBuffer(body)) return body
  if (typeof body === 'string') return Buffer.from(body)
  if (/\bjson\b/i.test(node.headers['content-type'] ?? '')) return Buffer.from(JSON.stringify(body))
  throw new UnsupportedMediaTypeException('make the application with rawBody: true')
}
