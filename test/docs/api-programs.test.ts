// The programs of test/types/programs, which the compiler accepts, also run: 00 to 04, 06, 09 and 10.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../src/index.js'
import { databases, urlOf } from '../support/databases.js'
import { createEngine, lastEngine, pass } from './perdure.js'
import { type Program, run } from './programs.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PLACE = join(ROOT, '.cache/docs/api')
const PERDURE = join(ROOT, 'test/docs/perdure.js')
const DAY_MS = 24 * 60 * 60 * 1000
const SHIPMENTS =
  "create table if not exists shipments (id text default '1', order_id text, payment_id text)"

type Change = readonly [from: string | RegExp, to: string]

/** As it is, but for what it needs of its surroundings. */
function place(name: string, as: string, ...changes: readonly Change[]): Program {
  let code = readFileSync(join(ROOT, 'test/types/programs', `${name}.ts`), 'utf8')
  for (const [from, to] of changes) {
    expect(code).toMatch(from)
    code = code.replace(from, to)
  }
  const file = join(PLACE, `${as}.ts`)
  writeFileSync(file, code.replace(/from 'perdure'/g, `from '${PERDURE}'`))
  return { at: name, code, file }
}

/** Only what it defines, for those who import it. */
const DEFINITIONS: Change = [/\nexport const engine =[\s\S]*$/, '\n']

beforeAll(() => {
  mkdirSync(PLACE, { recursive: true })
  for (const name of ['services', 'shop', '02-signup']) place(name, name)
  place('01-order', '01-order', DEFINITIONS)
})

const settled = (engine: Engine, id: string) =>
  expect.poll(async () => (await engine.get(id))?.status, { timeout: 60_000 })

test('00: the order of the README ships two days after its approval', async () => {
  await run(
    place('00-readme', '00-readme'),
    'create table if not exists shipments (a text, b text)',
  )
  const engine = lastEngine()
  await expect
    .poll(async () => engine.get('o-1'), { timeout: 60_000 })
    .toMatchObject({ status: 'waiting', reason: 'timer' })
  await pass(engine, 2 * DAY_MS)
  await settled(engine, 'o-1').toBe('completed')
})

test('01: an order is charged, approved, shipped, and told by name too', async () => {
  const running = run(place('01-order', '01-order-whole'), SHIPMENTS)
  await expect
    .poll(async () => (await lastEngineOrNull()?.get('ord-1042')) ?? null, { timeout: 60_000 })
    .toMatchObject({ status: 'waiting', reason: 'timer', state: { phase: 'approval' } })
  await pass(lastEngine(), 2 * DAY_MS)
  const { printed } = await running
  expect(printed[0]).toBe('1')
})

function lastEngineOrNull(): Engine | null {
  try {
    return lastEngine()
  } catch {
    return null
  }
}

test('02: a signup does its parts side by side, and reminds', async () => {
  const { exports } = await run(place('02-signup', '02-signup'))
  const { signup, tasks } = exports as { signup: never; tasks: readonly never[] }
  const engine = await createEngine({ workflows: [signup, ...tasks] })
  const { id } = await engine.start('signup', { email: 'a@b.example' })
  await expect
    .poll(async () => engine.get(id), { timeout: 60_000 })
    .toMatchObject({ status: 'waiting', reason: 'timer' })
  await pass(engine, 300_000)
  await expect
    .poll(async () => engine.get(id), { timeout: 60_000 })
    .toMatchObject({ status: 'waiting', reason: 'signal' })
  await engine.signal(id, 'verified', true)
  await settled(engine, id).toBe('completed')
  expect(await engine.get(id)).toMatchObject({ output: { warmed: 13 } })
})

test('03: a subscription is changed by a call that is answered with its new state', async () => {
  const { printed } = await run(place('03-subscription', '03-subscription'))
  expect(printed).toEqual([expect.stringMatching(/^pro [01]$/)])
})

test('04: an approval as a class and as an object ends with what its people decided', async () => {
  const patient = ", { within: '60s' })"
  const { printed } = await run(
    place(
      '04-approval',
      '04-approval',
      ["run.trigger('approve', { by: 'ada' })", `run.trigger('approve', { by: 'ada' }${patient}`],
      ["trigger('APPROVE', { by: 'ada' })", `trigger('APPROVE', { by: 'ada' }${patient}`],
    ),
  )
  expect(printed).toEqual(['10 1', 'true'])
})

test('04: so it does as an object of transitions', async () => {
  const { printed } = await run(
    place(
      '04-approval-object',
      '04-approval-object',
      ["trigger('approve', { by: 'ada' })", "trigger('approve', { by: 'ada' }, { within: '60s' })"],
      ["await run.trigger('reject')\n", ''],
      [/^same<.*\n/gm, ''],
    ),
  )
  expect(printed).toEqual(['About bees 1'])
})

test('06: a picking is created by its first event, and is at rest after each', async () => {
  const { printed } = await run(place('06-events', '06-events'))
  // What its listener prints comes when it comes.
  expect(printed).toEqual(expect.arrayContaining(['1 3', 'done']))
})

test('09: the tests of the order pass', async () => {
  const program = place(
    '09-test',
    '09-test',
    [
      "import test from 'node:test'",
      'export const tests = []; const test = (...t) => tests.push(t)',
    ],
    // Drivers give a serial as a number, and the program wants a text.
    ['id serial', 'id text default 1'],
  )
  const { exports } = await run(program)
  const tests = exports.tests as readonly (readonly [string, () => Promise<void>])[]
  expect(tests).toHaveLength(4)
  for (const [title, body] of tests)
    await body().catch((e: unknown) => expect.fail(`${title}: ${e}`))
})

const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)

describe.skipIf(!server)('on a server', () => {
  test('10: a run begins if and only if the transaction of its HTTP request commits', async () => {
    const url = new URL(server ? urlOf(server) : '')
    const name = `api_programs_${process.pid}`
    const admin = new pg.Client({ connectionString: url.href })
    await admin.connect()
    await admin.query(`create database ${name}`)
    Object.assign(process.env, {
      PGHOST: url.hostname || decodeURIComponent(url.searchParams.get('host') ?? ''),
      PGPORT: url.port || '5432',
      PGUSER: decodeURIComponent(url.username),
      PGPASSWORD: decodeURIComponent(url.password),
      PGDATABASE: name,
    })
    const own = new pg.Client()
    own.on('error', () => {})
    await own.connect()
    await own.query(
      `create sequence ids; create table orders (id text default nextval('ids')::text, amount int); ${SHIPMENTS}`,
    )
    const program = place(
      '10-http',
      '10-http',
      ['const pool =', 'export const pool ='],
      ['createServer(', 'export const server = createServer('],
      ['insert into orders …', 'insert into orders (amount) values (1)'],
    )
    const { exports } = await run(program)
    const { server: http, pool } = exports as {
      server: import('node:http').Server
      pool: pg.Pool
    }
    // Its last connection may still be closing when the database is dropped.
    pool.on('error', () => {})
    const { port } = http.address() as { port: number }
    const response = await fetch(`http://127.0.0.1:${port}/`)
    expect([response.status, response.headers.get('location')]).toEqual([202, '/orders/order:2'])
    const engine = lastEngine()
    expect(await engine.get('order:2')).toMatchObject({ input: { id: '2', amount: 100 } })
    expect(await engine.get('order:9')).not.toBeNull()
    await new Promise((resolve) => http.close(resolve))
    await engine.close()
    await pool.end()
    await own.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
})
