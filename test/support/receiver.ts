// A receiver of webhooks: a real server on this machine, that answers as it is told.

import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  /** 'http://127.0.0.1:1234/hook' */
  readonly url: string
  /** For the option http. */
  readonly allow: readonly string[]
  readonly received: Received[]
}

/** `answer`: the status for the n-th request, the first being 1. It is closed when the test ends. */
export async function openReceiver(answer: (n: number) => number = () => 200): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      const status = answer(received.length)
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return { url: `http://${host}/hook`, allow: [host], received }
}
