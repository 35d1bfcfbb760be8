// Every route × every role × own and foreign workspace, made from the table of routes: a new route is in here by itself, and one
// that takes a body is missed here until it has a sample.

import { beforeAll, describe, expect, test } from 'vitest'
import { isAtLeast, ROLES, type Role } from '../../src/http/access.js'
import { fullPath, type Route } from '../../src/http/route.js'
import { ROUTES } from '../../src/http/routes/index.js'
import { pause } from '../support/world.js'
import { order, picking, serverOf } from './server.js'

const tokenOf = (role: Role): string => `a-token-for-the-role-${role}-of-a`
const server = serverOf({
  tokens: ROLES.map((role) => ({ token: tokenOf(role), role, workspaces: ['a', 'c'] })),
})

const keyOf = ({ method, path }: Route): string => `${method} ${path}`

/** What is sent to each route that takes a body. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /workflows/{name}/runs': { input: { n: 1 } },
  'POST /workflows/{name}/runs/batch': { items: [{ input: { n: 1 } }] },
  'POST /runs/start': { items: [{ workflow: 'order', input: { n: 1 } }] },
  'POST /workflows/{name}/stateless': { input: { n: 1 } },
  'POST /workflows/{name}/runs/{id}/send': { event: { type: 'ASSIGN' } },
  'POST /runs/{id}/signals': { name: 'approval', payload: { ok: true } },
  'POST /runs/{id}/triggers': { name: 'approval', payload: { ok: true } },
  'POST /runs/{id}/cancel': { reason: 'x' },
  'POST /runs/{id}/retry': {},
  'POST /runs/{id}/fork': {},
  'POST /runs/cancel': { filter: { text: 'of-b' } },
  'POST /runs/retry': { filter: { text: 'of-b' } },
  'PUT /schedules/{id}': { workflow: 'order', cron: '0 9 * * *', input: { n: 1 } },
  'POST /schedules/{id}/run': {},
  'POST /schedules/{id}/backfill': { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  'POST /export': { copy: true },
  'POST /events': { name: 'paid', payload: 1 },
  'POST /graphs/validate': { graph: {} },
  'POST /expressions/check': { cel: 'input.n > 1' },
  'PUT /graphs/{name}': { graph: { id: 'order', nodes: [], edges: [] } },
}
/** Those that name something by an id, and make it where it is not: that of the other workspace stays as it is. */
const MAKES_ITS_OWN = [
  'PUT /schedules/{id}',
  'DELETE /schedules/{id}',
  'POST /workflows/{name}/runs/{id}/send',
]
const FOREIGN = 'secret-of-b'

const pathOf = (route: Route): string => {
  const name = route.path.includes('send') ? picking.name : order.name
  return fullPath(route).replace('{name}', name).replace('{id}', FOREIGN)
}
const send = (route: Route, sent: object) =>
  server.ask(route.method, pathOf(route), { body: BODIES[keyOf(route)], ...sent })

/** All that can be seen of workspace b. */
async function foreign() {
  const client = server.engine.workspace('b')
  const run = await client.get(FOREIGN)
  const history = await client.history(FOREIGN)
  const schedule = await client.schedules.get(FOREIGN)
  const { items } = await client.list()
  return { run, history, schedule, ids: items.map(({ id }) => id) }
}

let before: Awaited<ReturnType<typeof foreign>>
beforeAll(async () => {
  const client = server.engine.workspace('b')
  await client.start(order, { n: 1 }, { id: FOREIGN, tags: { secret: 'of-b' } })
  await client.schedules.set({ id: FOREIGN, workflow: order, cron: '0 9 1 1 *', input: { n: 1 } })
  while ((await client.get(FOREIGN))?.status !== 'waiting') await pause(20)
  before = await foreign()
})

const makesItsOwn = (route: Route): boolean => MAKES_ITS_OWN.includes(keyOf(route))
/** Those that make something under that id come last: then it is in the own workspace too. */
const protectedRoutes = ROUTES.filter(({ role }) => role !== 'anyone').sort(
  (a, b) => Number(makesItsOwn(a)) - Number(makesItsOwn(b)),
)

test('only health is for anyone, and every route with a body has a sample here', () => {
  const open = ROUTES.filter(({ role }) => role === 'anyone').map(keyOf)
  expect(open).toEqual(['GET /healthz', 'GET /readyz'])
  const missing = ROUTES.filter(({ body }) => body !== null).map(keyOf)
  expect(missing.filter((key) => !Object.hasOwn(BODIES, key))).toEqual([])
  expect(new Set(ROUTES.map(keyOf)).size).toBe(ROUTES.length)
})

describe.each(protectedRoutes.map((route) => [keyOf(route), route] as const))('%s', (_, route) => {
  const needed = route.role as Role

  test('without a token it is 401', async () => {
    expect((await send(route, {})).status).toBe(401)
  })

  test.each(ROLES)(
    'B35 [X14] as %s it does what the role may, in the own workspace alone',
    async (role) => {
      const token = tokenOf(role)
      const got = await send(route, { token })
      if (!isAtLeast(role, needed)) {
        expect([got.status, got.json.code]).toEqual([403, 'FORBIDDEN'])
        return
      }
      expect(got.status).toBeLessThan(500)
      expect(got.status).not.toBe(403)
      // What is not in the own workspace is not there at all.
      if (route.path.includes('{id}') && !makesItsOwn(route)) {
        expect([got.status, got.json.code]).toEqual([
          404,
          expect.stringMatching(/^(RUN|SCHEDULE|WEBHOOK)_NOT_FOUND$/),
        ])
      } else if (!makesItsOwn(route)) expect(got.text).not.toContain('of-b"')
      const elsewhere = await send(route, { token, workspace: 'b' })
      expect([elsewhere.status, elsewhere.json.code]).toEqual([403, 'FORBIDDEN'])
      if (route.body === null) return
      const inBody = await send(route, {
        token,
        body: { ...BODIES[keyOf(route)], workspace: 'b' },
      })
      expect([400, 403]).toContain(inBody.status)
    },
  )
})

test('[X14] nothing of the other workspace has changed', async () => {
  expect(await foreign()).toEqual(before)
})

test('a workspace of the token can be chosen, and its first is meant where none is', async () => {
  const token = tokenOf('operator')
  const start = (workspace?: string) =>
    server.ask('POST', '/api/v1/workflows/echo/runs', {
      token,
      body: { id: 'mine' },
      ...(workspace && { workspace }),
    })
  expect((await start('c')).status).toBe(201)
  expect((await start()).status).toBe(201)
  expect((await server.engine.workspace('a').get('mine'))?.workspace).toBe('a')
  expect((await server.engine.workspace('c').get('mine'))?.workspace).toBe('c')
  expect(await server.engine.get('mine')).toBeNull()
})

test('[X14] a run that is asked for as one of another definition is not there', async () => {
  const token = tokenOf('admin')
  await server.engine.workspace('a').start(order, { n: 1 }, { id: 'of-order' })
  const runRoutes = protectedRoutes.filter(({ path }) => path.startsWith('/runs/{id}'))
  for (const route of runRoutes) {
    const path = `${fullPath(route).replace('{id}', 'of-order')}?workflow=echo`
    const got = await server.ask(route.method, path, { token, body: BODIES[keyOf(route)] })
    expect([keyOf(route), got.json?.code]).toEqual([keyOf(route), 'RUN_NOT_FOUND'])
  }
  expect(runRoutes.length).toBeGreaterThan(14)
})

test('limits and metrics tell a token of some workspaces nothing of others', async () => {
  const token = tokenOf('viewer')
  const metrics = await server.ask('GET', '/metrics', { token, workspace: 'c' })
  expect(metrics.text).not.toContain('workflow="order"')
  const { json } = await server.ask('GET', '/api/v1/stats', { token, workspace: 'c' })
  expect(json.items.map(({ workflow }: { workflow: string }) => workflow)).not.toContain('order')
})

test('[X14] at a limit a token of some workspaces sees its own runs alone', async () => {
  const client = server.engine.workspace('b')
  await client.start('single', undefined, { id: 'holds-of-b' })
  await server.engine.workspace('a').start('single', undefined, { id: 'asks-of-a' })
  const at = (token: string) =>
    server.ask('GET', '/api/v1/limits/runs?kind=definition&workflow=single', { token })
  const { holders } = await server.engine.limitRuns({
    ...{ kind: 'definition', workflow: 'single', name: null },
  })
  expect(holders.map(({ id }) => id)).toEqual(['holds-of-b'])
  const { json } = await at(tokenOf('viewer'))
  expect(json).toMatchObject({ holders: [], waiters: [{ id: 'asks-of-a', workspace: 'a' }] })
  const keys = '/api/v1/limits/runs?kind=workspace&name=b'
  const other = await server.ask('GET', keys, { token: tokenOf('viewer') })
  expect(other.json).toEqual({ holders: [], waiters: [] })
  await client.cancel('holds-of-b')
  await server.engine.workspace('a').cancel('asks-of-a')
})

test('a token is told what it may do, and nothing of other tokens', async () => {
  const { json } = await server.ask('GET', '/api/v1/me', { token: tokenOf('operator') })
  expect(json).toMatchObject({ role: 'operator', workspaces: ['a', 'c'], workspace: 'a' })
  expect(JSON.stringify(json)).not.toMatch(/a-token-for|postgres:/)
})

test('stacks are for those who write the code', async () => {
  const handle = await server.engine.workspace('a').start('failing', undefined, { id: 'broken' })
  await handle.result().catch(() => {})
  const look = (role: Role, path: string) =>
    server.ask('GET', `/api/v1/runs/broken${path}`, { token: tokenOf(role) })
  for (const path of ['', '/history', '/result?waitMs=1000', '/events']) {
    expect((await look('operator', path)).text).not.toContain('server.ts')
    expect((await look('operator', path)).text).toContain('out of order')
  }
  expect((await look('author', '')).text).toContain('server.ts')
})
