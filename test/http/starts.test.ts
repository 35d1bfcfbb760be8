// perdure/client: starts that come together are one request.

import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { createHandler } from '../../src/http/index.js'
import { decode } from '../../src/model/codec.js'
import { refusalOf } from '../support/world.js'
import { echo, serverOf } from './server.js'

const server = serverOf()
const GROUP = '/api/v1/runs/start'
const LONE = '/api/v1/workflows/echo/runs'

interface Asked {
  readonly path: string
  readonly workspace: string | null
  readonly body: { readonly items?: readonly { readonly id?: string }[] }
}

/** A client, what it has asked, and a way to meddle: `before` gets each request first, `after` each answer. */
function meddled(meddle: {
  before?: (asked: Asked) => Promise<Response | undefined> | Response | undefined
  after?: (asked: Asked, response: Response) => Promise<Response> | Response
}) {
  const asked: Asked[] = []
  const handler = createHandler(server.engine, { open: true, rateLimit: false })
  const fetch = async (url: string, init: RequestInit) => {
    const one: Asked = {
      path: new URL(url).pathname,
      workspace: new Headers(init.headers).get('perdure-workspace'),
      body: init.body === undefined ? {} : (decode(String(init.body)) as Asked['body']),
    }
    asked.push(one)
    const instead = await meddle.before?.(one)
    if (instead) return instead
    const response = await handler(new Request(url, init))
    return (await meddle.after?.(one, response)) ?? response
  }
  const client = createClient<typeof server.engine>('http://127.0.0.1:4114', {
    fetch: fetch as never,
  })
  return { client, asked }
}
const counts = (asked: readonly Asked[]) => asked.map(({ body }) => body.items?.length ?? 1)
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: { code?: string }) => error.code,
  )

test('a lone start is one ordinary request, at once', async () => {
  const { client, asked } = meddled({})
  const first = client.start(echo, 1)
  await Promise.resolve()
  expect(asked.map(({ path }) => path)).toEqual([LONE])
  expect(await (await first).result()).toBe(1)
  await client.start(echo, undefined)
  expect(asked.at(-1)).toEqual({ path: '/api/v1/workflows/echo/runs', workspace: null, body: {} })
})

test('those that are called in one go are one request, and each caller has its own run', async () => {
  const { client, asked } = meddled({})
  const inputs = Array.from({ length: 50 }, (_, n) => ({ n, text: `"${n}` }))
  const handles = await Promise.all(inputs.map((input) => client.start(echo, input)))
  expect(asked.map(({ path }) => path)).toEqual([GROUP])
  expect(new Set(handles.map(({ id }) => id)).size).toBe(50)
  const outputs = await Promise.all(
    handles.map(async ({ id }) => server.engine.handle(echo, id).result()),
  )
  expect(outputs).toEqual(inputs)
})

test('what comes while a request is under way gathers, and goes in order when its answer is here', async () => {
  let release = (): void => {}
  const held = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined)
  })
  const { client, asked } = meddled({
    before: ({ path }) => (path === LONE ? held : undefined),
  })
  const first = client.start(echo, 1, { id: 'order-0' })
  await Promise.resolve()
  const rest = [1, 2, 3].map((n) => client.start(echo, n, { id: `order-${n}` }))
  await new Promise((resolve) => setImmediate(resolve))
  expect(counts(asked)).toEqual([1])
  release()
  await Promise.all([first, ...rest])
  expect(counts(asked)).toEqual([1, 3])
  const { items } = await server.engine.list({ text: 'order-', order: 'oldest' })
  expect(items.map(({ id }) => id)).toEqual(['order-0', 'order-1', 'order-2', 'order-3'])
})

test('one that is refused is refused alone, with the code that it has alone', async () => {
  const starts = [
    ['echo', 1, {}],
    ['echo', { f: () => 1 }, {}],
    ['nobody', 1, {}],
    ['echo', 1, { id: 'a/b' }],
    ['echo', 1, { priority: 'high' }],
    ['echo', 1, { workspace: 'other' }],
    ['echo', 2, { id: 'refused-taken' }],
    ['', 1, {}],
    ['echo', 2, {}],
  ] as const
  await server.engine.start(echo, 1, { id: 'refused-taken' })
  const { client, asked } = meddled({})
  const begin = (of: typeof client, [name, input, options]: (typeof starts)[number]) =>
    codeOf(of.start(name as 'echo', input, options as object))
  const together = await Promise.all(starts.map((one) => begin(client, one)))
  // One that names another workspace is a request of its own, and what cannot be written is none.
  expect(counts(asked).sort()).toEqual([1, 6])
  const alone: unknown[] = []
  for (const one of starts) alone.push(await begin(meddled({}).client, one))
  expect(together).toEqual(alone)
  expect(together).toEqual([
    null,
    'VALUE_UNSTORABLE',
    'DEFINITION_UNKNOWN',
    'ID_INVALID',
    'REQUEST_INVALID',
    null,
    'ID_TAKEN',
    'DEFINITION_UNKNOWN',
    null,
  ])
})

test('details and hints of a refusal are those of its own start', async () => {
  const { client } = meddled({})
  const [good, bad] = [client.start(echo, 1), client.start('nobody' as never, 1 as never)]
  const refused = await refusalOf(bad as never)
  expect(refused).toMatchObject({ code: 'DEFINITION_UNKNOWN', message: /nobody/ })
  expect(refused.hint).toContain('/workflows')
  expect((await good).id).toMatch(/./)
})

test('after a lost answer those with an id are sent again and are one run; others are not, and say so', async () => {
  let toLose = 0
  const { client, asked } = meddled({
    after: (_, response) => {
      if (toLose === 0) return response
      toLose -= 1
      throw new TypeError('the connection was lost')
    },
  })
  await client.get('nobody')
  toLose = 2
  const work = [
    client.start(echo, 1, { id: 'lost-1' }),
    client.start(echo, 2, { tags: { of: 'lost' } }),
    client.start(echo, 3, { id: 'lost-3' }),
  ]
  expect(await Promise.all(work.map(codeOf))).toEqual([null, 'SERVER_UNREACHABLE', null])
  expect(counts(asked.slice(1))).toEqual([3, 2, 2])
  const { items } = await server.engine.list({ text: 'lost' })
  expect(items.map(({ input }) => input).sort()).toEqual([1, 2, 3])
})

test('an answer to all of them is an answer to each', async () => {
  const problem = { code: 'RATE_LIMITED', title: 'Too many requests.', hint: 'wait' }
  const { client, asked } = meddled({
    before: () => new Response(JSON.stringify(problem), { status: 429 }),
  })
  const work = [client.start(echo, 1), client.start(echo, 2, { id: 'limited' })]
  expect(await Promise.all(work.map(codeOf))).toEqual(['RATE_LIMITED', 'RATE_LIMITED'])
  expect(asked).toHaveLength(1)
})

test('values are exact, and as they were at the call', async () => {
  const { client, asked } = meddled({})
  const cycle: Record<string, unknown> = { at: new Date(5), zero: -0, big: 2n ** 70n }
  cycle.self = cycle
  const changing = { n: 1, at: new Date(7) }
  const work = [client.start(echo, cycle), client.start(echo, changing), client.start(echo, 'x')]
  changing.n = 2
  const handles = await Promise.all(work)
  expect(counts(asked)).toEqual([3])
  const outputs = await Promise.all(handles.map((one) => one.result()))
  expect(outputs).toStrictEqual([cycle, { n: 1, at: new Date(7) }, 'x'])
})

test('a request has 500 starts and 256 KiB at most, and what is long goes alone', async () => {
  const { client, asked } = meddled({})
  await Promise.all(Array.from({ length: 1_200 }, (_, n) => client.start(echo, n)))
  expect(counts(asked)).toEqual([500, 500, 200])
  asked.length = 0
  await Promise.all(Array.from({ length: 20 }, () => client.start(echo, 'x'.repeat(30_000))))
  expect(Math.max(...counts(asked))).toBe(8)
  asked.length = 0
  await Promise.all([1, 2].map(() => client.start(echo, 'x'.repeat(40_000))))
  expect(asked.map(({ path }) => path)).toEqual([LONE, LONE])
})

test('[X14] a request is of one workspace', async () => {
  const { client, asked } = meddled({})
  const other = client.workspace('b')
  const handles = await Promise.all([
    client.start(echo, 1),
    client.start(echo, 2),
    other.start(echo, 3),
    client.start(echo, 4, { workspace: 'b' }),
  ])
  expect(asked.map(({ path, workspace }) => [path, workspace])).toEqual([
    [GROUP, null],
    [GROUP, 'b'],
  ])
  const inB = server.engine.workspace('b')
  const found = await Promise.all(handles.map(async ({ id }) => (await inB.get(id))?.input))
  expect(found).toEqual([undefined, undefined, 3, 4])
})

test('a server that does not know the route, or refuses the whole, is asked start by start', async () => {
  let code = 'REQUEST_TOO_LARGE'
  const { client, asked } = meddled({
    before: ({ path }) =>
      path === GROUP
        ? new Response(JSON.stringify({ code, title: 'No.', hint: '-' }), { status: 404 })
        : undefined,
  })
  const both = async (): Promise<string[]> => {
    asked.length = 0
    const handles = await Promise.all([client.start(echo, 1), client.start(echo, 2)])
    expect(await Promise.all(handles.map(({ id }) => server.engine.get(id)))).toHaveLength(2)
    return asked.map(({ path }) => path)
  }
  expect(await both()).toEqual([GROUP, LONE, LONE])
  code = 'ROUTE_UNKNOWN'
  expect(await both()).toEqual([GROUP, LONE, LONE])
  expect(await both()).toEqual([LONE, LONE])
})

test('what stands before a server and refuses the route is asked start by start too', async () => {
  const { client, asked } = meddled({
    before: ({ path }) =>
      path === GROUP ? new Response('<h1>Forbidden</h1>', { status: 403 }) : undefined,
  })
  await Promise.all([client.start(echo, 1), client.start(echo, 2)])
  expect(asked.map(({ path }) => path)).toEqual([GROUP, LONE, LONE])
})

test('one that is nested as deep as may be harms none of those beside it', async () => {
  const { client, asked } = meddled({})
  const deep: unknown = JSON.parse(`${'['.repeat(63)}1${']'.repeat(63)}`)
  const inputs = [deep, new Date(3), 1]
  const handles = await Promise.all(inputs.map((input) => client.start(echo, input)))
  expect(counts(asked)).toEqual([3])
  expect(await Promise.all(handles.map((one) => one.result()))).toEqual(inputs)
})

test('requests that are full go beside one that takes long', async () => {
  let release = (): void => {}
  const held = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined)
  })
  const { client, asked } = meddled({ before: ({ path }) => (path === LONE ? held : undefined) })
  const work = [client.start(echo, 0)]
  await Promise.resolve()
  for (let n = 1; n <= 1_200; n += 1) {
    work.push(client.start(echo, n))
    // Each is called by itself.
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(counts(asked)).toEqual([1, 500, 500])
  release()
  await Promise.all(work)
  expect(counts(asked).reduce((sum, count) => sum + count)).toBe(1_201)
})

test('whether a start may be repeated is decided when it is called', async () => {
  let isLost = false
  const { client, asked } = meddled({
    before: () => {
      if (isLost) throw new TypeError('the connection was lost')
      return undefined
    },
  })
  await client.get('nobody')
  isLost = true
  const message: { name: string; payload: number; id?: string } = { name: 'go', payload: 1 }
  const work = [1, 2].map((n) => client.start(echo, n, { id: `repeat-${n}`, message } as never))
  message.id = 'too-late'
  expect(await Promise.all(work.map(codeOf))).toEqual(['SERVER_UNREACHABLE', 'SERVER_UNREACHABLE'])
  expect(asked).toHaveLength(2)
})

test('an option that is called as the definition is refused, and starts nothing else', async () => {
  const { client } = meddled({})
  const work = [
    client.start(echo, new Date(1)),
    client.start(echo, 1, { workflow: 'failing', id: 'slipped' } as never),
  ]
  expect(await Promise.all(work.map(codeOf))).toEqual([null, 'REQUEST_INVALID'])
  expect(await server.engine.get('slipped')).toBeNull()
})
