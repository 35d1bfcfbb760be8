// Graphs that are stored in the database.

import { describe, expect, test } from 'vitest'
import {
  cel,
  type Engine,
  type GraphJson,
  graph,
  nodeType,
  ref,
  task,
  workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, refusalOf, worldOn } from '../support/world.js'

type Nodes = GraphJson['nodes']

/** A graph that gives back `says`; with an event it waits for that first. */
const saying = (id: string, says: unknown, more: object = {}, event?: string): GraphJson => {
  const wait = { id: 'heard', type: 'wait-for-event', config: { mode: 'event', event } }
  const nodes = [...(event ? [wait] : []), { id: 'said', type: 'set', config: { says } }] as Nodes
  const edges = [{ from: 'trigger', to: event ? 'heard' : 'said' }]
  return { id, nodes, edges, output: { says: cel`says` }, ...more } as GraphJson
}
const ordered = (id: string, says: unknown, event: string): GraphJson => ({
  ...saying(id, says, {}, event),
  edges: [
    { from: 'trigger', to: 'heard' },
    { from: 'heard', to: 'said' },
  ],
})

describeOn(['postgres18', 'pglite', 'redis'], 'a stored graph', (database) => {
  const world = worldOn(database)
  const open = (workflows: readonly never[] = [], options: object = {}) =>
    world.open(workflows as never, { options }) as Promise<Engine & { lines: string[] }>
  const saidBy = async (engine: Engine, name: string, options: object = {}) =>
    (
      (await (await engine.start(name, {} as never, options as never)).result()) as {
        says: unknown
      }
    ).says

  test('is saved, started by its name and read again, with versions that count from 1', async () => {
    const engine = await open()
    const id = fresh('stored')
    const first = saying(id, 'one', { description: 'says one' })
    expect(await engine.graphs.save(first, { note: 'begun' })).toEqual({
      name: id,
      version: 1,
      isNew: true,
    })
    const handle = await engine.start(id, {} as never)
    expect(await handle.result()).toEqual({ says: 'one' })
    expect(await engine.get(handle.id)).toMatchObject({ workflow: id, version: '#1' })
    expect((await engine.nodes(handle.id)).map(({ node }) => node)).toContain('said')
    expect(engine.describe(id)).toMatchObject({ kind: 'graph', description: 'says one' })

    expect(await engine.graphs.save(first)).toEqual({ name: id, version: 1, isNew: false })
    expect(await engine.graphs.save(saying(id, 'two'))).toMatchObject({ version: 2, isNew: true })
    expect(await saidBy(engine, id)).toBe('two')
    expect(await saidBy(engine, id, { version: 1 })).toBe('one')
    expect(await engine.graphs.get(id)).toMatchObject({ version: 2, note: null, workspace: null })
    expect(await engine.graphs.get(id, { version: 1 })).toMatchObject({
      note: 'begun',
      json: first,
    })
    expect(await engine.graphs.get(id, { version: 3 })).toBeNull()
    expect(await engine.graphs.get('nobody')).toBeNull()
    expect((await all(engine.graphs.versions(id))).map(({ version }) => version)).toEqual([2, 1])
    expect((await all(engine.graphs.list({ limit: 1 }))).map(({ name }) => name)).toContain(id)
  })

  test('a run keeps the version that it was started with, in every process and behind a restart (B88)', async () => {
    const first = await open()
    const id = fresh('pinned')
    await first.graphs.save(ordered(id, 'one', `${id}-go`))
    const old = await first.start(id, {} as never)
    await eventually(() => first.get(old.id)).toMatchObject({ reason: 'event' })
    const second = await open()
    await second.graphs.save(ordered(id, 'two', `${id}-go`))
    const current = await first.start(id, {} as never)
    await first.close()
    await second.close()

    const third = await open()
    const [one, two] = [third.handle(id, old.id), third.handle(id, current.id)]
    await eventually(() => third.get(current.id)).toMatchObject({ reason: 'event' })
    await third.emit(`${id}-go` as never, {} as never)
    expect(await one.result()).toEqual({ says: 'one' })
    expect(await two.result()).toEqual({ says: 'two' })
    expect(await third.get(old.id)).toMatchObject({ version: '#1' })
  })

  test('to check, to save and to read one executes nothing (B92)', async () => {
    const calls: unknown[] = []
    const call = nodeType('test.call', {}, (config: object) => void calls.push(config))
    const fetched: string[] = []
    const secrets = (name: string) => void fetched.push(name)
    const engine = await open([], { nodeTypes: [call], http: { secrets } })
    const id = fresh('quiet')
    const json = {
      id,
      nodes: [
        { id: 'a', type: 'test.call', config: { x: cel`input.y` } },
        {
          id: 'b',
          type: 'http',
          config: { url: 'http://10.0.0.1/', headers: { a: { secret: 'S' } } },
        },
      ],
      edges: [
        { from: 'trigger', to: 'a' },
        { from: 'a', to: 'b' },
      ],
    } as GraphJson
    expect(engine.graphs.validate(json)).toEqual({ problems: [] })
    await engine.graphs.save(json)
    await engine.graphs.get(id)
    await (await open([], { nodeTypes: [call] })).graphs.get(id)
    expect(calls).toEqual([])
    expect(fetched).toEqual([])
    expect(await all(engine.list({ workflow: id }))).toEqual([])
  })

  test('is refused with everything that is wrong with it, and nothing is stored', async () => {
    const engine = await open()
    const id = fresh('wrong')
    const json = {
      id,
      version: 'a b',
      description: 1,
      triggers: [{ type: 'cron', cron: 'often' }, { type: 'event', event: '' }, { type: 'what' }],
      settings: { concurrency: 0, rate: { runs: 'x', per: '1s' }, wait: 1 },
      nodes: [
        { id: 'a', type: 'set', config: { x: { cel: '1 +' } } },
        { id: 'a', type: 'my.own' },
      ],
      edges: [{ from: 'a', to: 'nowhere' }],
    }
    const { problems } = engine.graphs.validate(json)
    expect(problems.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'version',
        'description',
        'triggers[0]',
        'triggers[1]',
        'triggers[2]',
        'settings.concurrency',
        'settings.rate',
        'settings.wait',
        'nodes[0].config.x',
        'nodes[1].id',
        'nodes[1].type',
      ]),
    )
    const refused = await refusalOf(engine.graphs.save(json as never))
    expect(refused).toMatchObject({ code: 'GRAPH_INVALID', details: { problems } })
    expect(await engine.graphs.get(id)).toBeNull()
    const circle: { self?: unknown } = {}
    circle.self = circle
    let deep: unknown = 1
    for (let i = 0; i < 50_000; i += 1) deep = [deep]
    for (const one of [null, 'text', 7, [], circle, { deep }, () => 1, undefined]) {
      expect(engine.graphs.validate(one).problems).not.toEqual([])
      expect((await refusalOf(engine.graphs.save(one as never))).code).toBe('GRAPH_INVALID')
    }
  })

  test('is refused if it takes more than a mebibyte (B86)', async () => {
    const engine = await open()
    const json = saying(fresh('large'), 'x'.repeat(1024 * 1024))
    expect(engine.graphs.validate(json).problems).toEqual([
      { path: 'the graph', message: expect.stringContaining('1048576 are allowed') },
    ])
    const refused = await refusalOf(engine.graphs.save(json))
    expect(refused).toMatchObject({ code: 'VALUE_TOO_LARGE', details: { bytesMax: 1024 * 1024 } })
  })

  test('of two who save at once with what they expect one wins; versions have no holes', async () => {
    const [a, b] = [await open(), await open()]
    const id = fresh('raced')
    const both = await Promise.allSettled([
      a.graphs.save(saying(id, 'a'), { expected: 0 }),
      b.graphs.save(saying(id, 'b'), { expected: 0 }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const lost = both.find((one) => one.status === 'rejected')
    expect(lost?.reason).toMatchObject({ code: 'VERSION_CHANGED', details: { version: 1 } })
    expect(await refusalOf(a.graphs.save(saying(id, 'c'), { expected: 7 }))).toMatchObject({
      message: `Graph "${id}" is at version 1, and version 7 was expected.`,
    })
    const many = Array.from({ length: 10 }, (_, i) => saying(id, `n${i}`))
    await Promise.all(many.map((json, i) => (i % 2 ? a : b).graphs.save(json)))
    const numbers = (await all(a.graphs.versions(id, { limit: 3 }))).map(({ version }) => version)
    expect(numbers).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  test('is executed by workers that were open before it was saved, and started by a process that executes nothing', async () => {
    const worker = await open()
    const starter = await open([], { worker: false })
    const id = fresh('later')
    await starter.graphs.save(saying(id, 'one'))
    expect(await saidBy(starter, id)).toBe('one')
    await worker.graphs.save(saying(id, 'two'))
    expect(await saidBy(starter, id)).toBe('two')
    expect(starter.describe(id).version).toBe('#2')
  })

  test('that needs a type of nodes is executed by whoever has it, and checked by whoever saves it', async () => {
    const type = nodeType('test.double', {}, ({ n }: { n: number }) => n * 2)
    const without = await open()
    const has = await open([], { nodeTypes: [type] })
    const id = fresh('typed')
    const json = {
      id,
      nodes: [{ id: 'd', type: 'test.double', config: { n: 21 } }],
      edges: [{ from: 'trigger', to: 'd' }],
    } as GraphJson
    expect((await refusalOf(without.graphs.save(json))).code).toBe('GRAPH_INVALID')
    await has.graphs.save(json)
    const results = await Promise.all(
      Array.from({ length: 5 }, async () => (await without.start(id, {} as never)).result()),
    )
    expect(results).toEqual(Array.from({ length: 5 }, () => ({ d: 42 })))
    await has.close()
    const late = await without.start(id, {} as never)
    await eventually(() => without.explain(late.id)).toMatchObject({
      reason: 'missing-code',
      next: [{ command: 'createEngine({ nodeTypes: [ … ] })' }],
    })
  })

  test('a failed run is retried, and forked, with its own version, also when nobody has known that for long', async () => {
    const fails = { isFailing: true }
    const type = nodeType('test.fails', {}, ({ says }: { says: string }) => {
      if (fails.isFailing) throw new Error('not yet')
      return says
    })
    const nodes = (says: string) => [{ id: 'f', type: 'test.fails', config: { says } }] as Nodes
    const engine = await open([], { nodeTypes: [type] })
    const id = fresh('again')
    const edges = [{ from: 'trigger', to: 'f' }]
    await engine.graphs.save({ id, nodes: nodes('one'), edges })
    const run = await engine.start(id, {} as never)
    await refusalOf(run.result())
    await engine.graphs.save({ id, nodes: nodes('two'), edges })
    await engine.close()
    const later = await open([], { nodeTypes: [type] })
    const other = await open([], { nodeTypes: [type] })
    fails.isFailing = false
    await later.retry(run.id)
    expect(await later.handle(id, run.id).result()).toEqual({ f: 'one' })
    expect(await (await other.fork(run.id)).result()).toEqual({ f: 'one' })
  })

  test('is a child of functions and of other graphs, by its name', async () => {
    const id = fresh('child')
    const parent = workflow(fresh('parent'), async (wf) => {
      const got = await wf.do('child', ref<object, { says: string }>(id), {})
      return got.says
    })
    const around = graph({
      id: fresh('around'),
      nodes: [{ id: 'inner', type: 'workflow', config: { workflow: id } }],
      edges: [{ from: 'trigger', to: 'inner' }],
    })
    const engine = await world.open([parent, around] as never)
    await engine.graphs.save(saying(id, 'from below'))
    const calls = engine as unknown as Engine
    expect(await (await calls.start(parent)).result()).toBe('from below')
    expect(await (await calls.start(around)).result()).toEqual({ inner: { says: 'from below' } })
  })

  test('has triggers and limits as soon as it is saved, which other engines leave alone', async () => {
    const engine = await open()
    const id = fresh('hourly')
    const triggers = [
      { type: 'cron', cron: '0 * * * *' },
      { type: 'event', event: `${id}-came` },
    ] as const
    await engine.graphs.save(saying(id, 'one', { triggers, settings: { concurrency: 3 } }))
    await engine.graphs.save(saying(id, 'two', { triggers, settings: { concurrency: 4 } }))
    await open([task(fresh('t'), () => 1)] as never)
    expect(await engine.schedules.get(`${id}:0`)).toMatchObject({ isTrigger: true, workflow: id })
    expect(await engine.limits()).toContainEqual(
      expect.objectContaining({ workflow: id, limit: 4 }),
    )
    await engine.emit(`${id}-came` as never, {} as never, { id: 'e1' } as never)
    const run = `event:e1:${id}`
    await eventually(() => engine.get(run)).toMatchObject({ status: 'completed', version: '#2' })

    await engine.graphs.save(saying(id, 'three'))
    expect(await engine.schedules.get(`${id}:0`)).toBeNull()
    await engine.emit(`${id}-came` as never, {} as never, { id: 'e2' } as never)
    expect(await engine.get(`event:e2:${id}`)).toBeNull()
  })

  test('has an address for requests as soon as it is saved, until it is archived', async () => {
    const engine = await open()
    const id = fresh('asked')
    await engine.graphs.save(saying(id, 'one', { triggers: [{ type: 'webhook', path: 'in' }] }))
    const path = (await engine.webhooks.list()).find(({ workflow }) => workflow === id)?.path ?? ''
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: '{}' }
    const { runId } = await engine.webhooks.receive(path, request)
    await eventually(() => engine.get(runId)).toMatchObject({ status: 'completed', version: '#1' })
    await engine.graphs.archive(id)
    const refused = await refusalOf(engine.webhooks.receive(path, request))
    expect(refused.code).toBe('WEBHOOK_NOT_FOUND')
  })

  test('is archived: nothing starts it any more, and its runs go on', async () => {
    const [engine, other] = [await open(), await open()]
    const id = fresh('old')
    const triggers = [{ type: 'event', event: `${id}-came` }] as const
    const json = { ...ordered(id, 'one', `${id}-go`), triggers }
    await engine.graphs.save(json)
    const run = await engine.start(id, {} as never)
    await eventually(() => engine.get(run.id)).toMatchObject({ reason: 'event' })
    await other.graphs.archive(id)
    for (const one of [engine, other]) {
      expect(await refusalOf(one.start(id, {} as never))).toMatchObject({
        code: 'DEFINITION_ARCHIVED',
      })
    }
    await engine.emit(`${id}-came` as never, {} as never, { id: 'x' } as never)
    expect(await engine.get(`event:x:${id}`)).toBeNull()
    await engine.emit(`${id}-go` as never, {} as never)
    expect(await run.result()).toEqual({ says: 'one' })
    expect(await engine.graphs.get(id)).toMatchObject({ isArchived: true })
    expect(await engine.graphs.save(json)).toMatchObject({ version: 1, isNew: false })
    expect(await engine.graphs.get(id)).toMatchObject({ isArchived: false })
    await other.start(id, {} as never)
    expect((await refusalOf(engine.graphs.archive('nobody'))).code).toBe('DEFINITION_UNKNOWN')
  })

  describe('of a workspace', () => {
    test('is neither seen, started, changed nor archived by another', async () => {
      const engine = await open()
      const id = fresh('mine')
      const [x, y] = [engine.workspace(fresh('x')), engine.workspace(fresh('y'))]
      await x.graphs.save(saying(id, 'x'))
      expect(await (await x.start(id, {} as never)).result()).toEqual({ says: 'x' })

      expect(await y.graphs.get(id)).toBeNull()
      expect((await all(y.graphs.list())).map(({ name }) => name)).not.toContain(id)
      expect(() => y.describe(id)).toThrow('describe')
      const calls = [
        () => y.start(id, {} as never),
        () => y.run(id, {} as never),
        () => y.startMany(id, [{ input: {} as never }]),
        () => y.graphs.archive(id),
        async () => y.graphs.versions(id),
        () => engine.start(id, {} as never),
      ]
      for (const call of calls) expect((await refusalOf(call())).code).toBe('DEFINITION_UNKNOWN')
      for (const one of [y, engine]) {
        const { code, message } = await refusalOf(one.graphs.save(saying(id, 'y')))
        expect({ code, message }).toEqual({
          code: 'NAME_TAKEN',
          message: `The name "${id}" is taken by a stored graph.`,
        })
      }
      expect(await x.graphs.get(id)).toMatchObject({ version: 1, isArchived: false })
    })

    test('hears the events of its own alone, and is no child elsewhere', async () => {
      const id = fresh('own')
      const parent = workflow(fresh('parent'), (wf) => wf.do('child', ref(id), {} as never))
      const engine = (await world.open([parent])) as unknown as Engine
      const [x, y] = [engine.workspace(fresh('x')), engine.workspace(fresh('y'))]
      const triggers = [
        { type: 'event', event: `${id}-came` },
        { type: 'cron', cron: '0 * * * *' },
      ]
      await x.graphs.save(saying(id, 'x', { triggers }))
      for (const one of [x, y])
        await one.emit(`${id}-came` as never, {} as never, { id: 'e' } as never)
      await eventually(() => x.get(`event:e:${id}`)).toMatchObject({ status: 'completed' })
      expect(await y.get(`event:e:${id}`)).toBeNull()
      expect(await x.schedules.get(`${id}:1`)).toMatchObject({ workflow: id })
      expect(await (await x.start(parent)).result()).toEqual({ says: 'x' })
      const failed = await y.run(parent, undefined)
      expect(failed).toMatchObject({ status: 'failed' })
      expect(JSON.stringify(failed)).toContain('DEFINITION_UNKNOWN')
    })

    test('what all workspaces have is started by each, and changed by none of them', async () => {
      const engine = await open()
      const id = fresh('shared')
      await engine.graphs.save(saying(id, 'all'))
      const x = engine.workspace(fresh('x'))
      expect(await (await x.start(id, {} as never)).result()).toEqual({ says: 'all' })
      expect(await x.graphs.get(id)).toMatchObject({ workspace: null })
      expect((await refusalOf(x.graphs.save(saying(id, 'x')))).code).toBe('NAME_TAKEN')
      expect((await refusalOf(x.graphs.archive(id))).code).toBe('DEFINITION_UNKNOWN')
    })
  })

  test('cannot have the name of code, neither of this process nor of another, nor code that of a graph', async () => {
    const code = task(fresh('code'), () => 1)
    const [engine, other] = [await open([code] as never), await open()]
    for (const one of [engine, other]) {
      expect(await refusalOf(one.graphs.save(saying(code.name, 'x')))).toMatchObject({
        code: 'NAME_TAKEN',
        message: `The name "${code.name}" is taken by a definition in code.`,
      })
    }
    const id = fresh('graph')
    await other.graphs.save(saying(id, 'x'))
    expect((await refusalOf(open([task(id, () => 1)] as never))).code).toBe('NAME_TAKEN')
  })

  test('runs in memory without a trace', async () => {
    const engine = await open()
    const id = fresh('inside')
    await engine.graphs.save(saying(id, 'one'))
    expect(await engine.run(id, {} as never, { stateless: true })).toMatchObject({
      status: 'completed',
      output: { says: 'one' },
    })
  })

  // Redis has no transactions.
  if (database.name !== 'redis') {
    test('is started in a transaction of the caller', async () => {
      const engine = await open()
      const id = fresh('inside')
      await engine.graphs.save(saying(id, 'one'))
      const { id: run } = await engine.transaction((tx) =>
        engine.start(id, {} as never, { transaction: tx }),
      )
      expect(await engine.handle(id, run).result()).toEqual({ says: 'one' })
    })
  }
})
