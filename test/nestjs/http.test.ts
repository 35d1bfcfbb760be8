// The API and the Studio below a path of an application, behind its guards, on both of its platforms.

import 'reflect-metadata'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Controller, Get, type INestApplication, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import * as terminus from '@nestjs/terminus'
import { PerdureHealth, PerdureModule } from 'perdure/nestjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Doorman, MoneyModule, quietOptions, shopWith } from './shop.js'

const studio = mkdtempSync(join(tmpdir(), 'perdure-nestjs-'))
writeFileSync(join(studio, 'index.html'), '<!doctype html><base href="/" /><title>Studio</title>')
afterAll(() => rmSync(studio, { recursive: true, force: true }))

@Controller('health')
class HealthController {
  constructor(
    private readonly checks: terminus.HealthCheckService,
    private readonly perdure: PerdureHealth,
  ) {}

  @Get()
  check() {
    return this.checks.check([() => asTerminusReads(this.perdure)])
  }
}

/** As docs/nestjs.md says: Terminus 10 hears of it by an error. */
async function asTerminusReads(perdure: PerdureHealth) {
  const said = await perdure.isHealthy()
  if (process.env.PEER_MAJOR === '10' && said.perdure.status === 'down') {
    throw new terminus.HealthCheckError('down', said)
  }
  return said
}

const PLATFORMS = {
  express: { adapter: () => new ExpressAdapter(), prefix: '', more: { rawBody: true } },
  fastify: { adapter: () => new FastifyAdapter(), prefix: '/inner', more: {} },
} as const

describe.each(['express', 'fastify'] as const)('on %s', (platform) => {
  const { adapter, prefix, more } = PLATFORMS[platform]
  let app: INestApplication
  let at = ''
  beforeAll(async () => {
    const engine = PerdureModule.forRootAsync({
      imports: [MoneyModule],
      useFactory: quietOptions,
      mount: { guards: [Doorman], studio },
    })
    const Shop = shopWith(engine, { mails: [] })
    @Module({
      imports: [Shop, terminus.TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController],
    })
    class Served {}
    app = await NestFactory.create(Served, adapter() as never, {
      logger: false,
      abortOnError: false,
      ...more,
    })
    if (prefix !== '') app.setGlobalPrefix(prefix)
    app.enableShutdownHooks([])
    await app.listen(0, '127.0.0.1')
    at = `${(await app.getUrl()).replace('[::1]', '127.0.0.1')}${prefix}`
  })
  afterAll(() => app.close())

  const ask = async (path: string, badge: string | null, body?: unknown) => {
    const response = await fetch(`${at}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        connection: 'close',
        ...(badge !== null && { 'x-badge': badge }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, type: response.headers.get('content-type') }
  }

  test("every request of the API and the Studio passes the application's guard", async () => {
    for (const path of ['/perdure', '/perdure/', '/perdure/api/v1/stats', '/perdure/runs/x']) {
      expect([path, (await ask(path, null)).status]).toEqual([path, 401])
      expect([path, (await ask(path, 'tin')).status]).toEqual([path, 403])
      expect([path, (await ask(path, 'gold')).status]).toEqual([path, 200])
    }
    expect((await ask('/perdure/api/v1/workflows/ship/runs', 'tin', { input: 'x' })).status).toBe(
      403,
    )
  })

  test('runs are started and read, and what is wrong is told as perdure/http tells it', async () => {
    const started = await ask('/perdure/api/v1/workflows/ship/runs', 'gold', {
      id: 's-1',
      input: 'ä"',
    })
    expect(started.status).toBe(201)
    const result = await ask('/perdure/api/v1/runs/s-1/result?waitMs=20000', 'gold')
    expect(result.text).toContain('parcel ä\\"')
    const empty = await ask('/perdure/api/v1/nothing', 'gold')
    expect([empty.status, empty.type]).toEqual([404, 'application/problem+json'])
  })

  test('the Studio is served below the path, and its links stay there', async () => {
    const page = await ask('/perdure/runs/s-1', 'gold')
    expect(page.type).toBe('text/html; charset=utf-8')
    expect(page.text).toContain(`<base href="${prefix}/perdure/" />`)
    expect((await ask('/perdurex', 'gold')).status).toBe(404)
  })

  test('a stream of changes is open until the application closes, and Terminus hears of the engine', async () => {
    const up = await ask('/health', null)
    expect([up.status, JSON.parse(up.text).info.perdure.status]).toEqual([200, 'up'])
    const stream = await fetch(`${at}/perdure/api/v1/changes`, {
      headers: { 'x-badge': 'gold', accept: 'text/event-stream' },
    })
    const reader = stream.body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    const health = app.get(PerdureHealth)
    const closed = app.close()
    while (!(await reader?.read())?.done);
    await closed
    const checks = app.get(terminus.HealthCheckService, { strict: false })
    const down = checks.check([() => asTerminusReads(health)])
    await expect(down).rejects.toMatchObject({ status: 503 })
  })
})
