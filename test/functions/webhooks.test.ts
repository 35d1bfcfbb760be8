// Signatures and requests of webhooks, without an engine.

import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { webhookNotFound } from '../../src/engine/webhook-errors.js'
import { dedupeKey, inputOf, readRequest, runIdOf } from '../../src/engine/webhook-request.js'
import { checkSignature, keyOf, signatureOf } from '../../src/engine/webhook-signature.js'
import { PerdureError, workflow } from '../../src/index.js'
import type { WebhookHmac, WebhookRules } from '../../src/model/webhook.js'

const WHSEC = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const secret = (value: string) => () => ({ value, hosts: [] })
const NOW = 1_614_265_330_000
const STANDARD: WebhookHmac = { secret: 'S', header: null, prefix: '', encoding: 'hex' }
const GITHUB: WebhookHmac = {
  secret: 'S',
  header: 'x-hub-signature-256',
  prefix: 'sha256=',
  encoding: 'hex',
}
const RULES: WebhookRules = { hmac: null, dedupe: null, headers: [] }

const standard = (id: string, timestamp: string, signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': signature,
})

async function problemOf(
  hmac: WebhookHmac,
  value: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  now = NOW,
): Promise<string> {
  const key = await keyOf(secret(value), 'S')
  try {
    checkSignature(hmac, key, new Map(Object.entries(headers)), Buffer.from(body), now)
    return 'none'
  } catch (error) {
    if (!PerdureError.is(error, 'WEBHOOK_SIGNATURE_INVALID')) throw error
    return error.details.problem
  }
}

describe('the Standard Webhooks scheme', () => {
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
  const body = '{"test": 2432232314}'
  const good = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

  test('signs as the libraries of others do', async () => {
    const key = await keyOf(secret(WHSEC), 'S')
    const signed = { id, timestamp: NOW / 1000, body: Buffer.from(body) }
    expect(signatureOf(key, signed)).toBe(good)
  })

  const at = String(NOW / 1000)
  const other = `v1,${Buffer.alloc(32).toString('base64')}`
  test.each([
    ['the right one', standard(id, at, good), body, 'none'],
    ['one of several', standard(id, at, `${other} v1a,xyz ${good}`), body, 'none'],
    ['a wrong one', standard(id, at, other), body, 'wrong'],
    ['a shorter one', standard(id, at, good.slice(0, 20)), body, 'wrong'],
    ['an empty one', standard(id, at, 'v1,'), body, 'wrong'],
    ['another body', standard(id, at, good), `${body} `, 'wrong'],
    ['another id', standard('msg_2', at, good), body, 'wrong'],
    ['another time', standard(id, String(NOW / 1000 + 1), good), body, 'wrong'],
    ['no time', { ...standard(id, at, good), 'webhook-timestamp': '' }, body, 'missing'],
    ['a time that is no number', standard(id, '1e9', good), body, 'missing'],
    ['no id', { 'webhook-timestamp': at, 'webhook-signature': good }, body, 'missing'],
    ['none at all', {}, body, 'missing'],
    ['one of an unknown version', standard(id, at, good.replace('v1', 'v9')), body, 'missing'],
  ])('%s is judged', async (_, headers, text, problem) => {
    expect(await problemOf(STANDARD, WHSEC, headers, text)).toBe(problem)
  })

  test.each([
    [-301, 'stale'],
    [-300, 'none'],
    [300, 'none'],
    [301, 'stale'],
  ])('a request that is %i s away is %s', async (seconds, problem) => {
    const now = NOW + seconds * 1000
    expect(await problemOf(STANDARD, WHSEC, standard(id, at, good), body, now)).toBe(problem)
    // Who has no key is not told what time it is here.
    expect(await problemOf(STANDARD, WHSEC, standard(id, at, other), body, now)).toBe('wrong')
  })

  test('takes every body as its bytes', async () => {
    for (const text of ['', '{"a":"Grüße 👋\u2028"}', '\u0000\ufeff', '{"a":1}\r\n']) {
      const key = await keyOf(secret('plain'), 'S')
      const timestamp = NOW / 1000
      const signature = signatureOf(key, { id, timestamp, body: Buffer.from(text) })
      const hash = createHmac('sha256', 'plain').update(`${id}.${timestamp}.${text}`)
      expect(signature).toBe(`v1,${hash.digest('base64')}`)
      expect(await problemOf(STANDARD, 'plain', standard(id, at, signature), text)).toBe('none')
    }
  })

  test('needs a secret that is there', async () => {
    const missing = expect.objectContaining({ code: 'WEBHOOK_SECRET_MISSING' })
    await expect(keyOf(undefined, 'S')).rejects.toEqual(missing)
    await expect(keyOf(() => undefined, 'S')).rejects.toEqual(missing)
    await expect(keyOf(secret(''), 'S')).rejects.toEqual(missing)
    await expect(keyOf(secret('whsec_*'), 'S')).rejects.toEqual(missing)
  })
})

describe('a signature of the body alone', () => {
  const body = 'Hello, World!'
  const value = "It's a Secret to Everybody"
  const hex = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
  const base64 = Buffer.from(hex, 'hex').toString('base64')
  const shop: WebhookHmac = { ...GITHUB, header: 'x-sig', prefix: '', encoding: 'base64' }
  test.each([
    ['as GitHub sends it', GITHUB, { 'x-hub-signature-256': `sha256=${hex}` }, body, 'none'],
    ['in base64 without a prefix', shop, { 'x-sig': base64 }, body, 'none'],
    ['of another body', GITHUB, { 'x-hub-signature-256': `sha256=${hex}` }, 'hello', 'wrong'],
    ['that is cut', GITHUB, { 'x-hub-signature-256': `sha256=${hex.slice(2)}` }, body, 'wrong'],
    ['that is no hex', GITHUB, { 'x-hub-signature-256': 'sha256=zz' }, body, 'missing'],
    ['of another algorithm', GITHUB, { 'x-hub-signature-256': `sha1=${hex}` }, body, 'missing'],
    ['that is not there', GITHUB, {}, body, 'missing'],
  ])('%s is judged', async (_, hmac, headers, text, problem) => {
    expect(await problemOf(hmac, value, headers as Record<string, string>, text)).toBe(problem)
  })
})

describe('a request', () => {
  const json = { 'content-type': 'application/json; charset=utf-8' }
  const read = (given: object, rules = RULES) =>
    inputOf(readRequest({ method: 'POST', headers: json, ...given }, 1_000), rules)

  test('becomes plain data, whatever its fields are called', () => {
    const body = '{"files":{"x":{"filepath":"/etc/passwd"}},"__proto__":{"a":1}}'
    const input = read({ body })
    expect(JSON.stringify(input.body)).toBe(body)
    expect(({} as { a?: number }).a).toBeUndefined()
    expect(Object.keys(input)).toEqual(['body', 'headers', 'query', 'method'])
  })

  test('brings the headers that are named and no secrets', () => {
    const headers = {
      ...json,
      Authorization: 'Bearer x',
      Cookie: 'a=b',
      'X-GitHub-Event': 'push',
      'X-Other': '1',
      'Webhook-Id': 'm1',
      'Webhook-Signature': 'v1,x',
    }
    const { headers: kept } = read(
      { headers, body: '1' },
      { ...RULES, headers: ['x-github-event'] },
    )
    const expected = { ...json, 'webhook-id': 'm1', 'x-github-event': 'push' }
    expect(kept).toEqual(expected)
  })

  test('is read from Headers, URLSearchParams and lists of values', () => {
    const headers = new Headers({ ...json, 'User-Agent': 'x' })
    const query = new URLSearchParams('a=1&a=2&b=3')
    const body = new TextEncoder().encode('[1]')
    const input = read({ headers, query, body, method: 'put' })
    const query2 = { a: '1, 2', b: '3' }
    const kept = { ...json, 'user-agent': 'x' }
    expect(input).toEqual({ body: [1], headers: kept, query: query2, method: 'PUT' })
    expect(read({ headers: { ...json, 'user-agent': ['a', 'b'] }, body: '' })).toMatchObject({
      body: null,
      headers: { 'user-agent': 'a, b' },
    })
  })

  test.each([
    ['trailing comma', { body: '{"a":1,}' }, 'json'],
    ['half of it', { body: '{"a":' }, 'json'],
    ['NaN', { body: 'NaN' }, 'json'],
    ['a byte order mark', { body: '\ufeff{}' }, 'json'],
    ['bytes that are no UTF-8', { body: Uint8Array.of(0x22, 0xff, 0x22) }, 'json'],
    ['text', { body: '{}', headers: { 'content-type': 'text/plain' } }, 'type'],
    ['no type', { body: '{}', headers: {} }, 'type'],
    ['a form', { body: 'a=1', headers: { 'content-type': 'multipart/form-data' } }, 'type'],
    ['an archive', { body: '{}', headers: { ...json, 'content-encoding': 'gzip' } }, 'type'],
  ])('is refused if it is %s', (_, given, problem) => {
    const refused = expect.objectContaining({ code: 'WEBHOOK_INVALID', details: { problem } })
    expect(() => read(given)).toThrow(refused)
  })

  test('is refused if it is too large, or of a method that none takes', () => {
    const code = (name: string) => expect.objectContaining({ code: name })
    expect(() => read({ body: ' '.repeat(1_001) })).toThrow(code('VALUE_TOO_LARGE'))
    expect(read({ body: '1'.padStart(1_000) }).body).toBe(1)
    for (const method of ['GET', 'DELETE', 'OPTIONS', '']) {
      expect(() => read({ method, body: '1' })).toThrow(webhookNotFound())
    }
    expect(() => read({ method: 1, body: '1' })).toThrow(code('OPTION_INVALID'))
    expect(() => read({ body: 1 })).toThrow(code('OPTION_INVALID'))
    expect(() => read({ headers: 'x' })).toThrow(code('OPTION_INVALID'))
  })

  test('is known by its webhook-id, a header or an expression', () => {
    const known = (dedupe: WebhookRules['dedupe'], given: object) => {
      const rules = { ...RULES, dedupe }
      const request = readRequest({ method: 'POST', body: '{"id":7}', ...given }, 1_000)
      return dedupeKey(rules, request, inputOf(request, rules))
    }
    const headers = { ...json, 'webhook-id': 'm1', 'X-Delivery': 'd1' }
    expect(known(null, { headers })).toBe('m1')
    expect(known(null, { headers: json })).toBeNull()
    expect(known({ header: 'x-delivery' }, { headers })).toBe('d1')
    expect(known({ expression: 'body.id' }, { headers })).toBe('7')
    expect(known({ expression: 'string(body.id) + headers["webhook-id"]' }, { headers })).toBe(
      '"7m1"',
    )
    const refused = expect.objectContaining({
      code: 'WEBHOOK_INVALID',
      details: { problem: 'dedupe' },
    })
    expect(() => known({ header: 'x-delivery' }, { headers: json })).toThrow(refused)
    expect(() => known({ expression: 'body.no' }, { headers })).toThrow(refused)
    expect(() => known({ expression: 'null' }, { headers })).toThrow(refused)
  })

  test('has the id of its run by what it is known by', () => {
    const of = { id: 'order:1', definition: 'o'.repeat(128) }
    expect(runIdOf(of, 'a')).toBe(runIdOf(of, 'a'))
    expect(runIdOf(of, 'a')).not.toBe(runIdOf({ ...of, id: 'order:2' }, 'a'))
    expect(runIdOf(of, '\u0000 ü')).toMatch(/^webhook:o+:[0-9a-f]{32}$/)
    expect(runIdOf(of, 'a')).toHaveLength(128)
  })
})

describe('a webhook trigger that cannot be', () => {
  const of = (...triggers: object[]) => {
    return () => workflow('w', { triggers: triggers as never }, async () => 1)
  }

  test('is refused where it is written', () => {
    const hook = (more: object) => of({ type: 'webhook', ...more })
    for (const more of [
      { path: 'Orders' },
      { path: '/orders' },
      { path: 'a//b' },
      { path: '..' },
      { path: 'x'.repeat(61) },
      { path: 1 },
      { hmac: 'NAME' },
      { hmac: {} },
      { hmac: { secret: 'S', header: 'x y' } },
      { hmac: { secret: 'S', encoding: 'utf8' } },
      { dedupe: 'id' },
      { dedupe: {} },
      { dedupe: { header: 'x', expression: 'body.id' } },
      { dedupe: { expression: 'input.id' } },
      { headers: 'x' },
      { headers: ['x y'] },
      { headers: ['Authorization'] },
      { headers: ['cookie'] },
    ]) {
      expect(hook(more), JSON.stringify(more)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
    }
    expect(hook({ dedupe: { expression: 'body.' } })).toThrow(
      expect.objectContaining({ code: 'EXPRESSION_INVALID' }),
    )
    expect(hook({ paht: 'x' })).toThrow(expect.objectContaining({ code: 'OPTION_UNKNOWN' }))
    const twice = { type: 'webhook', path: 'a' }
    expect(of(twice, twice)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(of({ type: 'webhook' }, { type: 'webhook' }, twice)).not.toThrow()
  })
})
