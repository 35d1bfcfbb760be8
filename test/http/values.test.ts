// Ids, names and values: the tables of RELIABILITY 4.8.

import { describe, expect, test } from 'vitest'
import { decode, encode } from '../../src/model/codec.js'
import { serverOf } from './server.js'

const server = serverOf()
const START = '/api/v1/workflows/echo/runs'
const RICH = 'application/vnd.perdure.value'

describe('ids and names', () => {
  const refused: readonly [string, string][] = [
    ['B41 the empty text', ''],
    ['B42 a space', ' '],
    ['B42 a space at the end', 'a '],
    ['B43 129 characters', 'x'.repeat(129)],
    ['B44 ../../x', '../../x'],
    ['B44 a/b', 'a/b'],
    ['B44 a backslash', 'a\\b'],
    ['B46 a right-to-left mark', 'a\u202eb'],
    ['B46 a zero-width space', 'a\u200bb'],
    ['B46 a letter with an accent', 'é'],
    ['B47 an emoji', '😀'],
    ['B47 half a character', '\ud800'],
    ['B48 SQL', "'; drop schema public; --"],
    ['B51 braces', '{550e8400-e29b-41d4-a716-446655440000}'],
    ['B53 a million characters', 'x'.repeat(1_000_000)],
    ['a dot', '.'],
    ['two dots', '..'],
    ['that of a trigger', 'cron:x'],
  ]

  test.each(refused)('%s is no id', async (_, id) => {
    const got = await server.ask('POST', START, { body: { id } })
    expect([got.status, got.json.code]).toEqual([400, 'ID_INVALID'])
    expect(got.text.length).toBeLessThan(1_000)
  })

  test.each(['', ' ', 'a b', '__proto__', 'é', "x'; --", 'x'.repeat(200)])(
    'B41 B44 B45 "%s" is no name of a definition',
    async (name) => {
      const path = `/api/v1/workflows/${encodeURIComponent(name)}/runs`
      const got = await server.ask('POST', path, { body: {} })
      expect([400, 404]).toContain(got.status)
    },
  )

  test('B45 words of JavaScript are ids like others, and names of nothing', async () => {
    for (const id of ['constructor', 'prototype', 'toString', 'hasOwnProperty', '__proto__']) {
      expect((await server.ask('POST', START, { body: { id } })).status).toBe(201)
      expect((await server.ask('GET', `/api/v1/runs/${id}`)).json.id).toBe(id)
      const got = await server.ask('POST', `/api/v1/workflows/${id}/runs`, { body: {} })
      expect([400, 404]).toContain(got.status)
    }
  })

  test('B52 ids that differ by case are two', async () => {
    await server.ask('POST', START, { body: { id: 'Case', input: 1 } })
    expect((await server.ask('POST', START, { body: { id: 'case', input: 2 } })).status).toBe(201)
  })

  test.each(["'; drop schema public; --", '"', '$1', '%s', '\\', '<script>alert(1)</script>'])(
    'B48 %s in every text is kept as it is',
    async (text) => {
      const body = { input: text, tags: { [text]: text } }
      const { json } = await server.ask('POST', START, { body })
      const { json: run } = await server.ask('GET', `/api/v1/runs/${json.id}`)
      expect([run.input, run.tags]).toEqual([text, { [text]: text }])
      const tag = `${encodeURIComponent(encodeURIComponent(text))}:${encodeURIComponent(text)}`
      const found = await server.ask('GET', `/api/v1/runs?tag=${tag}&text=${json.id}`)
      expect(found.json.items.map(({ id }: { id: string }) => id)).toEqual([json.id])
      const byText = await server.ask('GET', `/api/v1/runs?text=${encodeURIComponent(text)}`)
      expect(byText.json.items.map(({ id }: { id: string }) => id)).toContain(json.id)
      const signal = { name: 'x', payload: text, id: text }
      const sent = await server.ask('POST', '/api/v1/runs/nobody/signals', { body: signal })
      expect(sent.json.code).toBe('RUN_NOT_FOUND')
      const cancelled = await server.ask('POST', '/api/v1/runs/nobody/cancel', {
        body: { reason: text },
      })
      expect(cancelled.json.code).toBe('RUN_NOT_FOUND')
    },
  )
})

/** What comes back of an input, as JSON text and as a value. */
async function trip(raw: string): Promise<{ text: string; value: unknown }> {
  const started = await server.ask('POST', START, { raw: `{"input": ${raw}}` })
  expect(started.status).toBe(201)
  const path = `/api/v1/runs/${started.json.id}/result?waitMs=20000`
  const plain = await server.ask('GET', path)
  const rich = await server.ask('GET', path, { headers: { accept: RICH } })
  expect(rich.headers.get('content-type')).toBe(RICH)
  const { output } = decode(rich.text as never) as { output: unknown }
  return { text: JSON.stringify(plain.json.output), value: output }
}

describe('values', () => {
  test.each([
    ['B54 NUL', '"a\\u0000b"'],
    ['B55 half a character', '"\\ud800"'],
    ['B59 0.1+0.2', '0.30000000000000004'],
    ['B59 the smallest', '5e-324'],
    ['B59 the largest', '1.7976931348623157e+308'],
    ['B58 a large number as JavaScript writes it', '1152921504606847000'],
    ['B58 a large number that is exact', '1152921504606846976'],
    ['B67 the order of keys', '{"b":1,"a":2,"10":3,"9":4}'],
    ['B68 __proto__', '{"__proto__":{"admin":true}}'],
    ['B68 constructor', '{"constructor":{"prototype":{"x":1}}}'],
    ['B69 toJSON', '{"toJSON":"x","then":"y"}'],
    ['B103 what looks like a template', '"{{7*7}} $\\u007b7*7} =7*7"'],
    ['B64 63 levels', '['.repeat(63) + ']'.repeat(63)],
    ['null', 'null'],
    ['a text', '"<img src=x onerror=alert(1)>"'],
  ])('%s comes back as it was', async (_, raw) => {
    const { text, value } = await trip(raw)
    expect(text).toBe(JSON.stringify(JSON.parse(raw)))
    expect(JSON.stringify(value)).toBe(text)
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })

  test('B57 -0 stays -0 for the client, and is 0 in plain JSON', async () => {
    const { text, value } = await trip('{"x":-0}')
    expect(text).toBe('{"x":0}')
    expect(Object.is((value as { x: number }).x, -0)).toBe(true)
  })

  test('B61 B62 B73 what JSON has no word for is shown as near as it gets, and exact in the rich form', async () => {
    const input = {
      date: new Date('2026-01-31T12:00:00.000Z'),
      map: new Map<unknown, unknown>([['a', new Set([1n])]]),
      bytes: new Uint8Array([1, 2]),
      nothing: undefined,
      list: [undefined, Number.NaN],
      url: new URL('https://example.com/'),
      error: new RangeError('no', { cause: new Error('why') }),
    }
    const raw = encode({ input }, 'a test')
    const headers = { 'content-type': RICH }
    const { json } = await server.ask('POST', START, { raw, headers })
    const path = `/api/v1/runs/${json.id}/result?waitMs=20000`
    expect((await server.ask('GET', path)).json.output).toEqual({
      date: '2026-01-31T12:00:00.000Z',
      map: [['a', ['1']]],
      bytes: 'AQI=',
      list: [null, 'NaN'],
      url: 'https://example.com/',
      error: { name: 'RangeError', message: 'no', cause: { name: 'Error', message: 'why' } },
    })
    const rich = await server.ask('GET', path, { headers: { accept: RICH } })
    const { output } = decode(rich.text as never) as { output: typeof input }
    expect({ ...output, error: null }).toStrictEqual({ ...input, error: null })
    expect([output.error.message, (output.error.cause as Error).message]).toEqual(['no', 'why'])
  })

  test.each([
    ['no devalue', '~nonsense'],
    ['a kind that nobody stores', '~[["Temporal.Instant","x"]]'],
    ['a function of devalue', '~[["Object",1]]'],
    ['an index that is not there', '~[[7]]'],
    ['a key twice', '~[{"input":1,"input":2},1,2]'],
  ])('a rich body that is %s is 400', async (_, raw) => {
    const got = await server.ask('POST', START, { raw, headers: { 'content-type': RICH } })
    expect([got.status, got.json.code]).toEqual([400, 'REQUEST_INVALID'])
  })

  test('a rich body in which one value stands in many places is counted as often', async () => {
    const list = Array.from({ length: 20_000 }, (_, n) => n)
    const input = { at: new Date(0), list }
    const items = Array.from({ length: 100 }, () => ({ workflow: 'echo', input }))
    const raw = encode({ items }, 'a body')
    expect(raw.length).toBeLessThan(300_000)
    const headers = { 'content-type': RICH }
    const got = await server.ask('POST', '/api/v1/runs/start', { raw, headers })
    expect([got.status, got.json.code]).toEqual([413, 'REQUEST_TOO_LARGE'])
  })

  test('a rich body that is nested without end is refused, and harms nothing', async () => {
    const deep = `~[${Array.from({ length: 50_000 }, (_, i) => `{"input":${i + 1}}`).join()},1]`
    const got = await server.ask('POST', START, { raw: deep, headers: { 'content-type': RICH } })
    expect([400, 422]).toContain(got.status)
    expect((await server.ask('GET', '/healthz')).status).toBe(200)
  })

  test('B70 a value of 2 MiB is taken, and one byte more is 413', async () => {
    const most = 2 * 1024 * 1024 - 2
    expect((await server.ask('POST', START, { body: { input: 'x'.repeat(most) } })).status).toBe(
      201,
    )
    const over = await server.ask('POST', START, { body: { input: 'x'.repeat(most + 1) } })
    expect([over.status, over.json.code]).toEqual([413, 'VALUE_TOO_LARGE'])
  })

  test('B75 a message of 1 MiB is cut', async () => {
    const body = { id: 'loud', input: { message: 'x'.repeat(1024 * 1024) } }
    await server.ask('POST', '/api/v1/workflows/failing/runs', { body })
    const { json } = await server.ask('GET', '/api/v1/runs/loud/result?waitMs=20000')
    expect(json.failure.code).toBe('WORKFLOW_FAILED')
    expect(json.failure.message.length).toBeLessThan(9_000)
  })
})
