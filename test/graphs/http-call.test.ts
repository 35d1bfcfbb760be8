// Calls of graphs to the outside, against a real server on this machine. Names are resolved by the test: nothing leaves it. Ids like
// B107 are cases of the list of bad inputs.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { HttpRequest } from '../../src/authoring/graph/http-call.js'
import { isPrivate } from '../../src/egress/addresses.js'
import { type HttpCallerOptions, makeHttpCaller } from '../../src/egress/http-call.js'
import { nextHop } from '../../src/egress/http-redirects.js'
import { PerdureError } from '../../src/model/errors.js'

type Answering = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** What the server does, by path. */
const paths = new Map<string, Answering>()
const seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] =
  []
let port = 0
/** Private by its address, and called by its name; the names are those of `lookup`. */
let base = ''

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('error', () => {})
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers, body })
    const answer = paths.get(url.split('?')[0] ?? '')
    if (answer) answer(request, response, body)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here')
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  base = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['203.0.113.7'],
  'half.test': ['203.0.113.7', '127.0.0.1'],
  'service.test': ['127.0.0.1'],
  'other.test': ['127.0.0.1'],
  'localhost.': ['127.0.0.1', '::1'],
  localhost: ['127.0.0.1', '::1'],
  '127.0.0.1.nip.io': ['127.0.0.1'],
  'metadata.google.internal': ['169.254.169.254'],
  'nat64.test': ['64:ff9b::7f00:1'],
  'nowhere.test': [],
}
const lookup = async (name: string) => {
  const addresses = NAMES[name]
  if (!addresses) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  return addresses
}

const request = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url,
  headers: {},
  body: undefined,
  timeoutMs: 30_000,
  signal: new AbortController().signal,
  ...more,
})
/** As it is without any settings, but for the names. */
const guarded = (url: string, more: Partial<HttpRequest> = {}) =>
  makeHttpCaller({ lookup })(request(url, more))
/** With the server of the test allowed, under the names that stand for it. */
const allowed = (url: string, more: Partial<HttpRequest> = {}, options: HttpCallerOptions = {}) => {
  const allow = ['127.0.0.1', 'service.test', 'other.test'].map((host) => `${host}:${port}`)
  return makeHttpCaller({ lookup, allow, ...options })(request(url, more))
}

async function errorOf(work: Promise<unknown>): Promise<PerdureError> {
  try {
    const value = await work
    throw new Error(`it gave ${JSON.stringify(value)}`)
  } catch (error) {
    if (PerdureError.is(error)) return error
    throw error
  }
}
async function blocked(work: Promise<unknown>, why: string): Promise<void> {
  const error = await errorOf(work)
  expect(error.message).toContain(why)
  expect({ code: error.code, retryable: error.retryable }).toEqual({
    code: 'HTTP_BLOCKED',
    retryable: false,
  })
  expect(error.hint).not.toBe('')
}
async function failed(work: Promise<unknown>, why: string): Promise<void> {
  const error = await errorOf(work)
  expect(error.message).toContain(why)
  expect({ code: error.code, retryable: error.retryable }).toEqual({
    code: 'HTTP_FAILED',
    retryable: true,
  })
}

describe('a call', () => {
  test('sends JSON and is given JSON', async () => {
    paths.set('/orders', (_, response, body) => {
      response.writeHead(201, { 'content-type': 'application/json; charset=utf-8', 'x-id': '7' })
      response.end(JSON.stringify({ got: JSON.parse(body) as unknown }))
    })
    const body = { item: 'ü', __proto__: null }
    const answer = await allowed(`${base}/orders?a=1`, {
      method: 'post',
      body,
      headers: { 'X-Trace': 't' },
    })
    expect(answer).toMatchObject({ status: 201, body: { got: { item: 'ü' } } })
    expect(answer.headers['x-id']).toBe('7')
    expect(seen.at(-1)).toMatchObject({ method: 'POST', url: '/orders?a=1' })
    expect(seen.at(-1)?.headers).toMatchObject({
      host: `127.0.0.1:${port}`,
      'content-type': 'application/json',
      'x-trace': 't',
      connection: 'close',
    })
  })

  test('sends a text as it is, and nothing if there is nothing', async () => {
    paths.set('/echo', (incoming, response, body) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.end(`${incoming.headers['content-type'] ?? 'none'}|${body}`)
    })
    const call = (more: Partial<HttpRequest>) =>
      allowed(`${base}/echo`, more).then(({ body }) => body)
    expect(
      await call({ method: 'PUT', body: '<a/>', headers: { 'Content-Type': 'text/xml' } }),
    ).toBe('text/xml|<a/>')
    expect(await call({ method: 'PUT', body: 'x' })).toBe('text/plain; charset=utf-8|x')
    expect(await call({ body: null })).toBe('none|')
    expect(await call({ method: 'POST', body: false })).toBe('application/json|false')
  })

  test('a status of 400 and above is an answer', async () => {
    expect(await allowed(`${base}/missing`)).toMatchObject({ status: 404, body: 'nothing here' })
    paths.set('/broken', (_, response) => void response.writeHead(503).end())
    expect(await allowed(`${base}/broken`)).toMatchObject({ status: 503, body: '' })
  })

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('an answer packed by %s is unpacked', async (encoding, pack) => {
    paths.set('/packed', (incoming, response) => {
      expect(incoming.headers['accept-encoding']).toContain(encoding)
      response.writeHead(200, {
        'content-type': 'application/problem+json',
        'content-encoding': encoding,
      })
      response.end(pack('{"a":1}'))
    })
    expect((await allowed(`${base}/packed`)).body).toEqual({ a: 1 })
  })

  test.each<[string, number, string, Buffer | string, unknown]>([
    ['empty JSON', 200, 'application/json', '', null],
    ['a packed HEAD or 204', 204, 'application/json', '', null],
    ['text in another alphabet', 200, 'text/plain; charset=iso-8859-1', Buffer.from([0xe4]), 'ä'],
    ['text in an unknown alphabet', 200, 'text/plain; charset="x-no"', 'a', 'a'],
    ['no type at all', 200, '', '{"a":1}', '{"a":1}'],
    [
      'keys of prototypes',
      200,
      'application/json',
      '{"__proto__":{"isAdmin":true}}',
      JSON.parse('{"__proto__":{"isAdmin":true}}'),
    ],
  ])('of %s', async (_, status, type, text, value) => {
    paths.set('/kinds', (_, response) => {
      response.writeHead(status, {
        ...(type && { 'content-type': type }),
        ...(status === 204 && { 'content-encoding': 'gzip' }),
      })
      response.end(text)
    })
    const { body } = await allowed(`${base}/kinds`)
    expect(JSON.stringify(body)).toBe(JSON.stringify(value))
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('cookies are not kept', async () => {
    paths.set('/cookie', (_, response) => {
      response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'], 'x-list': ['1', '2'] }).end()
    })
    const { headers } = await allowed(`${base}/cookie`)
    expect(headers).not.toHaveProperty('set-cookie')
    expect(headers['x-list']).toBe('1, 2')
  })

  test('goes there itself: proxies of the environment are not used', async () => {
    paths.set('/direct', (_, response) => void response.end('direct'))
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY'])
      vi.stubEnv(name, 'http://127.0.0.1:9')
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect((await allowed(`${base}/direct`)).body).toBe('direct')
  })

  test('is ended by its signal, with its reason', async () => {
    paths.set('/hang', () => {})
    const stop = new AbortController()
    const reason = new Error('the run was cancelled')
    const work = allowed(`${base}/hang`, { signal: stop.signal })
    stop.abort(reason)
    await expect(work).rejects.toBe(reason)
    await expect(allowed(`${base}/hang`, { signal: stop.signal })).rejects.toBe(reason)
  })

  test('that cannot be made fails, and may be tried again', async () => {
    const gone = createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port: free } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    const caller = makeHttpCaller({ lookup, allow: ['127.0.0.0/8'] })
    const url = `http://127.0.0.1:${free}/x?token=hidden`
    await failed(caller(request(url)), `GET http://127.0.0.1:${free}/x failed: ECONNREFUSED`)
    expect((await errorOf(caller(request(url)))).message).not.toContain('hidden')
    await failed(guarded('http://unknown.test/'), 'ENOTFOUND')
    await failed(guarded('http://nowhere.test/'), 'has no address')
    paths.set('/cut', (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setImmediate(() => response.destroy())
    })
    await failed(allowed(`${base}/cut`), 'ECONNRESET')
    paths.set('/no-json', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":')
    })
    await failed(allowed(`${base}/no-json`), 'says that it is JSON')
    paths.set(
      '/no-gzip',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('no'),
    )
    await failed(allowed(`${base}/no-gzip`), 'failed')
    paths.set(
      '/zstd',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'zstd' }).end('no'),
    )
    await failed(allowed(`${base}/zstd`), 'encoded as "zstd"')
  })
})

describe('private addresses', () => {
  test.each([
    ['B106', 'http://169.254.169.254/'],
    ['B106', 'http://[fd00:ec2::254]/'],
    ['B106', 'http://metadata.google.internal/'],
    ['B107', 'http://127.0.0.1/'],
    ['B107', 'http://127.1/'],
    ['B107', 'http://2130706433/'],
    ['B107', 'http://0x7f.1/'],
    ['B107', 'http://0177.0.0.1/'],
    ['B107', 'http://①②⑦.0.0.1/'],
    ['B107', 'http://0/'],
    ['B107', 'http://[::]/'],
    ['B107', 'http://[::1]/'],
    ['B107', 'http://[::ffff:7f00:1]/'],
    ['B107', 'http://[::ffff:127.0.0.1]/'],
    ['B107', 'http://[::127.0.0.1]/'],
    ['B107', 'http://[64:ff9b::7f00:1]/'],
    ['B107', 'http://[64:ff9b::169.254.169.254]/'],
    ['B107', 'http://[2002:7f00:1::]/'],
    ['B107', 'http://[2002:a00:1::1]/'],
    ['B107', 'http://localhost/'],
    ['B107', 'http://localhost./'],
    ['B107', 'http://127.0.0.1.nip.io/'],
    ['B107', 'http://nat64.test/'],
    ['B108', 'http://half.test/'],
  ])('%s %s is blocked', async (_, url) => {
    await blocked(guarded(url), 'is not of the public internet')
    await blocked(guarded(url.replace('http:', 'https:')), 'is not of the public internet')
  })

  test.each([
    '0.1.2.3',
    '10.255.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.255.255.255',
    '169.254.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'ff02::1',
    '::ffff:10.0.0.1',
    '::ffff:0:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::1',
    '2002:c0a8:101::',
    '2001:0:1::1',
    'nonsense',
    '',
  ])('B107 %s is private', (address) => {
    expect(isPrivate(address)).toBe(true)
  })

  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.0.1',
    '172.15.255.255',
    '172.32.0.1',
    '192.0.1.1',
    '192.167.1.1',
    '198.17.0.1',
    '198.20.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00::1',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
    '2002:101:101::',
    'fbff::1',
  ])('B107 %s is public', (address) => {
    expect(isPrivate(address)).toBe(false)
  })

  test('B107 whatever way an IPv4 address is wrapped, it is judged by itself', () => {
    fc.assert(
      fc.property(fc.ipV4(), (v4) => {
        const [a = 0, b = 0, c = 0, d = 0] = v4.split('.').map(Number)
        const [high, low] = [a * 256 + b, c * 256 + d].map((part) => part.toString(16))
        for (const wrapped of [
          `::ffff:${v4}`,
          `::ffff:${high}:${low}`,
          `64:ff9b::${v4}`,
          `2002:${high}:${low}::`,
        ]) {
          expect(isPrivate(wrapped)).toBe(isPrivate(v4))
        }
      }),
    )
    fc.assert(
      fc.property(fc.string(), fc.ipV6(), (text, v6) => void [isPrivate(text), isPrivate(v6)]),
    )
  })

  test('B108 a name is resolved once: what it means later is not asked', async () => {
    paths.set('/once', (_, response) => void response.end('here'))
    const asked: string[] = []
    const answers = [['127.0.0.1'], ['203.0.113.7']]
    const caller = makeHttpCaller({
      allow: ['127.0.0.0/8'],
      lookup: async (name) => {
        asked.push(name)
        return answers.shift() ?? []
      },
    })
    expect((await caller(request(`http://moving.test:${port}/once`))).body).toBe('here')
    expect(asked).toEqual(['moving.test'])
    expect(seen.at(-1)?.headers.host).toBe(`moving.test:${port}`)
  })

  test('B108 a name that turns private between two hops is blocked', async () => {
    paths.set(
      '/first',
      (_, response) =>
        void response.writeHead(302, { location: `http://moving.test:${port}/second` }).end(),
    )
    paths.set('/second', (_, response) => void response.end('reached'))
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const caller = makeHttpCaller({
      allow: ['127.0.0.1/32'],
      lookup: async () => answers.shift() ?? [],
    })
    const from = seen.length
    await blocked(
      caller(request(`http://moving.test:${port}/first`)),
      'moving.test is 127.0.0.2, which is not of the public',
    )
    expect(seen.slice(from).map(({ url }) => url)).toEqual(['/first'])
  })

  test('what is allowed can be called: by its host and port, or by its address', async () => {
    paths.set('/here', (_, response) => void response.end('here'))
    const call = (allow: readonly string[], url: string) =>
      makeHttpCaller({ lookup, allow })(request(url)).then(({ body }) => body)
    expect(await call([`127.0.0.1:${port}`], `${base}/here`)).toBe('here')
    expect(await call([`SERVICE.test:${port}`], `http://service.test:${port}/here`)).toBe('here')
    expect(await call(['127.0.0.0/8'], `http://service.test:${port}/here`)).toBe('here')
    await blocked(
      call([`service.test:${port}`], `http://other.test:${port}/here`),
      'public internet',
    )
    await blocked(call([`127.0.0.1:${port + 1}`], `${base}/here`), 'public internet')
    await blocked(call(['10.0.0.0/8'], `${base}/here`), 'public internet')
    for (const wrong of ['localhost', '10.0.0.0/33', 'http://x:80', '*:80', 'a b:1', '']) {
      expect(() => makeHttpCaller({ allow: [wrong] })).toThrow(/Option "allow"/)
    }
  })

  test('B114 what is denied cannot be called, whatever is allowed and under whatever name', async () => {
    const allow = ['127.0.0.0/8', `service.test:${port}`]
    const caller = makeHttpCaller({ lookup, allow, deny: [`127.0.0.1:${port}`] })
    await blocked(caller(request(`${base}/api/runs`)), 'is not to be called')
    await blocked(caller(request(`http://service.test:${port}/api/runs`)), 'is not to be called')
    const byName = makeHttpCaller({ lookup, allow, deny: [`service.test:${port}`] })
    await blocked(byName(request(`http://service.test:${port}/`)), 'is not to be called')
    // Without any settings the machine's own API is private.
    await blocked(guarded(`${base}/api/runs`), 'public internet')
  })
})

describe('redirects', () => {
  const to = (path: string, location: () => string, status = 302) =>
    paths.set(
      path,
      (_, response) => void response.writeHead(status, { location: location() }).end(),
    )

  test('are followed three times', async () => {
    for (let i = 0; i < 20; i += 1) to(`/r${i}`, () => `/r${i + 1}`)
    paths.set('/r20', (_, response) => void response.end('the end'))
    expect((await allowed(`${base}/r17`)).body).toBe('the end')
    await blocked(allowed(`${base}/r16`), 'redirected more than 3 times')
    await blocked(allowed(`${base}/r0`), 'redirected more than 3 times')
  })

  test.each([
    ['an internal address', 'http://10.0.0.1/', 'public internet'],
    ['an internal address by number', 'http://2130706433/', 'public internet'],
    ['an internal name', 'http://metadata.google.internal/', 'public internet'],
    ['a file', 'file:///etc/passwd', 'is not http or https'],
    ['a port of another service', 'http://127.0.0.1:25/', 'port 25'],
    ['a user and a password', 'http://a:b@127.0.0.1/', 'holds a user'],
    ['nonsense', 'http://[', 'is not a URL'],
  ])('B109 to %s is blocked', async (_, location, why) => {
    to('/away', () => location)
    await blocked(allowed(`${base}/away`), why)
  })

  test('B109 from https to http is blocked', () => {
    const hop = { method: 'GET', url: 'https://a.test/', headers: {}, body: null }
    expect(() => nextHop(hop, 302, 'http://a.test/', 'GET')).toThrow(/from https to http/)
    expect(nextHop(hop, 302, '/b', 'GET')?.url).toBe('https://a.test/b')
  })

  test('B109 headers stay with their host', async () => {
    paths.set('/target', (_, response) => void response.end('there'))
    to('/elsewhere', () => `http://other.test:${port}/target`)
    to('/same', () => '/target')
    const headers = {
      Authorization: 'Bearer 1',
      'X-Api-Key': { secret: 'KEY' },
      Accept: 'text/plain',
    }
    const secrets = () => ({ value: 'hidden', hosts: [`service.test:${port}`] })
    const call = (path: string) =>
      allowed(`http://service.test:${port}${path}`, { headers }, { secrets })
    await call('/same')
    expect(seen.at(-1)?.headers).toMatchObject({ authorization: 'Bearer 1', 'x-api-key': 'hidden' })
    await call('/elsewhere')
    const last = seen.at(-1)
    expect(last?.url).toBe('/target')
    expect(last?.headers).toMatchObject({ host: `other.test:${port}`, accept: 'text/plain' })
    expect(last?.headers).not.toHaveProperty('authorization')
    expect(last?.headers).not.toHaveProperty('x-api-key')
  })

  test.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', '{"a":1}'],
    [308, 'POST', '{"a":1}'],
  ])('%i after a POST goes on with %s', async (status, method, body) => {
    paths.set('/target', (_, response) => void response.end('there'))
    to('/post', () => '/target', status)
    await allowed(`${base}/post`, { method: 'POST', body: { a: 1 } })
    expect(seen.at(-1)).toMatchObject({ method, body, url: '/target' })
    expect(seen.at(-1)?.headers['content-type']).toBe(body === '' ? undefined : 'application/json')
  })
})

describe('what is never sent', () => {
  test.each([
    ['B110', 'file:///etc/passwd', 'file: is not http or https'],
    ['B110', 'gopher://public.test/', 'is not http or https'],
    ['B110', 'ftp://public.test/', 'is not http or https'],
    ['B110', 'data:text/plain,x', 'is not http or https'],
    ['B110', 'unix:/var/run/docker.sock', 'is not http or https'],
    ['B110', 'javascript:alert(1)', 'is not http or https'],
    ['B110', '/relative', 'is not a URL'],
    ['B110', '', 'is not a URL'],
    ['B110', 'http://public.test:22/', 'port 22'],
    ['B110', 'https://public.test:1023/', 'port 1023'],
    ['B111', 'http://user:pw@public.test/', 'holds a user or a password'],
    ['B111', 'http://user@public.test/', 'holds a user or a password'],
    ['B111', 'http://:pw@public.test/', 'holds a user or a password'],
  ])('%s %s is blocked', async (_, url, why) => {
    await blocked(guarded(url), why)
    expect((await errorOf(guarded(url))).message).not.toContain('pw')
  })

  test.each<[string, Record<string, unknown>]>([
    ['a line break', { 'X-A': 'a\r\nX-B: b' }],
    ['a line feed', { 'X-A': 'a\nb' }],
    ['NUL', { 'X-A': 'a\u0000b' }],
    ['letters beyond Latin 1', { 'X-A': 'ā' }],
    ['a name with a line break', { 'X-A\r\nX-B': 'a' }],
    ['a name with a space', { 'X A': 'a' }],
    ['an empty name', { '': 'a' }],
    ['Host', { Host: 'evil.test' }],
    ['host', { host: 'evil.test' }],
    ['Transfer-Encoding', { 'Transfer-Encoding': 'chunked' }],
    ['Content-Length', { 'Content-Length': '5' }],
    ['Connection', { Connection: 'X-A' }],
    ['Upgrade', { Upgrade: 'h2c' }],
    ['Proxy-Authorization', { 'Proxy-Authorization': 'x' }],
    ['Cookie', { Cookie: 'a=1' }],
    ['a number', { 'X-A': 1 }],
    ['an object', { 'X-A': { secret: 'A', more: 1 } }],
    ['too much', { 'X-A': 'a'.repeat(20_000) }],
  ])('B112 headers with %s are blocked', async (_, headers) => {
    const from = seen.length
    await blocked(
      allowed(`${base}/orders`, { headers: headers as HttpRequest['headers'] }),
      'header',
    )
    expect(seen.length).toBe(from)
  })

  test.each(['CONNECT', 'TRACE', 'GET / HTTP/1.1\r\nX: y', ''])(
    'B112 the method %j is blocked',
    async (method) => {
      await blocked(allowed(`${base}/orders`, { method }), 'no such method')
    },
  )

  test('B115 a secret goes to the hosts it is bound to, and nowhere else', async () => {
    paths.set('/secret', (_, response) => void response.end('ok'))
    const asked: string[] = []
    const secrets = async (name: string) => {
      asked.push(name)
      return name === 'KEY'
        ? { value: 'hidden-value', hosts: [`service.test:${port}`, 'other.test'] }
        : undefined
    }
    const headers = { Authorization: { secret: 'KEY' } }
    await allowed(`http://service.test:${port}/secret`, { headers }, { secrets })
    expect(seen.at(-1)?.headers.authorization).toBe('hidden-value')

    const from = seen.length
    const refused = [
      // A host without a port is bound by https alone.
      allowed(`http://other.test:${port}/secret`, { headers }, { secrets }),
      allowed(`${base}/secret`, { headers }, { secrets }),
    ]
    for (const work of refused) await blocked(work, 'the secret "KEY" is not bound to')
    const unknown = { Authorization: { secret: 'NONE' } }
    await blocked(
      allowed(`http://service.test:${port}/secret`, { headers: unknown }, { secrets }),
      'no secret "NONE"',
    )
    await blocked(allowed(`http://service.test:${port}/secret`, { headers }), 'no secret "KEY"')
    expect(seen.length).toBe(from)
    // Nobody asks for it before it is known that the host may be called.
    asked.length = 0
    await blocked(
      makeHttpCaller({ lookup, secrets })(request('http://service.test/', { headers })),
      'public internet',
    )
    expect(asked).toEqual([])
  })

  test('B115 a secret is in no error', async () => {
    const secrets = () => ({ value: 'hidden\nvalue', hosts: [`127.0.0.1:${port}`] })
    const error = await errorOf(
      allowed(`${base}/x`, { headers: { A: { secret: 'KEY' } } }, { secrets }),
    )
    expect(
      JSON.stringify([error.message, error.hint, error.details, String(error.cause)]),
    ).not.toContain('hidden')
  })
})

describe('B113 an answer', () => {
  test('that does not end is cut at its limit', async () => {
    paths.set('/endless', (_, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const more = () => {
        while (!response.destroyed && response.write(chunk)) {}
      }
      response.on('drain', more)
      response.on('error', () => {})
      more()
    })
    await blocked(allowed(`${base}/endless`), 'larger than 5242880 bytes')
    await blocked(allowed(`${base}/endless`, {}, { maxBytes: 10 }), 'larger than 10 bytes')
  })

  test('is counted after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))
    expect(bomb.length).toBeLessThan(100_000)
    paths.set(
      '/bomb',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    await blocked(allowed(`${base}/bomb`), 'larger than 5242880 bytes')
  })

  test('of just the limit is taken', async () => {
    paths.set('/five', (_, response) => void response.end('x'.repeat(5)))
    expect((await allowed(`${base}/five`, {}, { maxBytes: 5 })).body).toBe('xxxxx')
    await blocked(allowed(`${base}/five`, {}, { maxBytes: 4 }), 'larger than 4 bytes')
  })

  test('that trickles is cut when its time is over', async () => {
    paths.set('/trickle', (_, response) => {
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    })
    await failed(allowed(`${base}/trickle`, { timeoutMs: 300 }), 'did not end within 300 ms')
  })

  test('that never begins is given up, and so is a name that is never resolved', async () => {
    paths.set('/hang', () => {})
    await failed(allowed(`${base}/hang`, { timeoutMs: 200 }), 'did not end within 200 ms')
    const never = makeHttpCaller({ lookup: () => new Promise(() => {}) })
    await failed(
      never(request('http://slow.test/', { timeoutMs: 100 })),
      'did not end within 100 ms',
    )
  })
})
