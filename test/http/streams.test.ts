// Server-sent events: of a run, of what its steps publish, and of all runs.

import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { makeHandler } from '../../src/http/handler.js'
import { readOptions } from '../../src/http/options.js'
import { StreamPool, type StreamSettings } from '../../src/http/streams.js'
import { all } from '../support/world.js'
import { echo, order, serverOf, spoken } from './server.js'

const server = serverOf()
const TOKEN = 'a-token-of-thirty-two-characters'

function handlerWith(changes: Partial<StreamSettings>, options: object = { open: true }) {
  const pool = new StreamPool(changes)
  onTestFinished(() => pool.close())
  const settings = readOptions({ rateLimit: false, ...options }, 'createHandler', [])
  const handler = makeHandler(server.engine as never, settings, pool)
  const get = (path: string, headers: Record<string, string> = {}) =>
    handler(new Request(`http://127.0.0.1/api/v1${path}`, { headers }))
  const open = (id: string, headers: Record<string, string> = {}) =>
    get(`/runs/${id}/events`, headers)
  return { pool, open, get }
}

const waiting = async (id: string) => {
  await server.engine.start(order, { n: 1 }, { id })
  const status = async () => (await server.engine.get(id))?.status
  await expect.poll(status, { timeout: 30_000 }).toBe('waiting')
}

/** The blocks of a stream, until `isEnough` or the end. */
async function blocksOf(
  response: Response,
  isEnough: (text: string) => boolean = () => false,
): Promise<string[]> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    text += new TextDecoder().decode(value)
    if (isEnough(text)) break
  }
  await reader.cancel()
  return text.split('\n\n').filter((block) => block !== '')
}
const idsOf = (blocks: readonly string[]): number[] =>
  blocks.flatMap((block) => /^id: (\d+)$/m.exec(block)?.[1] ?? []).map(Number)

describe('the stream of a run', () => {
  test('[X11] has every entry once and in order, and goes on behind the last one that was seen, in another process', async () => {
    await waiting('followed')
    const first = handlerWith({})
    const began = await blocksOf(await first.open('followed'), (text) => /wait\.opened/.test(text))
    const seen = idsOf(began)
    expect(seen).toEqual([1, 2, 3])
    await server.engine.signal('followed', 'approval', { ok: true })
    const second = handlerWith({})
    const rest = await blocksOf(await second.open('followed', { 'last-event-id': '3' }))
    const entries = await server.engine.history('followed')
    expect([...seen, ...idsOf(rest)]).toEqual(entries.items.map(({ seq }) => seq))
    expect(rest.at(-1)).toBe('event: end\ndata: {}')
    expect([first.pool.count, second.pool.count]).toEqual([0, 0])
  })

  test.each(['-1', '1e9', "'; --", '9'.repeat(20), 'x'.repeat(10_000)])(
    'B126 the last-event-id %s is 400',
    async (id) => {
      const got = await server.ask('GET', '/api/v1/runs/followed/events', {
        headers: { 'last-event-id': id },
      })
      expect(got.status).toBe(400)
    },
  )

  test('B128 a payload with line ends is one event', async () => {
    const text = 'x\n\ndata: fake\n\nid: 99\nevent: run.completed\r\ndata: {}'
    const { id } = await server.engine.start('echo', text as never)
    const blocks = await blocksOf(await handlerWith({}).open(id))
    expect(idsOf(blocks)).toEqual([1, 2])
    const data = /^data: (.*)$/m.exec(blocks[1] ?? '')?.[1] ?? ''
    expect(JSON.parse(data).input).toBe(text)
  })

  test('B127 there are only so many, then it is 503 until one ends', async () => {
    await waiting('busy')
    const { open, pool } = handlerWith({ streamsMax: 2 })
    const streams = [await open('busy'), await open('busy')]
    const refused = await open('busy')
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'OVERLOADED' }])
    await streams[0]?.body?.cancel()
    expect(pool.count).toBe(1)
    const again = await open('busy')
    expect(again.status).toBe(200)
    for (const stream of [streams[1], again]) await stream?.body?.cancel()
  })

  test('B129 a client that never reads is cut', async () => {
    await waiting('unread')
    const { open, pool } = handlerWith({ heartbeatMs: 5, bufferedBytesMax: 70_000 })
    const response = await open('unread')
    await expect.poll(() => pool.count, { timeout: 60_000, interval: 50 }).toBe(0)
    await expect(response.text()).rejects.toThrow('does not read')
  })

  test('a stream without news says that it is there', async () => {
    await waiting('quiet')
    const { open } = handlerWith({ heartbeatMs: 10 })
    const blocks = await blocksOf(await open('quiet'), (text) => /still here/.test(text))
    expect(blocks).toContain(': still here')
  })

  test('B125 without a token it is 401, and one that is revoked ends the stream', async () => {
    await waiting('revoked')
    let isKnown = true
    const caller = { name: 'ada', role: 'viewer', workspaces: '*' } as const
    const authenticate = (request: Request) =>
      isKnown && request.headers.get('x-user') === 'ada' ? caller : null
    const { open } = handlerWith(
      { recheckMs: 20 },
      { authenticate, tokens: [{ token: TOKEN, role: 'viewer' }] },
    )
    expect((await open('revoked')).status).toBe(401)
    const stream = await open('revoked', { 'x-user': 'ada' })
    expect(stream.status).toBe(200)
    isKnown = false
    const blocks = await blocksOf(stream)
    expect(blocks.join()).not.toContain('event: end')
  })
})

const fieldsOf = (block: string) => ({
  id: /^id: (.*)$/m.exec(block)?.[1],
  event: /^event: (.*)$/m.exec(block)?.[1],
  data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null'),
})

describe('the stream of what steps publish', () => {
  test('[X11] has every value once and in order, and goes on behind its last-event-id', async () => {
    const run = await server.engine.start(spoken, ['a', 'b', 'c'])
    const { get } = handlerWith({})
    const blocks = await blocksOf(await get(`/runs/${run.id}/stream`))
    const events = blocks.filter((block) => /^id:/m.test(block)).map(fieldsOf)
    expect(events.map(({ id, event, data }) => [id, event, data.value.word])).toEqual([
      ['1', 'published', 'a'],
      ['2', 'published', 'b'],
      ['3', 'published', 'c'],
    ])
    expect(events[0]?.data).toMatchObject({ step: 'speak', attempt: 1, isFirst: true, offset: 1 })
    expect(blocks.at(-1)).toBe('event: end\ndata: {}')
    const rest = await get(`/runs/${run.id}/stream`, { 'last-event-id': '2' })
    expect(idsOf(await blocksOf(rest))).toEqual([3])
    expect((await get(`/runs/${run.id}/stream`, { 'last-event-id': 'x' })).status).toBe(400)
    expect((await get('/runs/nobody/stream')).status).toBe(404)
    const client = createClient<typeof server.engine>('http://127.0.0.1', {
      fetch: ((url: string, init: RequestInit) =>
        get(url.slice('http://127.0.0.1/api/v1'.length), init.headers as never)) as never,
    })
    const own = await all(run.stream({ after: 1 }))
    expect(await all(client.handle(spoken, run.id).stream({ after: 1 }))).toStrictEqual(own)
  })
})

describe('the stream of all runs', () => {
  const isChange = (block: string) => /^event: change$/m.test(block)

  test('[X11] begins with a reload, tells each change once, and goes on behind its last-event-id in another process', async () => {
    const first = handlerWith({})
    const stream = await first.get('/changes')
    let isBegun = false
    const began = await blocksOf(stream, (text) => {
      if (!isBegun && /event: reload/.test(text)) {
        isBegun = true
        void server.engine.start(echo, 1, { id: 'changed' })
      }
      return /run\.created/.test(text)
    })
    expect(fieldsOf(began[1] ?? '')).toMatchObject({ event: 'reload', data: { isReload: true } })
    const seen = began.filter(isChange).map(fieldsOf)
    expect(seen[0]?.data).toMatchObject({
      runId: 'changed',
      workflow: 'echo',
      workspace: 'default',
      kind: 'run.created',
      seq: 1,
    })
    await server.engine.handle(echo, 'changed').result()
    const { id } = await server.engine.start(echo, 2, { id: 'changed-too' })
    await server.engine.handle(echo, id).result()
    const last = seen.at(-1)?.id ?? ''
    const second = handlerWith({})
    const isEnough = (text: string) => /changed-too[^\n]*run\.completed/.test(text)
    const rest = await blocksOf(await second.get('/changes', { 'last-event-id': last }), isEnough)
    const told = [...seen, ...rest.filter(isChange).map(fieldsOf)].map(({ data }) => data)
    for (const run of ['changed', 'changed-too']) {
      const seqs = told.filter(({ runId }) => runId === run).map(({ seq }) => seq)
      expect(seqs).toEqual([1, 2])
    }
    expect([first.pool.count, second.pool.count]).toEqual([0, 0])
  })

  test('[X11] [X14] a cursor that is too old is told to reload, and what is no cursor is 400', async () => {
    const { get } = handlerWith({})
    const old = await blocksOf(await get('/changes', { 'last-event-id': '0-0-0' }), (text) =>
      /reload/.test(text),
    )
    expect(fieldsOf(old[1] ?? '')).toMatchObject({ event: 'reload' })
    for (const id of ['5', '-1', "'; --", '1-1', 'x'.repeat(5_000)]) {
      expect((await get('/changes', { 'last-event-id': id })).status).toBe(400)
    }
    const client = createClient('http://127.0.0.1', {
      workspace: 'elsewhere',
      fetch: ((url: string, init: RequestInit) =>
        get(url.slice('http://127.0.0.1/api/v1'.length), init.headers as never)) as never,
    })
    const heard: unknown[] = []
    for await (const change of client.changes()) {
      if (change.isReload) {
        await server.engine.start(echo, 1, { workspace: 'default' })
        await server.engine.start(echo, 1, { workspace: 'elsewhere', id: 'mine' })
        continue
      }
      heard.push([change.runId, change.workspace, change.at instanceof Date])
      break
    }
    expect(heard).toEqual([['mine', 'elsewhere', true]])
  })
})
