// serve: the handler on a server of its own. On the loopback it is open unless it has tokens; elsewhere it takes tokens to start.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer, getRequestListener } from '@hono/node-server'
import type { Engine } from '../index.js'
import { optionInvalid, PerdureError } from '../model/errors.js'
import { endable } from './ending.js'
import { isLoopback } from './guard.js'
import { type Handler, makeHandler } from './handler.js'
import { type HandlerOptions, readOptions, type Settings } from './options.js'
import { portTaken } from './port.js'
import { StreamPool } from './streams.js'

export interface ServeOptions extends HandlerOptions {
  /** Default 4114; 0: any that is free. */
  readonly port?: number | undefined
  /** Default '127.0.0.1'. */
  readonly host?: string | undefined
}

export interface Serving {
  /** http://127.0.0.1:4114 */
  readonly url: string
  readonly port: number
  /** Requests go to this engine from now on. Streams end; their clients come back and hear what they have missed. */
  use<W>(engine: Engine<W>): void
  /** Ends streams, lets requests finish, and stops listening. The engine stays open. */
  close(): Promise<void>
}

const PORT = 4114
const HOST = '127.0.0.1'
export interface RequestTiming {
  /** For the header, and for all of a request. */
  readonly requestMs: number
  /** It is looked so often whether one is late. */
  readonly lookMs: number
}

/** Together: who sends slower than that is told 408 within 30 s. */
const REQUEST_TIMING: RequestTiming = { requestMs: 25_000, lookMs: 5_000 }

/** Refused before anything is opened. */
export function readServeOptions(options: ServeOptions): Settings & {
  readonly port: number
  readonly host: string
} {
  const settings = readOptions(options, 'serve', ['port', 'host'])
  const { port = PORT, host = HOST, authenticate } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw optionInvalid('port', 'serve', port, 'a whole number from 0 to 65535')
  }
  const isAccessKnown = settings.known.length > 0 || authenticate !== undefined
  if (!isLoopback(host) && !isAccessKnown && !settings.isOpen) throw notOpen(host)
  const isOpen = settings.isOpen || (isLoopback(host) && !isAccessKnown)
  return { ...settings, isOpen, port, host }
}

export async function serve<W>(engine: Engine<W>, options: ServeOptions = {}): Promise<Serving> {
  return serveTimed(engine, options, REQUEST_TIMING)
}

export async function serveTimed<W>(
  engine: Engine<W>,
  options: ServeOptions,
  { requestMs, lookMs }: RequestTiming,
): Promise<Serving> {
  const { port, host, ...settings } = readServeOptions(options)
  const streams = new StreamPool()
  const handlerFor = (one: unknown) => makeHandler(one as Engine, settings, streams)
  let handler = handlerFor(engine)
  const fetch: Handler = (request, node) => handler(request, node)
  const serverOptions = {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: lookMs,
  }
  const server = createAdaptorServer({ fetch: fetch as never, serverOptions }) as Server
  const end = endable(server)
  await listening(server, port, host)
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    port: taken,
    use: (next) => {
      handler = handlerFor(next)
      streams.close()
    },
    close: () => {
      streams.close()
      return end()
    },
  }
}

/** For servers that have requests and responses of Node: Express, Fastify, Nest. Before anything that reads bodies. */
export function nodeListener(
  handler: Handler,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return getRequestListener((request, node) => handler(request, node))
}

const notOpen = (host: string): PerdureError =>
  new PerdureError('OPTION_INVALID', `serve was told to listen at ${host}, without any tokens.`, {
    hint: "give tokens: [{ token, role: 'admin' }] and let a proxy in front of it speak TLS, or listen at 127.0.0.1",
  })

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') return reject(error)
      reject(portTaken(port, host))
    })
    server.listen(port, host, resolve)
  })
}
