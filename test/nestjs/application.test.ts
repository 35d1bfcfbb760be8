// perdure/nestjs in an application. Each file of this folder runs with NestJS 10, 11 and 12 (vitest.config.ts).

import 'reflect-metadata'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { INestApplicationContext } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Engine } from 'perdure'
import { PERDURE_ENGINE, PerdureHealth, PerdureModule, type PerdureOptions } from 'perdure/nestjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeOn } from '../support/databases.js'
import { Bell, fails, Order, type Outbox, Payments, quietOptions, ship, shopWith } from './shop.js'

const SILENT = { logger: false, abortOnError: false } as const
const outbox: Outbox = { mails: [] }

async function open(options: PerdureOptions, to: Outbox): Promise<INestApplicationContext> {
  const module = shopWith(PerdureModule.forRoot(options), to)
  return await NestFactory.createApplicationContext(module, SILENT)
}

describe('an application', () => {
  let app: INestApplicationContext
  let engine: Engine
  beforeAll(async () => {
    app = await open(quietOptions(), outbox)
    engine = app.get(PERDURE_ENGINE)
  })
  afterAll(() => app.close())

  test('this is the version of NestJS that the project is named after', () => {
    const major = process.env.PEER_MAJOR ?? '11'
    const folder = process.env.PEER_MAJOR ? `majors/${major}/` : '../../'
    const from = fileURLToPath(new URL(folder, import.meta.url))
    const file = join(from, 'node_modules/@nestjs/core/package.json')
    expect(JSON.parse(readFileSync(file, 'utf8')).version.split('.')[0]).toBe(major)
    const there = createRequire(file)('@nestjs/core') as typeof import('@nestjs/core')
    expect(there.NestFactory).toBe(NestFactory)
  })

  test('classes, tasks and features of all modules are definitions of the engine', () => {
    const names = engine.definitions().map(({ name }) => name)
    expect(names.sort()).toEqual(['fails', 'label', 'order', 'ship'])
  })

  test('services are injected into a machine, and what a run keeps in `this` is its own', async () => {
    const runs = await Promise.all(
      ['a', 'b'].map((id) => engine.start(Order, { id }, { id: `order-${id}` })),
    )
    for (const run of runs) await run.trigger('pack', { by: 'ada' }, { within: '20s' })
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      ['a', 'b'].map((id) => ({
        notes: [`${id}: paid`, `${id}: packed by ada`],
        receipt: `paid-${id}`,
        isInjected: true,
      })),
    )
    expect(app.get(Payments, { strict: false }).charged.sort()).toEqual(['a', 'b'])
    // One service for all runs, although it is plain data and could be stored.
    const mails = ['packed a', 'packed b', 'receipt paid-a', 'receipt paid-b']
    expect([...outbox.mails].sort()).toEqual(mails)
    const { state } = (await engine.get('order-a')) ?? {}
    expect(JSON.stringify(state ?? null)).not.toContain('mails')
  })

  test('a method under @Task is a task with its retries, and @OnRun hears of the ends it asked for', async () => {
    const bell = app.get(Bell, { strict: false })
    await engine.run(fails)
    expect(await (await engine.start(ship, 'a')).result()).toBe('parcel a, attempt 2, 2 paid')
    expect(await bell.hears('ship')).toBe('ship: parcel a, attempt 2, 2 paid')
    expect(await bell.hears('fails')).toBe('fails: on purpose')
    expect(bell.heard.some((one) => one.startsWith('order'))).toBe(false)
  })

  test('the engine is open in onApplicationBootstrap, and before that it says so', () => {
    const bell = app.get(Bell, { strict: false })
    expect(bell.heard[0]).toBe('open: 4 definitions')
    expect(bell.atStart).toContain('The engine is not open yet')
  })

  test('a closed application is down, and its engine is closed', async () => {
    const own = await open(quietOptions(), { mails: [] })
    const health = own.get(PerdureHealth)
    expect(await health.isHealthy()).toEqual({ perdure: { status: 'up' } })
    const its: Engine = own.get(PERDURE_ENGINE)
    await own.close()
    expect(await health.isHealthy('engine')).toMatchObject({ engine: { status: 'down' } })
    await expect(its.start(ship, 'x')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
  })
})

describe('what is wrong with an application is said at its start', () => {
  test('by forFeature, forRoot and decorators', async () => {
    const invalid = expect.objectContaining({ code: 'DEFINITION_INVALID' })
    expect(() => PerdureModule.forFeature([])).toThrow(invalid)
    expect(() => PerdureModule.forFeature([class {}])).toThrow(invalid)
    expect(() => PerdureModule.forRoot({ mount: { path: 'perdure' } })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })

  test('a class that cannot be made', async () => {
    const module = PerdureModule.forRoot(quietOptions())
    const broken = NestFactory.createApplicationContext(
      { module: class {}, imports: [module], providers: [Order] } as never,
      SILENT,
    )
    await expect(broken).rejects.toThrow(/Order/)
  })
})

describeOn(['postgres18'], 'a run', () => {
  test('goes on in the next application on the same database', async () => {
    const options = quietOptions()
    const first = await open(options, { mails: [] })
    const engine: Engine = first.get(PERDURE_ENGINE)
    const { id } = await engine.start(Order, { id: 'r' }, { id: 'order-r' })
    const packing = new Promise<void>((resolve) => {
      engine.on('run.waiting', () => resolve())
    })
    await packing
    await first.close()
    const mails: string[] = []
    const second = await open(options, { mails })
    const then: Engine = second.get(PERDURE_ENGINE)
    const run = then.handle(Order, id)
    await run.trigger('pack', { by: 'bob' }, { within: '20s' })
    expect(await run.result()).toEqual({
      notes: ['r: paid', 'r: packed by bob'],
      receipt: 'paid-r',
      isInjected: true,
    })
    expect(mails).toEqual(['packed r'])
    expect(second.get(Payments, { strict: false }).charged).toEqual([])
    await second.close()
  })
})
