// Bad requests: the table of RELIABILITY 4.8, HTTP/API.

import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHandler, type Serving, serve } from '../../src/http/index.js'
import { fullPath } from '../../src/http/route.js'
import { ROUTES } from '../../src/http/routes/index.js'
import { serveTimed } from '../../src/http/serve.js'
import { asking as askingOf, type Got, type Sent, serverOf } from './server.js'

const TOKEN = 'a-token-of-thirty-two-characters'
const VIEWER = 'another-token-for-those-who-look'
const server = serverOf({
  tokens: [
    { token: TOKEN, role: 'admin' },
    { hash: createHash('sha256').update(VIEWER).digest('hex'), role: 'viewer', name: 'looker' },
  ],
})
const ask = (method: string, path: string, sent: Sent = {}): Promise<Got> =>
  server.ask(method, path, { token: TOKEN, ...sent })
const RUNS = '/api/v1/runs'
const START = '/api/v1/workflows/echo/runs'

/** Every refusal is a problem document without anything from inside. */
function expectProblem(got: Got, status: number, code: string): void {
  expect({ status: got.status, code: got.json?.code }).toEqual({ status, code })
  expect(got.headers.get('content-type')).toBe('application/problem+json')
  expect(got.json).toMatchObject({
    type: `urn:perdure:error:${code}`,
    title: expect.any(String),
    status,
    hint: expect.any(String),
    requestId: got.headers.get('x-request-id'),
  })
  expect(got.text).not.toMatch(/\bat .*\.[jt]s:\d|select |insert |\/src\//)
}

describe('tokens', () => {
  test('B1 no token is 401 on every route, known or not, and says nothing', async () => {
    for (const path of [RUNS, '/api/v1/nothing', '/metrics', '/openapi.json']) {
      const got = await server.ask('GET', path)
      expectProblem(got, 401, 'UNAUTHENTICATED')
      expect(got.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test.each([
    ['of the same length', `${TOKEN.slice(0, -1)}x`],
    ['longer', `${TOKEN}x`],
    ['shorter', TOKEN.slice(1)],
    ['long', 'x'.repeat(2_000)],
  ])('B2 a wrong token, %s, is 401', async (_, token) => {
    expectProblem(await server.ask('GET', RUNS, { token }), 401, 'UNAUTHENTICATED')
  })

  test('B2 an empty token, and one without Bearer, are 401', async () => {
    for (const authorization of ['', 'Bearer ', 'Bearer', `Basic ${TOKEN}`, TOKEN]) {
      const got = await server.ask('GET', RUNS, { headers: { authorization } })
      expectProblem(got, 401, 'UNAUTHENTICATED')
    }
  })

  test('B3 a token in the address is 401', async () => {
    expectProblem(await server.ask('GET', `${RUNS}?token=${TOKEN}`), 401, 'UNAUTHENTICATED')
    expect(JSON.stringify(server.logged)).not.toContain(TOKEN)
  })

  test('a token that the settings know by its hash alone is known', async () => {
    expect((await server.ask('GET', RUNS, { token: VIEWER })).status).toBe(200)
  })

  test('too many wrong tokens are 429, and a right one still passes', async () => {
    const limited = askingOf(
      createHandler(server.engine, { tokens: [{ token: TOKEN, role: 'viewer' }] }),
    )
    const statuses: number[] = []
    for (let i = 0; i < 12; i += 1) statuses.push((await limited('GET', RUNS)).status)
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401))
    expect(statuses[11]).toBe(429)
    expect((await limited('GET', RUNS, { token: TOKEN })).status).toBe(200)
  })

  test('one caller may ask so often, and hears when to come back', async () => {
    const limited = askingOf(
      createHandler(server.engine, { open: true, rateLimit: { burst: 3, perSecond: 0.01 } }),
    )
    for (let i = 0; i < 3; i += 1) expect((await limited('GET', '/api/v1/stats')).status).toBe(200)
    const refused = await limited('GET', '/api/v1/stats')
    expectProblem(refused, 429, 'RATE_LIMITED')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1)
    expect((await limited('GET', '/healthz')).status).toBe(200)
  })
})

describe('hosts and origins', () => {
  test.each([
    'evil.example',
    '127.0.0.1.evil.com',
    '127.evil.com',
    'localhost.evil.com',
    'localhost:80@evil',
    'localhost:x',
    '0.0.0.0',
    '[::1',
  ])('B4 B6 Host %s is 421', async (host) => {
    expectProblem(await ask('GET', RUNS, { headers: { host } }), 421, 'HOST_UNKNOWN')
    expectProblem(await ask('GET', '/healthz', { headers: { host } }), 421, 'HOST_UNKNOWN')
  })

  test.each(['LOCALHOST:4114', '[::1]:4114', '127.0.0.1', 'localhost'])(
    'B7 Host %s is ours',
    async (host) => {
      expect((await ask('GET', RUNS, { headers: { host } })).status).toBe(200)
    },
  )

  test.each(['null', 'http://evil.example', 'http://127.0.0.1:9999', 'http://127.0.0.1:4114.evil'])(
    'B8 Origin %s is 403 on every method and on streams',
    async (origin) => {
      for (const [method, path] of [
        ['GET', RUNS],
        ['POST', START],
        ['DELETE', '/api/v1/schedules/x'],
        ['GET', `${RUNS}/x/events`],
        ['OPTIONS', RUNS],
      ] as const) {
        const got = await ask(method, path, { headers: { origin } })
        expectProblem(got, 403, 'FORBIDDEN')
        expect(got.headers.get('access-control-allow-origin')).toBeNull()
      }
    },
  )

  test('B8 its own origin passes; a request that a browser calls cross-site does not', async () => {
    const origin = 'http://127.0.0.1:4114'
    const headers = { host: '127.0.0.1:4114', origin, 'sec-fetch-site': 'same-origin' }
    expect((await ask('POST', START, { headers, body: {} })).status).toBe(201)
    const cross = { host: '127.0.0.1:4114', 'sec-fetch-site': 'cross-site' }
    expectProblem(await ask('POST', START, { headers: cross, body: {} }), 403, 'FORBIDDEN')
  })

  test('an origin and a host that are named may call, and the browser is told so', async () => {
    const named = askingOf(
      createHandler(server.engine, {
        open: true,
        hosts: ['api.example.com'],
        origins: ['https://app.example.com'],
      }),
    )
    const headers = { host: 'api.example.com', origin: 'https://app.example.com' }
    const got = await named('GET', RUNS, {
      headers: { ...headers, 'sec-fetch-site': 'cross-site' },
    })
    expect(got.status).toBe(200)
    expect(got.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    const asked = await named('OPTIONS', RUNS, { headers })
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization')
  })
})

describe('bodies', () => {
  test.each([
    ['B9', 'text/plain'],
    ['B10', 'application/x-www-form-urlencoded'],
    ['B10', 'multipart/form-data; boundary=x'],
    ['B9', 'application/json; charset=latin1'],
    ['B9', 'application/jsonx'],
    ['B9', ''],
  ])('%s a body of type "%s" is 415', async (_, type) => {
    const got = await ask('POST', START, { raw: '{}', headers: { 'content-type': type } })
    expectProblem(got, 415, 'CONTENT_TYPE_INVALID')
  })

  test('B12 a body of more than 4 MiB is 413, by its length and as it comes, and the connection is closed', async () => {
    const got = await ask('POST', START, { raw: `"${'x'.repeat(4 * 1024 * 1024)}"` })
    expectProblem(got, 413, 'REQUEST_TOO_LARGE')
    expect(got.headers.get('connection')).toBe('close')
    const length = { 'content-length': String(4 * 1024 * 1024 + 1) }
    expectProblem(
      await ask('POST', START, { raw: '{}', headers: length }),
      413,
      'REQUEST_TOO_LARGE',
    )
  })

  test('B13 a compressed body is not taken', async () => {
    const raw = gzipSync(Buffer.alloc(1024 * 1024))
    const got = await ask('POST', START, { raw, headers: { 'content-encoding': 'gzip' } })
    expectProblem(got, 415, 'CONTENT_TYPE_INVALID')
  })

  test.each([
    ['B17 invalid UTF-8', Buffer.from([0x22, 0xc0, 0xae, 0x22])],
    ['B18 a byte order mark', '\ufeff{}'],
    ['B19 truncated', '{"input": [1, 2'],
    ['B19 a trailing comma', '{"input": 1,}'],
    ['B19 a trailing comma in a list', '{"input": [1,]}'],
    ['B19 NaN', '{"input": NaN}'],
    ['B19 a comment', '{"input": 1 /* one */}'],
    ['B19 single quotes', "{'input': 1}"],
    ['B19 two values', '{} {}'],
    ['B19 a wrong escape', '{"input": "\\x41"}'],
    ['B19 a line end in a text', '{"input": "a\nb"}'],
    ['B19 a leading zero', '{"input": 01}'],
    ['B19 an unfinished text', '{"input": "a'],
    ['B20 a list', '[]'],
    ['B20 a number', '1'],
    ['B20 null', 'null'],
    ['B20 a text', '"x"'],
    ['B21 a key twice', '{"id": "a", "id": "b"}'],
    ['B21 a key twice, once escaped', '{"id": "a", "i\\u0064": "b"}'],
    ['B22 an unknown field', '{"inptu": 1}'],
    ['B22 an unknown field called __proto__', '{"__proto__": {"admin": true}}'],
    ['B56 1e400', '{"input": 1e400}'],
    ['B58 9007199254740993', '{"input": {"a": [9007199254740993]}}'],
    ['B64 65 levels', `{"input": ${'['.repeat(64)}${']'.repeat(64)}}`],
    ['B64 100,000 levels', `{"input": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('%s is 400', async (_, raw) => {
    expectProblem(await ask('POST', START, { raw }), 400, 'REQUEST_INVALID')
  })

  test('B19 B22 the answer has the position, and the name of the field', async () => {
    const at = await ask('POST', START, { raw: '{"input":\n 1,}' })
    expect(at.json.title).toContain('position 13 (line 2, column 4)')
    const unknown = await ask('POST', START, { body: { inptu: 1, tgas: 2 } })
    expect(unknown.json.details.problems.map(({ path }: { path: string }) => path)).toEqual([
      'body.inptu',
      'body.tgas',
    ])
  })

  test('B65 B66 a million values are refused in a moment', async () => {
    const started = performance.now()
    const zeros = `{"input": [${Array.from({ length: 1_000_000 }, () => 0).join()}]}`
    expectProblem(await ask('POST', START, { raw: zeros }), 413, 'REQUEST_TOO_LARGE')
    const keys = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`k${i}`, i]))
    expect((await ask('POST', START, { body: { input: keys } })).status).toBe(201)
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test('B23 headers that would override the method mean nothing', async () => {
    const headers = { 'x-http-method-override': 'DELETE', 'x-method-override': 'DELETE' }
    expect((await ask('GET', RUNS, { headers })).status).toBe(200)
  })

  test('B24 HEAD and OPTIONS are 405 without a word on CORS', async () => {
    for (const method of ['HEAD', 'OPTIONS', 'PATCH']) {
      const got = await ask(method, RUNS)
      expect(got.status).toBe(405)
      expect(got.headers.get('allow')).toBe('GET')
      expect(got.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('addresses', () => {
  test.each([
    '/api/v1//runs',
    '//api/v1/runs',
    '/api/v1/runs/..%2f..%2fetc%2fpasswd',
    '/api/v1/runs/%00',
    '/api/v1/runs/%c0%ae',
    '/api/v1/runs/a%5Cb',
    '/api/v1/runs/',
    '/assets/../../.env',
    '/.git/config',
    '/api/v1/workflows/__proto__',
    '/api/v1/workflows/constructor',
    '/api/v1/workflows/..%2f',
  ])('B25 B26 %s is 400 or 404', async (path) => {
    const got = await ask('GET', path)
    expect([400, 404]).toContain(got.status)
    expect(got.headers.get('content-type')).toBe('application/problem+json')
  })

  test.each(['-1', '0', '1e9', 'abc', 'NaN', '501', '10&limit=99', '', '1.5', ' 5'])(
    'B27 ?limit=%s is 400',
    async (limit) => {
      expectProblem(await ask('GET', `${RUNS}?limit=${limit}`), 400, 'REQUEST_INVALID')
    },
  )

  test.each(['x', '1', "'; --", '00000000-0000-0000-0000-00000000000g', '%00', 'x'.repeat(300)])(
    'B28 the cursor %s is 400',
    async (after) => {
      expect((await ask('GET', `${RUNS}?after=${encodeURIComponent(after)}`)).status).toBe(400)
      expect(
        (await ask('GET', `${RUNS}/x/history?after=${encodeURIComponent(after)}a`)).status,
      ).toBe(400)
    },
  )

  test.each([
    'status=status;drop table',
    'status=unknown',
    'sort=status',
    'reason=x',
    'order=up',
    'createdAfter=yesterday',
    'tag=novalue',
    'tag=%25:x',
    'workflow=a b',
    'parentId=a/b',
  ])('B29 ?%s is 400', async (query) => {
    expect((await ask('GET', `${RUNS}?${query}`)).status).toBe(400)
  })

  test('an address of more than 8 KiB is refused', async () => {
    expectProblem(await ask('GET', `${RUNS}?text=${'x'.repeat(9_000)}`), 413, 'REQUEST_TOO_LARGE')
  })
})

describe('starts', () => {
  test('B30 a batch whose second item names another workspace is 403, and nothing is written', async () => {
    const items = [{ id: 'b30-1' }, { id: 'b30-2', workspace: 'other' }]
    const got = await ask('POST', `${START}/batch`, { body: { items } })
    expectProblem(got, 403, 'FORBIDDEN')
    expectProblem(await ask('GET', `${RUNS}/b30-1`), 404, 'RUN_NOT_FOUND')
  })

  test('B31 10,000 items in a batch are 413', async () => {
    const items = Array.from({ length: 10_000 }, () => ({}))
    const got = await ask('POST', `${START}/batch`, { body: { items } })
    expectProblem(got, 413, 'REQUEST_TOO_LARGE')
  })

  test('B31 starts that come together have the same limits, and a key makes them the same runs', async () => {
    const send = (items: unknown, headers = {}) =>
      ask('POST', `${RUNS}/start`, { body: { items }, headers })
    const many = Array.from({ length: 1_001 }, () => ({ workflow: 'echo' }))
    expectProblem(await send(many), 413, 'REQUEST_TOO_LARGE')
    const names = Array.from({ length: 101 }, (_, n) => ({ workflow: `other-${n}` }))
    expectProblem(await send(names), 413, 'REQUEST_TOO_LARGE')
    for (const wrong of [undefined, {}, ['echo'], [null]]) {
      expectProblem(await send(wrong), 400, 'REQUEST_INVALID')
    }
    const headers = { 'idempotency-key': 'together' }
    const items = [
      { workflow: 'echo', input: 1 },
      { workflow: 'echo', input: 2, id: 'called' },
    ]
    const expected = { items: [{ id: 'together:0' }, { id: 'called' }] }
    expect((await send(items, headers)).json).toEqual(expected)
    expect((await send(items, headers)).json).toEqual(expected)
    expect((await ask('GET', `${RUNS}?text=together`)).json.items).toHaveLength(1)
  })

  test('B32 one key fifty times at once is one run, and fifty equal answers', async () => {
    const headers = { 'idempotency-key': 'b32' }
    const send = () => ask('POST', START, { body: { input: { n: 1 } }, headers })
    const got = await Promise.all(Array.from({ length: 50 }, send))
    expect(new Set(got.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['201 {"id":"b32"}']),
    )
    expect((await ask('GET', `${RUNS}?text=b32`)).json.items).toHaveLength(1)
  })

  test('B33 the same key with another input is 409; a key beside another id is 400', async () => {
    const headers = { 'idempotency-key': 'b33' }
    await ask('POST', START, { body: { input: 1 }, headers })
    expectProblem(await ask('POST', START, { body: { input: 2 }, headers }), 409, 'ID_TAKEN')
    const both = await ask('POST', START, { body: { input: 1, id: 'b33-b' }, headers })
    expectProblem(both, 400, 'OPTION_INVALID')
  })

  test('a batch with a key is started once, however often it is sent', async () => {
    const headers = { 'idempotency-key': 'batch' }
    const body = { items: [{ input: 1 }, { input: 2, id: 'named' }] }
    const send = () => ask('POST', `${START}/batch`, { body, headers })
    expect((await send()).json).toEqual({ items: [{ id: 'batch:0' }, { id: 'named' }] })
    expect((await send()).json).toEqual({ items: [{ id: 'batch:0' }, { id: 'named' }] })
  })

  test.each(['', 'x'.repeat(300), 'a b', 'a/b', 'ü', '..'])(
    'B34 the idempotency-key "%s" is 400',
    async (key) => {
      const headers = { 'idempotency-key': encodeURI(key) === key ? key : 'a/b' }
      expectProblem(await ask('POST', START, { body: {}, headers }), 400, 'ID_INVALID')
    },
  )

  test('B36 what is over takes no message and no retry, and says what it is', async () => {
    await ask('POST', START, { body: { id: 'over' } })
    await ask('GET', `${RUNS}/over/result?waitMs=20000`)
    const signal = await ask('POST', `${RUNS}/over/signals`, { body: { name: 'x' } })
    expectProblem(signal, 409, 'RUN_FINISHED')
    expect(signal.json.details.status).toBe('completed')
    expectProblem(await ask('POST', `${RUNS}/over/cancel`), 409, 'RUN_FINISHED')
    expectProblem(await ask('POST', `${RUNS}/over/retry`), 409, 'RUN_NOT_RETRYABLE')
  })

  test('B37 a retry of an attempt that is over is 409', async () => {
    await ask('POST', '/api/v1/workflows/failing/runs', { body: { id: 'b37' } })
    await ask('GET', `${RUNS}/b37/result?waitMs=20000`)
    const body = { expectedAttempt: 7 }
    expectProblem(await ask('POST', `${RUNS}/b37/retry`, { body }), 409, 'ATTEMPT_CHANGED')
  })

  test('B38 from elsewhere only the role of a token counts: no address, and none that a request claims', async () => {
    const tokens = [
      { token: TOKEN, role: 'admin' } as const,
      { token: VIEWER, role: 'viewer' } as const,
    ]
    const handler = createHandler(server.engine, { tokens, rateLimit: false })
    const node = { incoming: { socket: { remoteAddress: '203.0.113.9' } } }
    const claims = {
      'x-forwarded-for': '127.0.0.1',
      forwarded: 'for=127.0.0.1',
      'x-real-ip': '::1',
    }
    const from = async (path: string, method: string, token?: string) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const url = `http://127.0.0.1${path.replace(/\{\w+\}/g, 'b38')}`
      const headers = { ...claims, ...authorization }
      return (await handler(new Request(url, { method, headers }), node)).status
    }
    const above = ROUTES.filter(({ role }) => role !== 'anyone' && role !== 'viewer')
    for (const route of above) {
      const path = fullPath(route)
      const got = [await from(path, route.method), await from(path, route.method, VIEWER)]
      expect([route.path, ...got]).toEqual([route.path, 401, 403])
      expect([401, 403]).not.toContain(await from(path, route.method, TOKEN))
    }
    expect(above.length).toBeGreaterThan(20)
  })

  test('a definition that nobody has is 404, and no run is left behind', async () => {
    const got = await ask('POST', '/api/v1/workflows/ordre/runs', { body: { id: 'lost' } })
    expectProblem(got, 404, 'DEFINITION_UNKNOWN')
    expectProblem(await ask('GET', `${RUNS}/lost`), 404, 'RUN_NOT_FOUND')
  })
})

describe('the server itself', () => {
  let serving: Serving
  beforeAll(async () => {
    serving = await serve(server.engine, { port: 0, rateLimit: false })
  })
  afterAll(() => serving.close())

  /** What comes back for these bytes. */
  const raw = (text: string, port = serving.port): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      let got = ''
      socket.on('data', (part) => {
        got += String(part)
      })
      socket.on('close', () => resolve(got))
      socket.on('error', reject)
      socket.write(text)
    })
  const close = 'connection: close\r\n\r\n'

  test('on the loopback it is open to everybody there, and to no page of others', async () => {
    expect((await fetch(`${serving.url}/api/v1/runs`)).status).toBe(200)
    const headers = { origin: 'http://evil.example' }
    expect((await fetch(`${serving.url}/api/v1/runs`, { headers })).status).toBe(403)
  })

  test('B5 no Host and two Hosts are 400', async () => {
    expect(await raw(`GET /healthz HTTP/1.1\r\n${close}`)).toMatch(/^HTTP\/1.1 400/)
    const two = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n${close}`
    expect(await raw(two)).toMatch(/^HTTP\/1.1 400/)
  })

  test('B4 a foreign Host is 421 over the wire', async () => {
    const foreign = `GET /healthz HTTP/1.1\r\nhost: evil.example\r\n${close}`
    expect(await raw(foreign)).toMatch(/^HTTP\/1.1 421/)
  })

  test('B15 who sends a header or a body too slowly is told 408, and cut', async () => {
    const slow = await serveTimed(
      server.engine,
      { port: 0, rateLimit: false },
      { requestMs: 200, lookMs: 50 },
    )
    const head = 'POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\n'
    const body = `${head}content-type: application/json\r\ncontent-length: 99\r\n\r\n{"name"`
    const answers = await Promise.all([raw(head, slow.port), raw(body, slow.port)])
    for (const got of answers) expect(got).toMatch(/^HTTP\/1.1 408/)
    await slow.close()
  })

  test('B14 a length beside chunks is 400', async () => {
    const head =
      'POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n'
    const both = `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`
    expect(await raw(both)).toMatch(/^HTTP\/1.1 400/)
  })

  test('B16 64 KiB of headers are 431', async () => {
    const long = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ${'x'.repeat(65_536)}\r\n${close}`
    expect(await raw(long)).toMatch(/^HTTP\/1.1 431/)
  })

  test('B12 over the wire a body that is too large is 413 and the connection is closed', async () => {
    const head =
      'POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n'
    const got = await raw(`${head}content-length: 99999999\r\n\r\n{"name"`)
    expect(got).toMatch(/^HTTP\/1.1 413/)
    expect(got.toLowerCase()).toContain('connection: close')
  })

  test('it listens at other addresses only with tokens, and at a port that is free', async () => {
    await expect(serve(server.engine, { host: '0.0.0.0', port: 0 })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('without any tokens'),
    })
    await expect(serve(server.engine, { port: serving.port })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    await expect(serve(server.engine, { port: 70_000 })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  })

  test('B39 health says nothing but that', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const response = await fetch(`${serving.url}${path}`)
      expect([response.status, await response.text()]).toEqual([200, '{"status":"ok"}'])
      expect((await server.ask('GET', path)).text).toBe('{"status":"ok"}')
    }
    expect((await server.ask('GET', '/metrics')).status).toBe(401)
    expect((await ask('GET', '/metrics')).text).toMatch(/perdure_runs\{workflow="echo"/)
  })

  test('every answer has the security headers', async () => {
    for (const path of ['/healthz', '/nothing']) {
      const { headers } = await fetch(`${serving.url}${path}`)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-powered-by')).toBeNull()
    }
  })

  test('B40 what goes wrong inside is told to the log alone', async () => {
    const logged: unknown[] = []
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (...said: unknown[]) => logged.push(said),
    }
    const broken = { ...server.engine, stats: () => Promise.reject(new Error('secret: pg down')) }
    const asked = askingOf(createHandler(broken as never, { open: true, log: log as never }))
    const got = await asked('GET', '/api/v1/stats')
    expectProblem(got, 500, 'INTERNAL')
    expect(got.text).not.toContain('secret')
    expect(String((logged[0] as [string, { error: Error }])[1].error)).toContain('secret: pg down')
    expect(JSON.stringify(logged)).toContain(got.json.requestId)
  })

  test('B40 so is what goes wrong with one of many starts', async () => {
    const logged: unknown[] = []
    const error = (...said: unknown[]) => logged.push(said)
    const log = { debug() {}, info() {}, warn() {}, error }
    const client = server.engine.workspace('default')
    const start = (name: string, input: unknown, options: object) =>
      input === 2
        ? Promise.reject(new Error('secret: pg down'))
        : client.start(name as never, input as never, options)
    const broken = { ...server.engine, workspace: () => ({ ...client, start }) }
    const asked = askingOf(createHandler(broken as never, { open: true, log: log as never }))
    const items = [1, 2].map((input) => ({ workflow: 'echo', input, id: `b40-${input}` }))
    const got = await asked('POST', `${RUNS}/start`, { body: { items } })
    expect(got.json.items).toMatchObject([{ id: 'b40-1' }, { problem: { code: 'INTERNAL' } }])
    expect(got.text).not.toContain('secret')
    expect(JSON.stringify(logged)).toContain(got.headers.get('x-request-id'))
  })

  test('without tokens, and not told to be open, the handler lets nobody in', async () => {
    const shut = askingOf(createHandler(server.engine))
    expectProblem(await shut('GET', RUNS), 401, 'UNAUTHENTICATED')
  })

  test.each([
    [{ tokens: [{ token: 'short', role: 'admin' }] }],
    [{ tokens: [{ token: TOKEN, role: 'root' }] }],
    [{ tokens: [{ token: TOKEN, role: 'admin', workspaces: [] }] }],
    [{ tokens: [{ hash: 'zz', role: 'admin' }] }],
    [{ tokns: [] }],
    [{ basePath: 'x' }],
    [{ open: true, tokens: [{ token: TOKEN, role: 'viewer' }] }],
    [{ open: true, authenticate: () => null }],
    [{ authenticate: 'ada' }],
    [{ hosts: 'x' }],
    [{ rateLimit: { burst: 0, perSecond: 1 } }],
  ])('options that make no sense are refused, and no token is quoted: %j', (options) => {
    try {
      createHandler(server.engine, options as never)
      expect.unreachable()
    } catch (error) {
      expect(String((error as { code?: string }).code)).toMatch(/^OPTION_/)
      expect(String(error)).not.toContain(TOKEN)
      expect(String(error)).not.toContain('short')
    }
  })
})
