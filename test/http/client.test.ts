// perdure/client: what an engine gives, over HTTP.

import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { createHandler, serve } from '../../src/http/index.js'
import type { Engine } from '../../src/index.js'
import { decode, encode } from '../../src/model/codec.js'
import { describeOn } from '../support/databases.js'
import { all, refusalOf, worldOn } from '../support/world.js'
import { DEFINITIONS, echo, failing, order, picking, shown } from './server.js'

const opened = async (world: ReturnType<typeof worldOn>) => {
  const logged: string[] = []
  const say = (message: string) => void logged.push(message)
  const log = { debug: () => {}, info: () => {}, warn: say, error: say }
  const engine = (await world.open(DEFINITIONS)) as unknown as Engine<typeof DEFINITIONS>
  const handler = createHandler(engine, { open: true, rateLimit: false, log })
  const fetch = (...args: ConstructorParameters<typeof Request>) => handler(new Request(...args))
  const client = createClient<typeof engine>('http://127.0.0.1:4114/', { fetch: fetch as never })
  return { engine, client, logged }
}

describeOn(['pglite', 'postgres18'], 'the client', (database) => {
  const world = worldOn(database)

  test('starts, reads, sends and waits as the engine does', async () => {
    const { engine, client } = await opened(world)
    const handle = await client.start('order', { n: 1 }, { id: 'c-1', tags: { a: 'b:c' } })
    await expect.poll(() => handle.status(), { timeout: 30_000 }).toBe('waiting')
    const [remote, own] = [await client.get('c-1'), await engine.get('c-1')]
    expect(remote).toStrictEqual(own)
    expect(await handle.get()).toStrictEqual(own)
    expect(await client.explain('c-1')).toStrictEqual(await engine.explain('c-1'))
    expect(await client.describe(order)).toStrictEqual(engine.describe(order))
    const found = client.list({ workflow: order, tags: { a: 'b:c' }, createdAfter: new Date(0) })
    expect((await all(found)).map(({ id }) => id)).toEqual(['c-1'])
    await handle.pause()
    await handle.resume()
    await client.signal('c-1', 'approval', { ok: true }, { id: 'once' })
    expect(await handle.result()).toEqual({ n: 1, approval: { ok: true } })
    const entries = await all(client.history('c-1', { limit: 2 }))
    expect(entries).toStrictEqual(await all(engine.history('c-1')))
    expect(await all(handle.events({ after: 2 }))).toStrictEqual(entries.slice(2))
    expect(await client.get('nobody')).toBeNull()
  })

  test('B54 B57 B61 B62 values come back as they were, -0, dates, maps, bigints and cycles too', async () => {
    const { client } = await opened(world)
    const cycle: { self?: unknown; when: Date } = { when: new Date(5) }
    cycle.self = cycle
    const value = {
      zero: -0,
      nul: 'a\u0000b',
      big: 2n ** 70n,
      map: new Map([[{ k: 1 }, new Set([undefined, Number.NaN])]]),
      bytes: new Uint8Array([1, 2, 3]),
      none: undefined,
      proto: JSON.parse('{"__proto__":{"admin":true}}'),
      cycle,
    }
    const output = await (await client.start(echo, value)).result()
    expect(output).toStrictEqual(value)
    expect(Object.is((output as typeof value).zero, -0)).toBe(true)
    let deep: unknown = 1
    for (let i = 0; i < 64; i += 1) deep = [deep]
    const many = await client.startMany(echo, [{ input: deep }, { input: 2 }])
    expect(await Promise.all(many.map((one) => one.result()))).toEqual([deep, 2])
    const refused = await refusalOf(client.start(echo, { f: () => 1 }) as never)
    expect([refused.code, refused.details]).toMatchObject(['VALUE_UNSTORABLE', {}])
  })

  test('a start whose answer was lost is sent again if it has an id, and is one run; others are not', async () => {
    const { engine } = await opened(world)
    const handler = createHandler(engine, { open: true, rateLimit: false })
    let [requests, toLose] = [0, 0]
    const fetch = async (...args: ConstructorParameters<typeof Request>) => {
      requests += 1
      const response = await handler(new Request(...args))
      toLose -= 1
      if (toLose >= 0) throw new TypeError('the connection was lost')
      return response
    }
    const client = createClient<typeof engine>('http://127.0.0.1:4114', { fetch: fetch as never })
    await client.get('nobody')
    const lost = async (count: number, work: () => Promise<unknown>) => {
      ;[requests, toLose] = [0, count]
      const error = await work().then(
        () => null,
        (reason: { code?: string }) => reason.code,
      )
      return { requests, error }
    }
    const once = await lost(2, () => client.start(echo, 1, { id: 'again-1' }))
    expect(once).toEqual({ requests: 3, error: null })
    const many = [{ input: 2, options: { id: 'again-2' } }]
    expect(await lost(1, () => client.startMany(echo, many))).toEqual({ requests: 2, error: null })
    const ids = (await all(client.list({ text: 'again-' }))).map(({ id }) => id)
    expect(ids.sort()).toEqual(['again-1', 'again-2'])

    const never = { requests: 1, error: 'SERVER_UNREACHABLE' }
    expect(await lost(1, () => client.start(echo, 1))).toEqual(never)
    const unnamed = [...many, { input: 3 }]
    expect(await lost(1, () => client.startMany(echo, unnamed))).toEqual(never)
    const message = { name: 'approval', payload: { ok: true } } as const
    const told = { id: 'again-3', message }
    expect(await lost(1, () => client.start('order', { n: 1 }, told))).toEqual(never)
    const debounced = { id: 'again-4', debounce: { key: 'k', for: '1h' } } as const
    expect(await lost(1, () => client.start(echo, 1, debounced))).toEqual(never)
    expect(await lost(1, () => client.cancel('again-3'))).toEqual(never)
  })

  test('errors come back as PerdureError with their code, hint, details and cause', async () => {
    const { client, logged } = await opened(world)
    const missing = await refusalOf(client.signal('nobody', 'x'))
    expect(missing).toMatchObject({ code: 'RUN_NOT_FOUND', runId: 'nobody', retryable: false })
    expect(missing.hint).toContain('check the id')
    await client.start(echo, 1, { id: 'c-2' })
    const taken = await refusalOf(client.start(echo, 2, { id: 'c-2' }) as never)
    expect(taken).toMatchObject({ code: 'ID_TAKEN', details: { workflow: 'echo' } })
    const failed = await refusalOf((await client.start(failing, { message: 'no' })).result())
    expect(failed.code).toBe('WORKFLOW_FAILED')
    expect(failed.cause).toBeInstanceOf(Error)
    expect((failed.cause as Error).message).toBe('no')
    const handle = await client.start(order, { n: 1 }, { id: 'c-3' })
    expect((await refusalOf(handle.result({ timeout: 10 }))).code).toBe('WAIT_TIMED_OUT')
    const other = client.handle(echo, 'c-3')
    expect((await refusalOf(other.get())).code).toBe('RUN_NOT_FOUND')
    expect((await refusalOf(other.cancel())).code).toBe('RUN_NOT_FOUND')
    expect((await refusalOf(client.explain('..'))).code).toBe('ID_INVALID')
    const within = refusalOf(client.emit('x' as never, 1 as never, { transaction: {} as never }))
    expect((await within).code).toBe('OPTION_INVALID')
    const gone = new AbortController()
    const waiting = handle.result({ signal: gone.signal })
    gone.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(logged).toEqual([])
  })

  test('run, send, trigger, fork, documents and schedules do what they do', async () => {
    const { engine, client } = await opened(world)
    expect(await client.run(echo, 7)).toMatchObject({ status: 'completed', output: 7 })
    expect(await client.run(echo, 7, { stateless: true })).toMatchObject({ output: 7 })
    expect(await client.run(failing)).toMatchObject({ status: 'failed', error: { step: 'break' } })
    const sent = await client.send(picking, 'c-p', { type: 'ASSIGN' })
    expect(sent).toMatchObject({ id: 'c-p', state: 'picking', done: false })
    expect(await all(client.checkpoints('c-p'))).toStrictEqual(await all(engine.checkpoints('c-p')))
    const run = await client.start(shown)
    await run.result()
    expect(await client.documents(run.id, 'note')).toStrictEqual(await engine.documents(run.id))
    const fork = await client.fork(run.id, { id: 'c-f' })
    expect(await fork.result()).toBe('done')
    const waits = await client.start(order, { n: 1 }, { id: 'c-4' })
    const taken = await waits.trigger('approval', { ok: false }, { within: '20s' })
    expect(taken.id).toBe('c-4')
    const { schedules } = client
    const at = new Date('2030-01-01T00:00:00Z')
    expect(await schedules.set({ id: 's', workflow: echo, at, input: at })).toMatchObject({
      at,
      input: at,
    })
    expect((await all(schedules.list())).map(({ id }) => id)).toEqual(['s'])
    expect(await schedules.next('s')).toEqual([at])
    expect(await (await schedules.runNow('s', { id: 'c-now' })).result()).toEqual(at)
    await schedules.delete('s')
    expect(await schedules.get('s')).toBeNull()
  })

  test('graphs are checked, saved, read and archived', async () => {
    const { engine, client } = await opened(world)
    const json = {
      id: 'greet',
      nodes: [{ id: 'say', type: 'set', config: { says: 'hello' } }],
      edges: [{ from: 'trigger', to: 'say' }],
    } as const
    expect(await client.graphs.validate({ ...json, nodes: [] })).toEqual(
      engine.graphs.validate({ ...json, nodes: [] }),
    )
    expect(await client.graphs.save(json, { expected: 0, note: 'first' })).toMatchObject({
      version: 1,
    })
    // What the API stores belongs to the workspace that it acts in.
    const own = engine.workspace('default').graphs
    expect(await client.graphs.get('greet')).toStrictEqual(await own.get('greet'))
    expect(await client.graphs.get('nobody')).toBeNull()
    expect(await all(client.graphs.list())).toStrictEqual(await all(own.list()))
    expect(await all(client.graphs.versions('greet'))).toMatchObject([{ note: 'first' }])
    const run = await client.start('greet' as never, {} as never)
    expect(await run.result()).toEqual({ says: 'hello' })
    await client.graphs.archive('greet')
    expect((await refusalOf(client.start('greet' as never, {} as never))).code).toBe(
      'DEFINITION_ARCHIVED',
    )
  })

  test('[X14] a workspace is a world of its own, and a confined client stays in it', async () => {
    const { engine, client } = await opened(world)
    const acme = client.workspace('acme')
    await acme.start(echo, 1, { id: 'c-w' })
    expect(await client.get('c-w')).toBeNull()
    expect((await acme.get('c-w'))?.workspace).toBe('acme')
    expect((await all(acme.list())).map(({ id }) => id)).toEqual(['c-w'])
    expect((await engine.workspace('acme').get('c-w'))?.id).toBe('c-w')
    const left = refusalOf(acme.signal('c-w', 'x', 1, { workspace: 'default' }))
    expect((await left).code).toBe('OPTION_INVALID')
    expect(() => acme.workspace('default')).toThrow('confined')
  })
})

describeOn(['postgres18'], 'two servers', (database) => {
  const world = worldOn(database)

  test('[X11] who follows a run through one that stops goes on at another, without a gap or a repeat', async () => {
    const first = (await world.open(DEFINITIONS)) as unknown as Engine<typeof DEFINITIONS>
    const second = (await world.open(DEFINITIONS)) as unknown as Engine<typeof DEFINITIONS>
    let serving = await serve(first, { port: 0 })
    const { url, port } = serving
    const client = createClient<typeof first>(url)
    const handle = await client.start('order', { n: 1 }, { id: 'two' })
    const seen: number[] = []
    const result = handle.result()
    const following = (async () => {
      for await (const { seq } of handle.events()) seen.push(seq)
    })()
    await expect.poll(() => seen.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(3)
    await serving.close()
    serving = await serve(second, { port })
    await second.signal('two', 'approval', { ok: true })
    await following
    expect(seen).toEqual((await all(second.history('two'))).map(({ seq }) => seq))
    expect(await result).toEqual({ n: 1, approval: { ok: true } })
    await serving.close()
  })
})

describe('alone', () => {
  test('an address where nobody is, or somebody else, is said so', async () => {
    const lost = createClient('http://127.0.0.1:1')
    expect(await refusalOf(lost.get('x'))).toMatchObject({
      code: 'SERVER_UNREACHABLE',
      retryable: true,
    })
    const html = async () => new Response('<html>', { headers: { 'content-type': 'text/html' } })
    const other = createClient('http://127.0.0.1:1', { fetch: html as never })
    expect((await refusalOf(other.get('x'))).message).toContain('is not the API of Perdure')
    expect(() => createClient('localhost:4114')).toThrow('createClient')
    expect(() => createClient('http://x', { tokn: 'x' } as never)).toThrow('Unknown option "tokn"')
  })

  test('it loads nothing of Node and nothing of the engine: a browser can', () => {
    const loaded = new Set(['src/client/index.ts'])
    const packages = new Set<string>()
    for (const path of loaded) {
      const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
      const { outputText } = ts.transpileModule(text, {
        compilerOptions: { module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
      })
      for (const { fileName } of ts.preProcessFile(outputText).importedFiles) {
        if (!fileName.startsWith('.')) packages.add(fileName)
        else
          loaded.add(
            new URL(fileName, `http://x/${path}`).pathname.slice(1).replace(/\.js$/, '.ts'),
          )
      }
    }
    expect([...packages]).toEqual(['devalue'])
    expect([...loaded].filter((path) => !/^src\/(client|model)\//.test(path))).toEqual([])
  })

  test('values are written and read where there is no Buffer', () => {
    const { Buffer: node } = globalThis
    const value = { at: new Date(3), list: [undefined], text: 'x'.repeat(900) }
    Reflect.deleteProperty(globalThis, 'Buffer')
    try {
      expect(decode(encode(value, 'a test', 1_100))).toStrictEqual(value)
    } finally {
      Object.defineProperty(globalThis, 'Buffer', {
        value: node,
        configurable: true,
        writable: true,
      })
    }
  })
})

describe('a request of starts that takes long', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  test('holds nobody up for more than a second', async () => {
    // Connections of tests before this one may have timers, too.
    const set = vi.spyOn(globalThis, 'setTimeout')
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    const answers: (() => void)[] = []
    const asked: string[] = []
    const lone = '/api/v1/workflows/echo/runs'
    const fetch = async (url: string, init: RequestInit) => {
      const n = asked.push(new URL(url).pathname)
      await new Promise<void>((resolve) => answers.push(resolve))
      const { items } = decode(String(init.body)) as { items?: readonly unknown[] }
      const ids = items?.map((_, i) => ({ id: `${n}-${i}` }))
      const answer = JSON.stringify(ids ? { items: ids } : { id: `${n}` })
      return new Response(answer, { headers: { 'content-type': 'application/vnd.perdure.value' } })
    }
    const client = createClient('http://127.0.0.1:4114', { fetch: fetch as never })
    const start = (n: number) => client.start('echo' as never, n as never)
    const first = start(0)
    await Promise.resolve()
    const rest = [start(1), start(2)]
    await vi.advanceTimersByTimeAsync(999)
    expect(asked).toEqual([lone])
    await vi.advanceTimersByTimeAsync(1)
    expect(asked).toEqual([lone, '/api/v1/runs/start'])
    answers[1]?.()
    expect((await Promise.all(rest)).map(({ id }) => id)).toEqual(['2-0', '2-1'])
    answers[0]?.()
    expect((await first).id).toBe('1')
    await vi.advanceTimersByTimeAsync(0)
    const own = set.mock.results.filter((_, i) => set.mock.calls[i]?.[0].name === 'land')
    expect(own).toHaveLength(2)
    const over = cleared.mock.calls.map(([timer]) => timer)
    expect(own.filter(({ value }) => !over.includes(value))).toEqual([])
  })
})
