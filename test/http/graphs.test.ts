// Stored graphs and webhooks over HTTP.

import { expect, test } from 'vitest'
import { pause } from '../support/world.js'
import { serverOf } from './server.js'

const TOKEN = 'a-token-of-an-author-of-workspace-a'
const OTHER = 'a-token-of-an-author-of-workspace-b'
const server = serverOf({
  tokens: [
    { token: TOKEN, role: 'author', workspaces: ['a'] },
    { token: OTHER, role: 'author', workspaces: ['b'] },
  ],
})
const graphOf = (id: string, says: string, more: object = {}) => ({
  id,
  nodes: [{ id: 'say', type: 'set', config: { says } }],
  edges: [{ from: 'trigger', to: 'say' }],
  ...more,
})
const author = { token: TOKEN }

test('a graph is checked, saved, read, started and archived, in the workspace of the token alone', async () => {
  const wrong = { graph: { id: 'greet', nodes: [], edges: [{ from: 'trigger', to: 'gone' }] } }
  const checked = await server.ask('POST', '/api/v1/graphs/validate', { ...author, body: wrong })
  expect(checked.status).toBe(200)
  expect(checked.json.problems).toContainEqual(expect.objectContaining({ path: 'edges[0].to' }))
  const refused = await server.ask('PUT', '/api/v1/graphs/greet', { ...author, body: wrong })
  expect([refused.status, refused.json.code]).toEqual([422, 'GRAPH_INVALID'])

  const save = (says: string, options: object = {}) =>
    server.ask('PUT', '/api/v1/graphs/greet', {
      ...author,
      body: { graph: graphOf('greet', says), ...options },
    })
  expect((await save('hello', { expected: 0, note: 'the first' })).json).toEqual({
    ...{ name: 'greet', version: 1, isNew: true },
  })
  expect((await save('good day', { expected: 1 })).json.version).toBe(2)
  const late = await save('hi', { expected: 1 })
  expect([late.status, late.json.code]).toEqual([409, 'VERSION_CHANGED'])
  const first = await server.ask('GET', '/api/v1/graphs/greet?version=1', author)
  expect(first.json).toMatchObject({ version: 1, note: 'the first', workspace: 'a' })
  expect(first.json.json.nodes[0].config.says).toBe('hello')
  const versions = await server.ask('GET', '/api/v1/graphs/greet/versions', author)
  expect(versions.json.items.map(({ version }: { version: number }) => version)).toEqual([2, 1])

  const started = await server.ask('POST', '/api/v1/workflows/greet/runs', {
    ...author,
    body: { input: {}, id: 'g-1' },
  })
  expect(started.status).toBe(201)
  const result = await server.ask('GET', '/api/v1/runs/g-1/result?waitMs=20000', author)
  expect(result.json).toMatchObject({ status: 'completed', output: { says: 'good day' } })

  await server.ask('POST', '/api/v1/workflows/greet/runs', {
    ...author,
    body: { input: {}, id: 'g-0', version: 1 },
  })
  const old = await server.ask('GET', '/api/v1/runs/g-0/result?waitMs=20000', author)
  expect(old.json).toMatchObject({ status: 'completed', output: { says: 'hello' } })

  // Of the other workspace it is not there, and its name is not told.
  const other = { token: OTHER }
  const calls = [
    ['GET', '/api/v1/graphs/greet', {}],
    ['GET', '/api/v1/graphs/greet/versions', {}],
    ['DELETE', '/api/v1/graphs/greet', {}],
    ['POST', '/api/v1/workflows/greet/runs', { body: { input: {} } }],
  ] as const
  for (const [method, path, sent] of calls) {
    const got = await server.ask(method, path, { ...other, ...sent })
    expect([path, got.status, got.json.code]).toEqual([path, 404, 'DEFINITION_UNKNOWN'])
  }
  for (const path of ['graphs', 'workflows', 'webhooks', 'limits', 'workers']) {
    const got = await server.ask('GET', `/api/v1/${path}`, other)
    expect(got.status).toBe(200)
    expect(got.text).not.toContain('greet')
  }

  expect((await server.ask('DELETE', '/api/v1/graphs/greet', author)).status).toBe(200)
  const again = await server.ask('POST', '/api/v1/workflows/greet/runs', {
    ...author,
    body: { input: {} },
  })
  expect([again.status, again.json.code]).toEqual([409, 'DEFINITION_ARCHIVED'])
})

test('a name in the address that is not that of the graph is refused', async () => {
  const got = await server.ask('PUT', '/api/v1/graphs/one', {
    ...author,
    body: { graph: graphOf('two', 'x') },
  })
  expect([got.status, got.json.code]).toEqual([400, 'REQUEST_INVALID'])
})

test('B11 a request to the secret path of a webhook starts a run without a token, and its body is data', async () => {
  const triggers = [{ type: 'webhook', path: 'in' }]
  const saved = await server.ask('PUT', '/api/v1/graphs/intake', {
    ...author,
    body: { graph: graphOf('intake', 'taken', { triggers }) },
  })
  expect(saved.status).toBe(200)
  const list = async (token: string) =>
    (await server.ask('GET', '/api/v1/webhooks', { token })).json.items
  const [hook] = await list(TOKEN)
  expect(hook).toMatchObject({ workflow: 'intake', workspace: 'a', isSigned: false })
  expect(await list(OTHER)).toEqual([])

  const body = { files: { x: { filepath: '/etc/passwd' } } }
  const headers = { 'webhook-id': 'm-1' }
  const send = (path: string) => server.ask('POST', `/hooks/${path}`, { body, headers })
  const got = await send(hook.path)
  expect([got.status, got.json.started]).toEqual([202, true])
  const repeated = await send(hook.path)
  expect(repeated.status).toBe(200)
  expect(repeated.json).toEqual({ runId: got.json.runId, started: false })
  const client = server.engine.workspace('a')
  while ((await client.get(got.json.runId))?.status !== 'completed') await pause(20)
  expect((await client.get(got.json.runId))?.input).toMatchObject({ body })

  const nowhere = await send('in/AAAAAAAAAAAAAAAAAAAAAA')
  expect([nowhere.status, nowhere.json.code]).toEqual([404, 'WEBHOOK_NOT_FOUND'])
  const read = await server.ask('GET', `/hooks/${hook.path}`)
  expect(read.status).toBe(404)

  const id = encodeURIComponent(hook.id)
  const foreign = await server.ask('POST', `/api/v1/webhooks/${id}/rotate`, { token: OTHER })
  expect([foreign.status, foreign.json.code]).toEqual([404, 'WEBHOOK_NOT_FOUND'])
  const rotated = await server.ask('POST', `/api/v1/webhooks/${id}/rotate`, author)
  expect(rotated.json.path).not.toBe(hook.path)
  expect((await send(hook.path)).status).toBe(404)
})
