// The API in servers of users' own, as docs/http-api.md says: each is the real server, asked over the network.

import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { createHandler, nodeListener } from '../../src/http/index.js'
import { createEngine, type Engine, workflow } from '../../src/index.js'
import { ROOT } from '../tidy/repository.js'

const echo = workflow('echo', async (wf, word: string) => wf.do('say', () => word))
const log = { debug() {}, info() {}, warn() {}, error() {} }
let engine: Engine
beforeAll(async () => {
  engine = (await createEngine({ workflows: [echo], database: 'memory:', log })) as never
})
afterAll(() => engine.close())

const portOf = (server: { address(): AddressInfo | string | null }): number =>
  (server.address() as AddressInfo).port

const listening = (server: Server): Promise<Server> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))

/** Opens it, and says where it is and how to end it. */
type Opened = { readonly url: string; close(): unknown }

const SERVERS: Readonly<Record<string, () => Promise<Opened>>> = {
  async Express() {
    const app = express()
    app.use('/perdure', nodeListener(createHandler(engine, { open: true })))
    app.use(express.json())
    app.get('/', (_request, response) => void response.send('the application'))
    const server = await listening(createServer(app))
    return { url: `http://127.0.0.1:${portOf(server)}`, close: () => server.close() }
  },
  async Fastify() {
    const app = fastify()
    const listener = nodeListener(createHandler(engine, { open: true, basePath: '/perdure' }))
    await app.register((inner, _options, done) => {
      inner.removeAllContentTypeParsers()
      inner.addContentTypeParser('*', (_request, _payload, read) => read(null))
      inner.all('/perdure/*', (request, reply) => {
        reply.hijack()
        void listener(request.raw, reply.raw)
      })
      done()
    })
    app.get('/', async () => 'the application')
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  },
  async Hono() {
    const app = new Hono()
    app.mount('/perdure', createHandler(engine, { open: true }))
    app.get('/', (context) => context.text('the application'))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    await new Promise((resolve) => server.once('listening', resolve))
    return { url: `http://127.0.0.1:${portOf(server)}`, close: () => server.close() }
  },
  Next: openNext,
}

/** test/mounting/next, served by `next dev`, with the package as it is published. */
async function openNext(): Promise<Opened> {
  const folder = join(ROOT, 'test/mounting/next')
  const installed = join(folder, 'node_modules/perdure')
  rmSync(installed, { recursive: true, force: true })
  for (const part of ['dist', 'package.json'])
    cpSync(join(ROOT, part), join(installed, part), { recursive: true })
  const port = await freePort()
  const args = [join(folder, 'node_modules/next/dist/bin/next'), 'dev']
  const child = spawn(process.execPath, [...args, '-p', String(port), '-H', '127.0.0.1'], {
    cwd: folder,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', LOG_LEVEL: 'error' },
    stdio: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  for (let tries = 0; tries < 240; tries += 1) {
    const there = await fetch(`${url}/perdure/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (there) break
    if (child.exitCode !== null) throw new Error(`next dev has ended with ${child.exitCode}`)
    await sleep(250)
  }
  return { url, close: () => ended(child) }
}

function ended(child: ChildProcess): Promise<unknown> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  return gone
}

async function freePort(): Promise<number> {
  const server = createSocket()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe.each(Object.keys(SERVERS))('in %s', (name) => {
  let server: Opened
  beforeAll(async () => {
    server = await (SERVERS[name] as () => Promise<Opened>)()
  })
  afterAll(() => server.close())

  test('runs are started, followed and read below a path, and the rest is left to the application', async () => {
    const client = createClient(`${server.url}/perdure`)
    const run = await client.start('echo', 'hello', { id: `in-${name}` })
    expect(await run.result()).toBe('hello')
    const kinds: string[] = []
    for await (const { kind } of run.events()) kinds.push(kind)
    expect(kinds).toEqual(['run.created', 'step.completed', 'run.completed'])
    const wrong = await fetch(`${server.url}/perdure/api/v1/runs/nobody`)
    expect(wrong.status).toBe(404)
    expect(wrong.headers.get('content-type')).toContain('application/problem+json')
    const other = await fetch(`${server.url}/`)
    if (name !== 'Next') expect(await other.text()).toBe('the application')
    else expect(other.headers.get('x-powered-by')).toBe('Next.js')
  })
})
