// Graphs on real databases.

import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { cel, type GraphJson, graph, nodeType, task } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, kindsOf, refusalOf, worldOn } from '../support/world.js'

type Nodes = GraphJson['nodes']
type Edges = GraphJson['edges']

describeOn(['pglite', 'postgres18', 'redis'], 'a graph', (database) => {
  const world = worldOn(database)
  const calls: string[] = []
  const note = nodeType('test.note', {}, (config: { text?: unknown; fail?: number }, { step }) => {
    calls.push(`${config.text}`)
    if (config.fail !== undefined && step.attempt <= config.fail)
      throw new Error(`refused ${config.text}`)
    return config.text
  })
  const noted = (id: string, more: object = {}, of: object = {}) =>
    ({ id, type: 'test.note', config: { text: id, ...of }, ...more }) as Nodes[number]
  const chain = (...ids: string[]): Edges =>
    ids.slice(1).map((to, i) => ({ from: ids[i] ?? '', to }))
  const open = (json: Omit<GraphJson, 'id'>, workflows: Parameters<typeof world.open>[0] = []) => {
    calls.length = 0
    const made = graph({ id: fresh('graph'), ...json } as GraphJson)
    return world
      .open([made, ...workflows] as never, { options: { nodeTypes: [note] } } as never)
      .then((engine) => ({ engine, made }))
  }
  const run = async (json: Omit<GraphJson, 'id'>, input: object = {}, workflows: never[] = []) => {
    const { engine, made } = await open(json, workflows)
    const handle = await engine.start(made, input as never)
    return { engine, handle, output: (await handle.result()) as Record<string, unknown> }
  }

  test('[D01] [D02] [D08] runs its nodes in their order, each after all that come before it, and is completed when none is left', async () => {
    const { output, handle } = await run({
      nodes: [noted('d'), noted('c'), noted('b'), noted('a')],
      edges: [
        { from: 'trigger', to: 'a' },
        { from: 'a', to: 'b' },
        { from: 'a', to: 'c' },
        { from: 'b', to: 'd' },
        { from: 'c', to: 'd' },
      ],
    })
    expect([calls[0], calls.slice(1, 3).sort(), calls[3]]).toEqual(['a', ['b', 'c'], 'd'])
    expect(output).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd' })
    expect(await handle.status()).toBe('completed')
  })

  test('[D04] [D06] takes the way of a condition and of a switch, skips the others, and joins without them', async () => {
    const json = {
      nodes: [
        { id: 'big', type: 'condition', config: { if: cel`input.n > 10` } },
        noted('yes'),
        noted('no'),
        {
          id: 'kind',
          type: 'switch',
          config: {
            on: { cel: 'input.kind' },
            cases: [
              { name: 'x', is: 'X' },
              { name: 'also', is: 'X' },
              { name: 'y', is: { cel: 'input.other' } },
            ],
          },
        },
        noted('x'),
        noted('also'),
        noted('y'),
        noted('rest'),
        { id: 'all', type: 'merge' },
        noted('last'),
      ] as Nodes,
      edges: [
        { from: 'trigger', to: 'big' },
        { from: 'big', to: 'yes', when: true },
        { from: 'big', to: 'no', when: false },
        { from: 'yes', to: 'all' },
        { from: 'no', to: 'all' },
        { from: 'trigger', to: 'kind' },
        { from: 'kind', to: 'x', when: 'x' },
        { from: 'kind', to: 'also', when: 'also' },
        { from: 'kind', to: 'y', when: 'y' },
        { from: 'kind', to: 'rest', when: 'default' },
        { from: 'x', to: 'all' },
        { from: 'also', to: 'all' },
        { from: 'y', to: 'all' },
        { from: 'rest', to: 'all' },
        { from: 'all', to: 'last' },
      ],
    }
    const { engine, made } = await open(json)
    const nodes = async (input: object) => {
      calls.length = 0
      await (await engine.start(made, input as never)).result()
      return [calls.slice(0, -1).sort(), calls.at(-1)]
    }
    expect(await nodes({ n: 11, kind: 'X', other: 'Y' })).toEqual([['x', 'yes'], 'last'])
    expect(await nodes({ n: 1, kind: 'Y', other: 'Y' })).toEqual([['no', 'y'], 'last'])
    expect(await nodes({ n: 1, kind: 'Z', other: 'Y' })).toEqual([['no', 'rest'], 'last'])
  })

  test('[D26] [D27] knows in every node what was set before it: branches their own, and all of them after they join', async () => {
    const { output } = await run(
      {
        nodes: [
          {
            id: 'first',
            type: 'set',
            config: { a: 1, shared: 'before', who: cel`run.workspaceId` },
          },
          { id: 'split', type: 'fork' },
          { id: 'left', type: 'set', config: { l: cel`a + 1`, shared: 'left' } },
          { id: 'right', type: 'set', config: { r: cel`a + 2`, seen: cel`shared` } },
          { id: 'both', type: 'merge' },
          { id: 'sum', type: 'set', config: { sum: cel`l + r + input.n`, last: cel`shared` } },
        ],
        edges: [
          ...chain('trigger', 'first', 'split', 'left', 'both', 'sum'),
          ...chain('split', 'right', 'both'),
        ],
      },
      { n: 10 },
    )
    expect(output).toMatchObject({ sum: 15, seen: 'before', last: 'left', who: 'default' })
  })

  test('[D03] [D17] stores what a node gave before the next one starts, and goes on after a restart without running it again', async () => {
    const { engine, made } = await open({
      nodes: [
        noted('a'),
        { id: 'set', type: 'set', config: { n: cel`input.n * 2`, list: [1, cel`a`] } },
        { id: 'rest', type: 'delay', config: { for: '1h' } },
        noted('b', {}, { text: cel`string(n) + list[1]` }),
      ],
      edges: chain('trigger', 'a', 'set', 'rest', 'b'),
    })
    const handle = await engine.start(made, { n: 4 })
    await eventually(() => handle.status()).toBe('waiting')
    await engine.close()
    const again = await world.open([made], { options: { nodeTypes: [note] } } as never)
    await world.advance(3_600_000)
    const output = { a: 'a', n: 8, list: [1, 'a'], b: '8a' }
    expect(await again.handle(made, handle.id).result()).toEqual(output)
    expect(calls).toEqual(['a', '8a'])
  })

  test('[D05] [D07] begins all branches of a fork at once, and joins them once, also when others execute them', async () => {
    const passed = gate()
    let waiting = 0
    const meet = task(fresh('meet'), async (_: unknown) => {
      waiting += 1
      if (waiting === 2) passed.open()
      await passed.passed
      return 'met'
    })
    const json = {
      nodes: [
        { id: 'split', type: 'fork' },
        { id: 'left', type: 'task', config: { task: meet.name } },
        { id: 'right', type: 'task', config: { task: meet.name } },
        { id: 'both', type: 'merge' },
        noted('once'),
      ] as Nodes,
      edges: [
        ...chain('trigger', 'split', 'left', 'both', 'once'),
        ...chain('split', 'right', 'both'),
      ],
    }
    const { engine, made } = await open(json, [meet] as never)
    await world.open([meet])
    const first = await (await engine.start(made, {})).result()
    expect(first).toMatchObject({ left: 'met', right: 'met', once: 'once' })
    const more = await Promise.all(Array.from({ length: 10 }, () => engine.start(made, {})))
    await Promise.all(more.map((run) => run.result()))
    expect(calls).toHaveLength(11)
  })

  test('[D40] that has ended never changes, whatever comes', async () => {
    const { engine, handle } = await run({ nodes: [noted('a')], edges: chain('trigger', 'a') })
    const before = JSON.stringify(await handle.get())
    await refusalOf(handle.cancel('too late'))
    await refusalOf(handle.retry())
    await refusalOf(handle.signal('any' as never, {} as never))
    await engine.emit('anything', {})
    expect(JSON.stringify(await handle.get())).toBe(before)
    expect(await kindsOf(engine, handle.id)).toContain('run.completed')
  })

  test('[D11] [D12] [D13] [D14] [D16] [D18] waits for a time, for an event that matches, and no longer than its timeout', async () => {
    const { engine, made } = await open({
      nodes: [
        {
          id: 'reply',
          type: 'wait-for-event',
          config: {
            mode: 'event',
            event: 'inbox.message.received',
            match: { conversationId: cel`input.id` },
          },
          timeout: '1h',
        },
        noted('heard', {}, { text: cel`reply.text` }),
        noted('late'),
      ],
      edges: [
        { from: 'trigger', to: 'reply' },
        { from: 'reply', to: 'heard' },
        { from: 'reply', to: 'late', when: 'timeout' },
      ],
    })
    await engine.emit('inbox.message.received', { conversationId: 'c1', text: 'too early' })
    const [one, two, other] = await Promise.all(
      ['c1', 'c1', 'c2'].map((id) => engine.start(made, { id })),
    )
    for (const each of [one, two, other]) {
      await eventually(async () => (await each?.get())?.status).toBe('waiting')
    }
    expect(await one?.get()).toMatchObject({ status: 'waiting', reason: 'event' })
    await engine.emit('inbox.message.received', { conversationId: 'c1', text: 'hello' })
    expect(await one?.result()).toMatchObject({ heard: 'hello' })
    expect(await two?.result()).toMatchObject({ heard: 'hello' })
    expect(await other?.status()).toBe('waiting')
    await world.advance(3_600_000)
    expect(await other?.result()).toMatchObject({ late: 'late' })
  })

  test('[D15] waits until a condition is true, and looks again after each pause', async () => {
    let stock = 0
    const count = task(fresh('count'), async (_: unknown) => ({ stock: ++stock }))
    const { engine, made } = await open(
      {
        nodes: [
          {
            id: 'full',
            type: 'wait-for-event',
            config: {
              mode: 'condition',
              if: cel`polled.stock >= 3`,
              every: '1min',
              poll: { task: count.name },
            },
          },
          noted('go'),
        ],
        edges: chain('trigger', 'full', 'go'),
      },
      [count] as never,
    )
    const handle = await engine.start(made, {})
    for (const times of [1, 2]) {
      await eventually(() => stock).toBe(times)
      await eventually(() => handle.get()).toMatchObject({ status: 'waiting', reason: 'timer' })
      await world.advance(60_000)
    }
    expect(await handle.result()).toMatchObject({ go: 'go' })
    expect(stock).toBe(3)
  })

  describe('a node that fails', () => {
    test('[D31] inside a try-catch runs its catch with the error, and the run goes on', async () => {
      const { output } = await run({
        nodes: [
          { id: 'safe', type: 'try-catch' },
          noted('pay', { parent: 'safe', retry: 3 }, { fail: 9 }),
          noted(
            'tell',
            { parent: 'safe' },
            {
              text: cel`error.nodeId + ": " + error.message + " (" + error.nodeType + ", " + error.category + ")"`,
            },
          ),
          noted('next'),
        ],
        edges: [...chain('trigger', 'safe', 'next'), { from: 'safe', to: 'tell', when: 'catch' }],
      })
      // [D35] the try-catch counts, and the retry directly on the node does not.
      expect(calls).toEqual(['pay', 'pay: refused pay (test.note, error)', 'next'])
      expect(output).toMatchObject({ next: 'next' })
    })

    test('is caught: the log calls the try-catch completed, unless its catch fails or is for other errors', async () => {
      const statuses = async (fail: number, categories: readonly string[]) => {
        const { engine, made } = await open({
          nodes: [
            { id: 'safe', type: 'try-catch', config: { categories } },
            noted('pay', { parent: 'safe' }, { fail: 9 }),
            noted('tell', { parent: 'safe' }, { fail }),
          ],
          edges: [...chain('trigger', 'safe'), { from: 'safe', to: 'tell', when: 'catch' }],
        })
        const handle = await engine.start(made, {})
        await handle.result().catch(() => {})
        const log = await engine.nodes(handle.id)
        const { message } = log.find(({ node }) => node === 'safe')?.error ?? {}
        const ends = ['pay', 'safe', 'tell'].map(
          (id) => log.find(({ node }) => node === id)?.status,
        )
        return [...ends, message]
      }
      expect(await statuses(0, ['error'])).toEqual([
        'failed',
        'completed',
        'completed',
        'refused pay',
      ])
      expect(await statuses(9, ['error'])).toEqual(['failed', 'failed', 'failed', 'refused tell'])
      expect(await statuses(0, ['http'])).toEqual(['failed', 'failed', 'skipped', 'refused pay'])
    })

    test('[D32] [D35] inside a retry is run again with what is beside it, and then the next handler is asked', async () => {
      const { engine, made } = await open({
        nodes: [
          { id: 'safe', type: 'try-catch' },
          {
            id: 'steady',
            type: 'retry',
            parent: 'safe',
            config: { attempts: 2, delay: '1s', backoff: 'fixed' },
          },
          noted('before', { parent: 'steady' }),
          noted('pay', { parent: 'steady' }, { fail: 9 }),
          noted('tell', { parent: 'safe' }),
        ],
        edges: [
          ...chain('trigger', 'safe'),
          ...chain('before', 'pay'),
          { from: 'safe', to: 'tell', when: 'catch' },
        ],
      })
      const handle = await engine.start(made, {})
      for (const times of [2, 4]) {
        await eventually(() => calls.length).toBe(times)
        await eventually(() => handle.status()).toBe('waiting')
        await world.advance(1_000)
      }
      await handle.result()
      expect(calls).toEqual(['before', 'pay', 'before', 'pay', 'before', 'pay', 'tell'])
    })

    test('[D33] [D34] without either runs the on-error of the graph; without one fails the run with its own error', async () => {
      const nodes = [noted('a'), noted('pay', {}, { fail: 9 }), noted('never')]
      const edges = chain('trigger', 'a', 'pay', 'never')
      const { output } = await run({
        nodes: [
          ...nodes,
          { id: 'oops', type: 'on-error' },
          noted('tell', {}, { text: cel`a + ": " + error.message` }),
        ],
        edges: [...edges, { from: 'oops', to: 'tell' }],
      })
      // It knows what the node that failed knew.
      expect(calls).toEqual(['a', 'pay', 'a: refused pay'])
      expect(output).toMatchObject({ oops: { error: { nodeId: 'pay' } }, tell: 'a: refused pay' })

      const { engine, made } = await open({ nodes, edges })
      const handle = await engine.start(made, {})
      const refusal = await refusalOf(handle.result())
      expect(refusal).toMatchObject({ code: 'WORKFLOW_FAILED' })
      expect(await handle.get()).toMatchObject({
        status: 'failed',
        error: { message: 'refused pay' },
      })
      expect((await handle.get()) as { error: { stack?: string } }).toHaveProperty('error.stack')
    })

    test('whose expression is wrong for the data fails with it, and is never taken for false', async () => {
      const { engine, made } = await open({
        nodes: [{ id: 'big', type: 'condition', config: { if: cel`input.n > 10` } }, noted('no')],
        edges: [
          { from: 'trigger', to: 'big' },
          { from: 'big', to: 'no', when: false },
        ],
      })
      const handle = await engine.start(made, {})
      await refusalOf(handle.result())
      expect(await kindsOf(engine, handle.id)).toContain('step.failed')
      expect(calls).toEqual([])
    })
  })

  test('loops over items one after the other, several at once, and while a condition is true', async () => {
    const { output, engine, handle } = await run(
      {
        nodes: [
          { id: 'start', type: 'set', config: { total: 0, n: 0 } },
          { id: 'each', type: 'loop', config: { items: cel`input.items` } },
          { id: 'add', type: 'set', parent: 'each', config: { total: cel`total + item` } },
          {
            id: 'beside',
            type: 'loop',
            config: { items: cel`input.items`, as: 'one', parallel: 2 },
          },
          noted('show', { parent: 'beside' }, { text: cel`one * 10` }),
          { id: 'count', type: 'loop', config: { while: cel`n < 3` } },
          { id: 'up', type: 'set', parent: 'count', config: { n: cel`n + 1` } },
        ],
        edges: chain('trigger', 'start', 'each', 'beside', 'count'),
      },
      { items: [1, 2, 3] },
    )
    expect(output).toMatchObject({ total: 6, n: 3, beside: [10, 20, 30] })
    expect(calls.sort()).toEqual(['10', '20', '30'])
    const facts = await all(engine.history(handle.id))
    expect(facts.map(({ kind }) => kind)).toContain('scope.ended')
  })

  test('[D19] [D20] times out after its time of execution, in which waits do not count, and after a day without an answer', async () => {
    const { engine, made } = await open({
      settings: { timeout: '10min' },
      nodes: [
        { id: 'rest', type: 'delay', config: { for: '3h' } },
        noted('pay', { retry: { attempts: 9, delay: '20min', maxDelay: '20min' } }, { fail: 9 }),
      ],
      edges: chain('trigger', 'rest', 'pay'),
    })
    const slow = await engine.start(made, {})
    await eventually(() => slow.status()).toBe('waiting')
    await world.advance(3 * 3_600_000)
    await eventually(() => calls.length).toBe(1)
    await eventually(async () => (await slow.get())?.status).toBe('waiting')
    await world.advance(10 * 60_000)
    await eventually(() => slow.status()).toBe('timed_out')

    const asked = await open({
      nodes: [
        { id: 'reply', type: 'wait-for-event', config: { mode: 'event', event: 'answered' } },
      ],
      edges: chain('trigger', 'reply'),
    })
    const unanswered = await asked.engine.start(asked.made, {})
    await eventually(() => unanswered.status()).toBe('waiting')
    await world.advance(24 * 3_600_000)
    await eventually(() => unanswered.status()).toBe('timed_out')
  })

  test('[D04] [D28] [D29] logs each node with its input, output, times and error, the variables after it, and those that were skipped', async () => {
    const { engine, made } = await open({
      nodes: [
        { id: 'first', type: 'set', config: { n: cel`input.n + 1` } },
        { id: 'big', type: 'condition', config: { if: cel`n > 10` } },
        noted('yes', { retry: { attempts: 1, delay: 0 } }, { fail: 1, text: cel`"n" + string(n)` }),
        noted('no'),
        noted('more'),
        { id: 'each', type: 'loop', config: { items: [1, 2] } },
        { id: 'seen', type: 'set', parent: 'each', config: { last: cel`item` } },
        { id: 'rest', type: 'delay', config: { for: '1h' } },
      ],
      edges: [
        ...chain('trigger', 'first', 'big'),
        { from: 'big', to: 'yes', when: true },
        { from: 'big', to: 'no', when: false },
        ...chain('no', 'more'),
        ...chain('yes', 'each', 'rest'),
      ],
    })
    const handle = await engine.start(made, { n: 10 })
    await eventually(async () => (await handle.get()).status).toBe('waiting')
    const statuses = async () =>
      Object.fromEntries(
        (await engine.nodes(handle.id)).map(({ path, node, status }) => [path + node, status]),
      )
    expect(await statuses()).toEqual({
      first: 'completed',
      big: 'completed',
      yes: 'completed',
      'each@1/seen': 'completed',
      'each@2/seen': 'completed',
      each: 'completed',
      rest: 'waiting',
      no: 'skipped',
      more: 'skipped',
    })
    const logs = await engine.nodes(handle.id)
    const yes = logs.find(({ node }) => node === 'yes')
    expect(yes).toMatchObject({
      type: 'test.note',
      attempt: 2,
      input: { text: 'n11' },
      output: 'n11',
    })
    expect(yes?.variables).toMatchObject({ n: 11, yes: 'n11' })
    expect(yes?.endedAt?.getTime()).toBeGreaterThanOrEqual(yes?.startedAt?.getTime() ?? 0)
    expect(logs[0]?.variables).toEqual({ n: 11 })
    await handle.cancel('enough')
    await eventually(() => handle.status()).toBe('cancelled')
    expect(await statuses()).toMatchObject({ rest: 'cancelled' })
    const info = await handle.get()
    expect(info.finishedAt?.getTime()).toBeGreaterThanOrEqual(info.startedAt?.getTime() ?? 0)
  })

  test('[D36] [D39] is cancelled while it waits, under the id that it has had all along', async () => {
    const { engine, made } = await open({
      nodes: [{ id: 'rest', type: 'delay', config: { for: '3h' } }, noted('never')],
      edges: chain('trigger', 'rest', 'never'),
    })
    const handle = await engine.start(made, {}, { id: fresh('order') })
    await eventually(() => handle.status()).toBe('waiting')
    await handle.cancel('not wanted')
    await eventually(() => handle.status()).toBe('cancelled')
    expect(calls).toEqual([])
  })

  test('[D21] calls services, with what is secret sent only where it belongs, and fails when they refuse', async () => {
    const heard: string[] = []
    const server = createServer((request, response) => {
      heard.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
      response.statusCode = request.url === '/down' ? 503 : 200
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ id: 7 }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    const { port } = server.address() as { port: number }
    const host = `127.0.0.1:${port}`
    const secrets = () => ({ value: 'Bearer key', hosts: [host] })
    const call = (id: string, path: string, more: object = {}) =>
      ({
        id,
        type: 'http',
        config: {
          url: `http://${host}${path}`,
          method: 'POST',
          headers: { authorization: { secret: 'KEY' } },
          body: { n: cel`input.n` },
        },
        ...more,
      }) as Nodes[number]
    const made = graph({
      id: fresh('graph'),
      nodes: [
        call('create', '/things'),
        { id: 'safe', type: 'try-catch' },
        call('down', '/down', { parent: 'safe' }),
        {
          id: 'told',
          type: 'set',
          parent: 'safe',
          config: { why: cel`error.category + " " + error.message` },
        },
      ],
      edges: [...chain('trigger', 'create', 'safe'), { from: 'safe', to: 'told', when: 'catch' }],
    } as GraphJson)
    const http = { allow: [host], secrets }
    const engine = await world.open([made], { options: { http } } as never)
    const output = await (await engine.start(made, { n: 1 })).result()
    expect(output).toMatchObject({ create: { status: 200, body: { id: 7 } } })
    expect((output as { why: string }).why).toContain('http Node "down": POST')
    expect(heard).toEqual(['POST /things Bearer key', 'POST /down Bearer key'])
    const [first] = await engine.nodes(
      (await all(engine.list({ workflow: made.name as never })))[0]?.id ?? '',
    )
    expect(JSON.stringify(first)).not.toContain('Bearer')
    server.close()
    await engine.close()

    const blocked = await world.open([made])
    const refusal = await refusalOf((await blocked.start(made, { n: 1 })).result())
    expect(refusal.cause).toMatchObject({ code: 'HTTP_BLOCKED' })
  })

  test('returns early, cancels itself, and calls tasks', async () => {
    const double = task(fresh('double'), async (n: number) => n * 2)
    const { output } = await run(
      {
        nodes: [
          { id: 'twice', type: 'task', config: { task: double.name, input: cel`input.n` } },
          { id: 'rest', type: 'delay', config: { for: '3h' } },
          { id: 'out', type: 'return', config: { output: { got: cel`twice` } } },
        ],
        edges: [...chain('trigger', 'twice', 'out'), { from: 'trigger', to: 'rest' }],
      },
      { n: 4 },
      [double] as never,
    )
    expect(output).toEqual({ got: 8 })
    const { engine, made } = await open({
      nodes: [{ id: 'stop', type: 'cancel', config: { reason: cel`"n is " + string(input.n)` } }],
      edges: chain('trigger', 'stop'),
    })
    const handle = await engine.start(made, { n: 3 })
    await eventually(() => handle.status()).toBe('cancelled')
    expect((await handle.get()) as object).toMatchObject({
      error: { message: expect.stringContaining('n is 3') },
    })
  })
})
