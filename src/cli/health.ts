// /healthz and /readyz of a process that has no API: for whatever watches it. Nothing else answers there, and nobody is asked
// who they are.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHandler } from '../http/index.js'
import { portTaken } from '../http/port.js'
import type { Engine } from '../index.js'

export interface Health {
  readonly port: number
  close(): Promise<void>
}

const PATHS = ['/healthz', '/readyz']

export async function serveHealth<W>(
  engine: Engine<W>,
  port: number,
  host: string,
): Promise<Health> {
  const handler = createHandler(engine, { rateLimit: false })
  const server = createServer(async ({ method, url = '' }, response) => {
    if (method !== 'GET' || !PATHS.includes(url)) return void response.writeHead(404).end()
    const answer = await handler(new Request(`http://127.0.0.1${url}`))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(await answer.text())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? portTaken(port, host) : error),
    )
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
