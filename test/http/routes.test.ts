// What each route gives: as the OpenAPI document says it.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { createHandler, nodeListener } from '../../src/http/index.js'
import { fullPath } from '../../src/http/route.js'
import { ROUTES } from '../../src/http/routes/index.js'
import { asking, type Got, type Sent, serverOf } from './server.js'

const server = serverOf()
const API = '/api/v1'
const seen = new Set<string>()

/** Asks, and holds the answer against the schema of its route. */
async function ask(method: string, path: string, body?: unknown, sent: Sent = {}): Promise<Got> {
  const got = await server.ask(method, path, { body, ...sent })
  const { pathname } = new URL(path, 'http://x')
  const fits = (pattern: string) =>
    new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  // /runs/cancel is no run called cancel.
  const matching = ROUTES.filter((one) => one.method === method && fits(fullPath(one)))
  const route = matching.find(({ path: own }) => !own.endsWith('}')) ?? matching[0]
  if (!route || got.status >= 400) return got
  seen.add(`${route.method} ${route.path}`)
  expect(got.status).toBe(route.status)
  if (route.answer) expect(route.answer.safeParse(got.json).error?.message).toBeUndefined()
  return got
}
const start = async (workflow: string, body: object): Promise<string> =>
  (await ask('POST', `${API}/workflows/${workflow}/runs`, body)).json.id
const untilOver = (id: string) => ask('GET', `${API}/runs/${id}/result?waitMs=25000`)
const untilWaiting = (id: string) =>
  expect
    .poll(async () => (await server.engine.get(id))?.status, { timeout: 30_000 })
    .toBe('waiting')
const sampleOf = (text: string, name: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length) ?? 0,
  )
const idsOf = ({ json }: Got): string[] => json.items.map(({ id }: { id: string }) => id)

afterAll(() => {
  const all = ROUTES.map(({ method, path }) => `${method} ${path}`)
  expect(all.filter((one) => !seen.has(one))).toEqual([])
})

describe('definitions', () => {
  test('are listed and described', async () => {
    const { json } = await ask('GET', `${API}/workflows`)
    expect(json.items.map(({ name }: { name: string }) => name)).toContain('picking')
    const picking = await ask('GET', `${API}/workflows/picking`)
    expect(picking.json.places[0]).toEqual({ name: 'idle', isFinal: false })
    expect((await ask('GET', `${API}/workflows/nothing`)).json.code).toBe('DEFINITION_UNKNOWN')
  })

  test('that are graphs can be stored, and have webhooks', async () => {
    const graph = {
      id: 'greet',
      triggers: [{ type: 'webhook' }],
      nodes: [{ id: 'say', type: 'set', config: { says: 'hello' } }],
      edges: [{ from: 'trigger', to: 'say' }],
    }
    const found = await ask('POST', `${API}/graphs/validate`, { graph })
    expect(found.json).toEqual({ problems: [] })
    const saved = await ask('PUT', `${API}/graphs/greet`, { graph, expected: 0 })
    expect(saved.json).toEqual({ name: 'greet', version: 1, isNew: true })
    expect((await ask('GET', `${API}/graphs`)).json.items).toMatchObject([{ name: 'greet' }])
    expect((await ask('GET', `${API}/graphs/greet`)).json.json).toEqual(graph)
    expect((await ask('GET', `${API}/graphs/greet/versions`)).json.items).toHaveLength(1)
    const [hook] = (await ask('GET', `${API}/webhooks`)).json.items
    const rotated = await ask('POST', `${API}/webhooks/${encodeURIComponent(hook.id)}/rotate`)
    expect(rotated.json.path).not.toBe(hook.path)
    await ask('DELETE', `${API}/graphs/greet`)
    expect((await ask('GET', `${API}/graphs/greet`)).json.isArchived).toBe(true)
  })

  test('run without being stored', async () => {
    const got = await ask('POST', `${API}/workflows/echo/stateless`, { input: [1] })
    expect(got.json).toMatchObject({ status: 'completed', output: [1] })
    expect((await ask('GET', `${API}/runs/${got.json.id}`)).status).toBe(404)
  })

  test('that are event machines take events, which create them', async () => {
    const path = `${API}/workflows/picking/runs/p-1/send`
    const got = await ask('POST', path, { event: { type: 'ASSIGN' } })
    expect(got.json).toMatchObject({ id: 'p-1', state: 'picking', transitions: 1, done: false })
    const checkpoints = await ask('GET', `${API}/runs/p-1/checkpoints`)
    expect(checkpoints.json.items).toMatchObject([{ version: 1, place: 'picking' }])
  })

  test('are started many at once', async () => {
    const items = [{ input: 1, id: 'm-1' }, { input: 2 }]
    const got = await ask('POST', `${API}/workflows/echo/runs/batch`, { items })
    expect(got.json.items).toHaveLength(2)
    expect(idsOf(got)[0]).toBe('m-1')
  })

  test('of several kinds are started together, and one that is wrong is refused alone', async () => {
    await start('echo', { id: 's-taken', input: 1 })
    const items = [
      { workflow: 'echo', input: 1, id: 's-1' },
      { workflow: 'echo', input: 2, id: 's-taken' },
      { workflow: 'nobody', input: 3 },
      { workflow: 'order', input: { n: 4 }, id: 's-4', tags: { of: 'start' } },
      { workflow: 'echo', input: 5, priority: 'high' },
      { workflow: 'echo', input: 6, workspace: 'other' },
      { workflow: 'echo', id: '..' },
      { input: 8 },
      { workflow: 'echo', input: 9, id: 's-9' },
    ]
    const got = await ask('POST', `${API}/runs/start`, { items })
    const told = (one: { id?: string; problem?: { code: string } }) => one.id ?? one.problem?.code
    expect(got.json.items.map(told)).toEqual([
      's-1',
      'ID_TAKEN',
      'DEFINITION_UNKNOWN',
      's-4',
      'REQUEST_INVALID',
      'FORBIDDEN',
      'ID_INVALID',
      'REQUEST_INVALID',
      's-9',
    ])
    expect(got.json.items[4].problem).toMatchObject({
      status: 400,
      title: expect.stringContaining('body.items.4.priority'),
      hint: expect.any(String),
      requestId: got.headers.get('x-request-id'),
    })
    // In the order of the items.
    const listed = await ask('GET', `${API}/runs?text=s-`)
    expect(idsOf(listed)).toEqual(['s-9', 's-4', 's-1', 's-taken'])
    expect((await untilOver('s-1')).json).toMatchObject({ isOver: true, output: 1 })
  })
})

describe('what people look at', () => {
  test('is there for a page of runs, of definitions, of graphs and of the server', async () => {
    await start('order', { input: { n: 1 }, id: 'i-1' })
    await untilWaiting('i-1')
    expect(idsOf(await ask('GET', `${API}/inbox?workflow=order`))).toContain('i-1')
    expect((await ask('GET', `${API}/activity?buckets=2`)).json.items).toHaveLength(2)
    expect((await ask('GET', `${API}/workflows/order/steps`)).json.workflow).toBe('order')
    expect((await ask('GET', `${API}/runs/i-1/at?seq=1`)).json.status).toBe('pending')
    const types = await ask('GET', `${API}/node-types`)
    expect(types.json.items.map(({ name }: { name: string }) => name)).toContain('loop')
    const checked = await ask('POST', `${API}/expressions/check`, { cel: 'input.n >' })
    expect(checked.json).toMatchObject({ ok: false, error: { line: 1 } })
    const me = await ask('GET', `${API}/me`)
    expect(me.json).toMatchObject({ role: 'admin', workspaces: '*', workspace: 'default' })
    expect(me.json.version).toMatch(/^\d+\.\d+\.\d+/)
    expect(me.json.features).toMatchObject({ isWorker: true, retentionDays: 30 })
    const runs = await ask('GET', `${API}/limits/runs?kind=definition&workflow=order`)
    expect(runs.json).toEqual({ holders: [], waiters: [] })
  })
})

describe('executions', () => {
  test('[D30] of a workflow are listed newest first, in pages, by status, of the own workspace', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i += 1) ids.push(await start('routing', { input: { n: i } }))
    await server.engine.workspace('other').start('routing', { n: 9 } as never, { id: 'elsewhere' })
    for (const id of ids) await untilOver(id)
    const path = `${API}/workflows/routing/executions`
    const first = await ask('GET', `${path}?limit=2`)
    const second = await ask('GET', `${path}?limit=2&after=${first.json.next}`)
    const last = await ask('GET', `${path}?limit=2&after=${second.json.next}`)
    expect([first, second, last].flatMap(idsOf)).toEqual(ids.toReversed())
    expect(last.json.next).toBeNull()
    expect(idsOf(await ask('GET', `${path}?status=completed`))).toHaveLength(5)
    expect(idsOf(await ask('GET', `${path}?status=failed&status=timed_out`))).toEqual([])
    expect(first.json.items[0]).toMatchObject({
      status: 'completed',
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
    })
  })

  test('[D30] have a log of each node, with its input, output, duration and the variables after it', async () => {
    const id = await start('routing', { input: { n: 6 } })
    await untilOver(id)
    const { json } = await ask('GET', `${API}/runs/${id}/nodes`)
    expect(json.items).toMatchObject([
      { node: 'score', status: 'completed', error: null, durationMs: expect.any(Number) },
      { node: 'judge', status: 'completed', variables: { score: 12, big: true } },
    ])
  })
})

describe('a run', () => {
  test('is started, read, signalled, and has a result', async () => {
    const got = await ask('POST', `${API}/workflows/order/runs`, { input: { n: 1 }, id: 'r-1' })
    expect(got.headers.get('location')).toBe('/api/v1/runs/r-1')
    await untilWaiting('r-1')
    const run = await ask('GET', `${API}/runs/r-1`)
    expect(run.json).toMatchObject({
      status: 'waiting',
      available: [{ kind: 'signal', name: 'approval', schema: null }],
    })
    const early = await ask('GET', `${API}/runs/r-1/result`)
    expect(early.json).toEqual({ id: 'r-1', isOver: false, status: 'waiting' })
    const explained = await ask('GET', `${API}/runs/r-1/explain`)
    expect(explained.json.sentence).toContain('approval')
    await ask('POST', `${API}/runs/r-1/signals`, { name: 'approval', payload: { ok: true } })
    const { json } = await untilOver('r-1')
    expect(json).toEqual({
      id: 'r-1',
      isOver: true,
      status: 'completed',
      output: { n: 1, approval: { ok: true } },
    })
    const history = await ask('GET', `${API}/runs/r-1/history?limit=1`)
    expect(history.json.items[0].kind).toBe('run.created')
    const next = await ask('GET', `${API}/runs/r-1/history?order=newest&limit=1`)
    expect(next.json.items[0].kind).toBe('run.completed')
    expect((await ask('GET', `${API}/runs/r-1/events`)).text).toContain('event: run.completed')
  })

  test('takes calls, and refuses what it cannot take', async () => {
    await start('order', { input: { n: 1 }, id: 'r-2' })
    await untilWaiting('r-2')
    const path = `${API}/runs/r-2/triggers`
    const refused = await ask('POST', path, { name: 'aproval' })
    expect([refused.status, refused.json.code]).toEqual([409, 'NOT_AVAILABLE'])
    expect(refused.json.details).toEqual({ available: ['approval'] })
    const taken = await ask('POST', path, { name: 'approval', payload: { ok: false } })
    expect(taken.json.id).toBe('r-2')
  })

  test('is paused, resumed and cancelled', async () => {
    await start('order', { input: { n: 1 }, id: 'r-3' })
    await untilWaiting('r-3')
    await ask('POST', `${API}/runs/r-3/pause`)
    expect((await ask('GET', `${API}/runs?reason=paused&text=r-3`)).json.items).toHaveLength(1)
    await ask('POST', `${API}/runs/r-3/resume`)
    await ask('POST', `${API}/runs/r-3/cancel`, { reason: 'enough' })
    const { json } = await untilOver('r-3')
    expect(json).toMatchObject({ status: 'cancelled', failure: { code: 'WORKFLOW_CANCELLED' } })
    expect(json.failure.message).toContain('enough')
  })

  test('is retried, and forked', async () => {
    await start('failing', { id: 'r-4' })
    expect((await untilOver('r-4')).json.failure.cause).toMatchObject({ message: 'out of order' })
    await ask('POST', `${API}/runs/r-4/retry`, { expectedAttempt: 1 })
    await untilOver('r-4')
    expect((await ask('GET', `${API}/runs/r-4`)).json.attempt).toBe(2)
    const body = { outputs: {}, id: 'r-4-fork', input: { message: 'other' } }
    expect((await ask('POST', `${API}/runs/r-4/fork`, body)).json).toEqual({ id: 'r-4-fork' })
    expect((await untilOver('r-4-fork')).json.failure.message).toContain('other')
  })

  test('shows documents, and has children', async () => {
    await start('shown', { id: 'r-5' })
    await untilOver('r-5')
    const all = await ask('GET', `${API}/runs/r-5/documents`)
    expect(all.json.items).toMatchObject([
      { className: 'note', key: 'a', content: { text: 'hello' } },
    ])
    expect((await ask('GET', `${API}/runs/r-5/documents?type=other`)).json.items).toEqual([])
    await start('parent', { id: 'r-6', input: { n: 3 } })
    await untilOver('r-6')
    const children = await ask('GET', `${API}/runs/r-6/children`)
    expect(children.json.items).toMatchObject([{ workflow: 'echo', parentId: 'r-6' }])
  })

  test('tells what its steps publish, and changes are told', async () => {
    await start('spoken', { id: 'spoken-1', input: ['one', 'two'] })
    await untilOver('spoken-1')
    expect((await ask('GET', `${API}/runs/spoken-1/stream`)).text).toMatch(/"one".*"two"/s)
    const changes = await ask('GET', `${API}/changes`)
    expect(changes.headers.get('content-type')).toContain('text/event-stream')
  })

  test('with tags is found by them, also together with those that others have', async () => {
    const tags = { team: 'blue', 'a:b': 'c:d' }
    await start('echo', { id: 'r-7', tags })
    await start('echo', { id: 'r-8', tags: { team: 'blue' } })
    expect(idsOf(await ask('GET', `${API}/runs?tag=team:blue`))).toEqual(['r-8', 'r-7'])
    const both = `${API}/runs?tag=team:blue&tag=${encodeURIComponent('a%3Ab:c:d')}`
    expect(idsOf(await ask('GET', both))).toEqual(['r-7'])
  })
})

describe('many runs', () => {
  test('are cancelled by a filter; a dry run only says which', async () => {
    for (const id of ['bulk-1', 'bulk-2'])
      await start('order', { input: { n: 1 }, id, tags: { bulk: 'x' } })
    const filter = { tags: { bulk: 'x' } }
    const dry = await ask('POST', `${API}/runs/cancel`, { filter, dryRun: true })
    expect(dry.json).toEqual({
      dryRun: true,
      ids: ['bulk-2', 'bulk-1'],
      refused: [],
      isMore: false,
    })
    expect((await server.engine.get('bulk-1'))?.finishedAt).toBeNull()
    const one = await ask('POST', `${API}/runs/cancel`, { filter, limit: 1 })
    expect(one.json).toMatchObject({ ids: ['bulk-2'], isMore: true })
    await untilOver('bulk-2')
    const rest = await ask('POST', `${API}/runs/cancel`, { filter })
    expect(rest.json).toMatchObject({ dryRun: false, ids: ['bulk-1'], isMore: false })
    expect((await untilOver('bulk-1')).json.status).toBe('cancelled')
  })

  test('are retried by a filter', async () => {
    await start('failing', { id: 'again', tags: { bulk: 'y' } })
    await untilOver('again')
    const got = await ask('POST', `${API}/runs/retry`, { filter: { tags: { bulk: 'y' } } })
    expect(got.json.ids).toEqual(['again'])
    expect((await server.engine.get('again'))?.attempt).toBe(2)
  })

  test('are never all runs', async () => {
    const got = await ask('POST', `${API}/runs/cancel`, { filter: {} })
    expect([got.status, got.json.code]).toEqual([400, 'REQUEST_INVALID'])
  })
})

describe('schedules', () => {
  test('are made, read, run, paused and deleted', async () => {
    const path = `${API}/schedules/daily`
    const made = await ask('PUT', path, { workflow: 'echo', cron: '0 9 * * *', input: 1 })
    expect(made.json).toMatchObject({ id: 'daily', cron: '0 9 * * *', isPaused: false })
    expect(idsOf(await ask('GET', `${API}/schedules`))).toContain('daily')
    expect((await ask('GET', `${path}/next?count=3`)).json.items).toHaveLength(3)
    const run = await ask('POST', `${path}/run`, { id: 'now' })
    expect(run.json).toEqual({ id: 'now' })
    await ask('POST', `${path}/pause`)
    expect((await ask('GET', path)).json.isPaused).toBe(true)
    await ask('POST', `${path}/resume`)
    const span = { from: '2026-01-01T00:00:00Z', to: '2026-01-03T00:00:00Z' }
    expect((await ask('POST', `${path}/backfill`, span)).json.items).toHaveLength(2)
    await ask('DELETE', path)
    expect((await ask('GET', path)).json.code).toBe('SCHEDULE_NOT_FOUND')
  })

  test.each(['60 * * * *', '0 0 31 2 *', 'x'])('B91 the times %s are 422', async (cron) => {
    const got = await ask('PUT', `${API}/schedules/bad`, { workflow: 'echo', cron })
    expect([got.status, got.json.code]).toEqual([422, 'SCHEDULE_INVALID'])
  })
})

describe('the rest', () => {
  test('events, workers, limits, counts, health and metrics answer', async () => {
    await ask('POST', `${API}/events`, { name: 'paid', payload: { n: 1 }, id: 'e-1' })
    const workers = await ask('GET', `${API}/workers`)
    expect(workers.json.items).toMatchObject([{ isAlive: true }])
    expect((await ask('GET', `${API}/limits`)).json.items).toContainEqual(
      expect.objectContaining({ workflow: 'routing' }),
    )
    expect((await ask('GET', `${API}/stats`)).json.items.length).toBeGreaterThan(3)
    expect((await ask('GET', '/metrics')).text).toContain('perdure_workers 1')
    await ask('GET', '/healthz')
    await ask('GET', '/readyz')
  })

  test('an export comes in lines, as far as it is asked for', async () => {
    const id = await start('order', { input: { n: 1 } })
    await untilWaiting(id)
    const { text } = await ask('POST', `${API}/export`, { ids: [id], copy: true })
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([{ isCopy: true }, { run: { id } }, { end: { runs: 1 } }])
    await server.engine.cancel(id)
  })

  test('metrics move when runs run: turns, commits, steps by outcome, and what is due', async () => {
    const before = (await ask('GET', '/metrics')).text
    const id = await start('order', { input: { n: 1 } })
    await untilWaiting(id)
    const failed = await server.engine.run('failing', undefined)
    expect(failed.status).toBe('failed')
    const after = (await ask('GET', '/metrics')).text
    const grown = (name: string): number => sampleOf(after, name) - sampleOf(before, name)
    expect(grown('perdure_turns_total')).toBeGreaterThanOrEqual(2)
    expect(grown('perdure_commit_deltas_sum')).toBeGreaterThanOrEqual(4)
    expect(grown('perdure_commit_deltas_count')).toBeGreaterThanOrEqual(2)
    expect(grown('perdure_commit_seconds_count')).toBe(grown('perdure_commit_deltas_count'))
    const steps = (more: string): number => grown(`perdure_step_seconds_count{${more}}`)
    expect(steps('workflow="order",outcome="completed"')).toBe(1)
    expect(steps('workflow="failing",outcome="failed"')).toBeGreaterThanOrEqual(1)
    const bucket = 'perdure_step_seconds_bucket{workflow="order",outcome="completed",le="+Inf"}'
    expect(grown(bucket)).toBe(1)
    expect(sampleOf(after, 'perdure_due_lag_seconds')).toBeGreaterThanOrEqual(0)
    expect(sampleOf(after, 'perdure_claims_total')).toBeGreaterThan(0)
    expect(sampleOf(after, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
    await server.engine.cancel(id)
  })

  test('a server whose engine is closed is not ready, and says so', async () => {
    const closed = { ...server.engine, limits: () => Promise.reject(new Error('closed')) }
    const got = await asking(createHandler(closed as never))('GET', '/readyz')
    expect([got.status, got.text]).toEqual([503, '{"status":"unavailable"}'])
  })

  test('the OpenAPI document has every route, with what it takes, who may ask, and what it gives', async () => {
    const { json } = await ask('GET', '/openapi.json')
    expect(json.openapi).toBe('3.1.0')
    for (const one of ROUTES) {
      const operation = json.paths[fullPath(one)][one.method.toLowerCase()]
      expect(operation.responses[one.status].content[one.contentType].schema).toBeDefined()
      expect(operation.responses.default.content['application/problem+json']).toBeDefined()
      expect(operation.requestBody !== undefined).toBe(one.body !== null)
      expect(operation.security !== undefined).toBe(one.role !== 'anyone')
    }
    const ids = Object.values(json.paths).flatMap((path) =>
      Object.values(path as object).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ROUTES.length)
  })

  test('it can be mounted behind a path of an application', async () => {
    const mounted = asking(createHandler(server.engine, { open: true, basePath: '/perdure' }))
    expect((await mounted('GET', '/perdure/api/v1/stats')).status).toBe(200)
    expect((await mounted('POST', '/perdure/api/v1/events', { body: { name: 'x' } })).status).toBe(
      200,
    )
    expect((await mounted('GET', '/api/v1/stats')).json.code).toBe('ROUTE_UNKNOWN')
  })

  test('it can be mounted into a server of Node', async () => {
    const handler = createHandler(server.engine, { open: true })
    const node = createServer(nodeListener(handler))
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    const { port } = node.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/api/v1/events`
    const headers = { 'content-type': 'application/json', connection: 'close' }
    const response = await fetch(url, { method: 'POST', headers, body: '{"name":"x"}' })
    expect([response.status, await response.text()]).toEqual([200, '{"ok":true}'])
    await new Promise((resolve) => node.close(resolve))
  })
})
