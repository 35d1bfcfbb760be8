// What a user interface shows beside the runs themselves, by the engine and by the client.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../src/client/index.js'
import { createHandler } from '../../src/http/index.js'
import { graph, machine, nodeType, type RunAt, typed, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, refusalOf, worldOn } from '../support/world.js'

const approval = z
  .object({ ok: z.boolean() })
  .meta({ title: 'Approve', description: 'Says yes or no.' })

const leave = workflow('leave', { signals: { approval } }, async (wf, input: { days: number }) => {
  await wf.documents.save('request', { days: input.days }, { key: 'only' })
  await wf.do('check', () => input.days)
  const { ok } = await wf.waitFor('approval')
  await wf.documents.save('request', { ok }, { key: 'only' })
  return ok
})
const flaky = workflow('flaky', async (wf) =>
  wf.do(
    'call',
    () => {
      throw Object.assign(new Error('the service is away'), { hint: 'start it' })
    },
    { retry: { attempts: 5, delay: '1h' } },
  ),
)
const again = workflow('again', async (wf, input: { fails: boolean }) => {
  await wf.do(
    'flip',
    ({ attempt }) => {
      if (attempt === 1) throw new Error('once')
    },
    { retry: { attempts: 2, delay: 1 } },
  )
  await wf.do('end', () => {
    if (input.fails) throw new Error('for good')
  })
})
const review = machine('review', {
  state: typed<{ n: number }>(),
  transitions: {
    begin: { to: 'reviewing', run: async () => ({ n: 1 }) },
    approve: {
      from: 'reviewing',
      to: 'sending',
      wait: true,
      run: async (state: { n: number }) => ({ n: state.n + 1 }),
    },
    send: {
      from: 'sending',
      to: 'end',
      retry: { place: 'broken', attempts: 1, delay: 1 },
      run: async () => {
        throw new Error('no mail')
      },
    },
    recover: { from: 'broken', to: 'end', wait: true, run: async () => 'done' },
  },
})
const scoring = graph({
  id: 'scoring',
  nodes: [
    { id: 'score', type: 'set', config: { points: { cel: 'input.n * 2' } } },
    { id: 'judge', type: 'set', config: { big: { cel: 'variables.points > 10' } } },
  ],
  edges: [
    { from: 'trigger', to: 'score' },
    { from: 'score', to: 'judge' },
  ],
})
const rate = nodeType(
  'acme.rateCustomer',
  { config: z.object({ customer: z.string() }), description: 'Rates a customer.' },
  () => 1,
)
const WORKFLOWS = [leave, flaky, again, review, scoring] as const

describeOn(['pglite', 'postgres18'], 'what people look at', (database) => {
  const world = worldOn(database)

  const opened = async () => {
    const engine = await world.open(WORKFLOWS, { options: { nodeTypes: [rate] } })
    const handler = createHandler(engine as never, { open: true, rateLimit: false })
    const fetch = (...args: ConstructorParameters<typeof Request>) => handler(new Request(...args))
    const client = createClient<typeof engine>('http://127.0.0.1:4114/', { fetch: fetch as never })
    return { engine, client }
  }

  test('the inbox has who waits for a person, with what can be sent and what is shown', async () => {
    const { engine, client } = await opened()
    const one = await engine.start(leave, { days: 3 }, { id: 'l-1', tags: { who: 'ada' } })
    const two = await engine.workspace('other').start(leave, { days: 9 }, { id: 'l-2' })
    await engine.start(flaky, undefined, { id: 'f-0' })
    for (const run of [one, two]) await eventually(() => run.status()).toBe('waiting')
    await eventually(() => engine.handle(flaky, 'f-0').status()).toBe('waiting')
    const items = await all(client.inbox({ limit: 1 }))
    expect(items).toStrictEqual(await all(engine.inbox()))
    expect(items).toMatchObject([
      {
        id: 'l-1',
        workflow: 'leave',
        kind: 'workflow',
        tags: { who: 'ada' },
        until: null,
        available: [
          { kind: 'signal', name: 'approval', title: 'Approve', description: 'Says yes or no.' },
        ],
        documents: [{ className: 'request', content: { days: 3 } }],
      },
    ])
    expect(items[0]?.available[0]?.schema).toMatchObject({ required: ['ok'] })
    expect(items[0]?.since).toEqual((await one.get()).updatedAt)
    const other = await all(client.inbox({ workspace: 'other', workflow: leave }))
    expect(other.map(({ id }) => id)).toEqual(['l-2'])
    const confined = engine.workspace('other').inbox as (options: object) => unknown
    expect(() => confined({ workspace: 'default' })).toThrow('confined')
    // Another process, which does not have the code, knows the names.
    const stranger = await world.open([], { options: { worker: false } })
    const [seen] = (await stranger.inbox()).items
    expect(seen?.available).toMatchObject([{ name: 'approval', schema: null, title: null }])
    await one.signal('approval', { ok: true })
    expect(await one.result()).toBe(true)
    expect((await client.inbox()).items).toEqual([])
  })

  test('a run that is tried again says in lists what it has asked for, and why it has failed', async () => {
    const { engine, client } = await opened()
    await engine.start(flaky, undefined, { id: 'f-1', tags: { team: 'blue whale' } })
    await eventually(() => engine.handle(flaky, 'f-1').status()).toBe('waiting')
    const [listed] = (await client.list({ workflow: flaky, text: 'blue wh' })).items
    expect(listed).toMatchObject({
      id: 'f-1',
      reason: 'retry',
      open: [
        {
          kind: 'step',
          name: 'call',
          attempt: 1,
          until: expect.any(Date),
          error: { message: 'the service is away', hint: 'start it' },
        },
      ],
    })
    expect(listed?.open).toStrictEqual((await engine.get('f-1'))?.open)
    const failed = (await client.history('f-1')).items.find(({ kind }) => kind === 'step.failed')
    expect(failed).toMatchObject({
      attempt: 1,
      startedAt: expect.any(Date),
      until: expect.any(Date),
      error: { hint: 'start it', stack: expect.stringContaining('insight.test') },
    })
  })

  test('lists are filtered by kind, also of definitions that this process does not have', async () => {
    const { engine, client } = await opened()
    await engine.start(review, undefined, { id: 'k-m', tags: { of: 'kinds' } })
    await engine.start(scoring, { n: 1 }, { id: 'k-g', tags: { of: 'kinds' } })
    await engine.start(again, { fails: false }, { id: 'k-w', tags: { of: 'kinds' } })
    const ids = async (kind: 'workflow' | 'task' | 'machine' | 'graph') =>
      (await all(client.list({ kind, tags: { of: 'kinds' } }))).map(({ id }) => id)
    expect(await ids('machine')).toEqual(['k-m'])
    expect(await ids('graph')).toEqual(['k-g'])
    expect(await ids('workflow')).toEqual(['k-w'])
    expect(await ids('task')).toEqual([])
    const stranger = await world.open([], { options: { worker: false } })
    const guessed = await stranger.list({ kind: 'workflow', tags: { of: 'kinds' } })
    expect(guessed.items.map(({ kind }) => kind)).toEqual(['workflow', 'workflow', 'workflow'])
    expect((await refusalOf(client.list({ kind: 'job' as never }))).code).toBe('REQUEST_INVALID')
  })

  test('activity counts what was started and has ended, bucket by bucket', async () => {
    const { engine, client } = await opened()
    const space = engine.workspace('busy')
    const from = new Date((await world.now()) - 1_000)
    for (const fails of [true, false, false]) {
      const run = await space.start(again, { fails })
      await eventually(() => run.status()).toBe(fails ? 'failed' : 'completed')
    }
    const run = await space.start(leave, { days: 1 })
    await run.cancel()
    await eventually(() => run.status()).toBe('cancelled')
    const to = new Date((await world.now()) + 60_000)
    const asked = { from, to, buckets: 4, workspace: 'busy' }
    const told = await client.activity(asked)
    expect(told).toStrictEqual(await engine.activity(asked))
    expect([told.from, told.to, told.items.length]).toEqual([from, to, 4])
    const sum = (name: 'started' | 'completed' | 'failed' | 'cancelled' | 'timedOut') =>
      told.items.reduce((total, item) => total + item[name], 0)
    expect([sum('started'), sum('completed'), sum('failed')]).toEqual([4, 2, 1])
    expect([sum('cancelled'), sum('timedOut')]).toEqual([1, 0])
    const [first] = (await space.activity({ from, to, buckets: 1, workflow: leave })).items
    expect(first).toEqual({
      ...{ at: from, started: 1, completed: 0, failed: 0, cancelled: 1, timedOut: 0 },
    })
    expect((await engine.workspace('idle').activity()).items).toHaveLength(48)
    const wrong = await refusalOf(engine.activity({ from: to, to: from }))
    expect(wrong.code).toBe('OPTION_INVALID')
  })

  test('steps have statistics, and say of how many runs', async () => {
    const { engine, client } = await opened()
    const space = engine.workspace('stats')
    for (const fails of [true, false, false]) {
      const run = await space.start(again, { fails })
      await eventually(() => run.status()).toBe(fails ? 'failed' : 'completed')
    }
    const stats = await client.stepStats(again, { workspace: 'stats' })
    expect(stats).toStrictEqual(await space.stepStats('again'))
    expect(stats).toMatchObject({
      workflow: 'again',
      runs: 3,
      isWhole: true,
      items: [
        { name: 'end', executions: 3, failures: 1, retries: 0, p50Ms: expect.any(Number) },
        { name: 'flip', executions: 3, failures: 0, retries: 3, p95Ms: expect.any(Number) },
      ],
    })
    const later = { from: new Date(Date.now() + 3_600_000) }
    expect(await space.stepStats(again, later)).toMatchObject({ runs: 0, items: [] })
  })

  test('a run can be seen as it was behind each entry', async () => {
    const { engine, client } = await opened()
    const run = await engine.start(leave, { days: 2 }, { id: 'at-1' })
    await eventually(() => run.status()).toBe('waiting')
    await run.signal('approval', { ok: true })
    await run.result()
    const entries = await all(engine.history('at-1'))
    const seen: RunAt[] = []
    for (const { seq } of entries) seen.push(await client.at('at-1', seq))
    expect(seen[0]).toMatchObject({ status: 'pending', input: { days: 2 }, documents: [] })
    const waited = seen[entries.findIndex(({ kind }) => kind === 'wait.opened')]
    expect(waited).toMatchObject({
      status: 'waiting',
      output: undefined,
      documents: [{ content: { days: 2 } }],
      open: [{ kind: 'wait', names: ['approval'] }],
    })
    expect(seen.at(-1)).toMatchObject({
      status: 'completed',
      output: true,
      documents: [{ content: { ok: true } }],
      open: [],
    })
    expect(await client.at('at-1')).toStrictEqual(seen.at(-1))
    expect(await engine.at('at-1')).toStrictEqual(seen.at(-1))
    expect((await refusalOf(engine.at('at-1', entries.length + 1))).code).toBe('OPTION_INVALID')
    expect((await refusalOf(engine.workspace('b').at('at-1'))).code).toBe('RUN_NOT_FOUND')
  })

  test('of a machine that has place, state and error, of a graph the variables of then', async () => {
    const { engine } = await opened()
    const run = await engine.start(review, undefined, { id: 'at-2' })
    await eventually(async () => (await run.get()).place).toBe('reviewing')
    await run.signal('approve')
    await eventually(async () => (await run.get()).place).toBe('broken')
    await eventually(() => run.status()).toBe('waiting')
    const entries = await all(engine.history('at-2'))
    const places: unknown[] = []
    for (const { seq, kind } of entries) {
      const { place, state, error } = await engine.at('at-2', seq)
      if (kind.startsWith('step.') || kind === 'run.created')
        places.push([kind, place, state, error?.message])
    }
    expect(places).toEqual([
      ['run.created', 'start', expect.anything(), undefined],
      ['step.completed', 'reviewing', { n: 1 }, undefined],
      ['step.completed', 'sending', { n: 2 }, undefined],
      ['step.failed', 'sending', { n: 2 }, 'no mail'],
      ['step.failed', 'broken', { n: 2 }, 'no mail'],
    ])
    const { place, state, error } = await run.get()
    expect(await engine.at('at-2')).toMatchObject({ place, state, error: { message: 'no mail' } })
    expect(error?.message).toBe('no mail')

    await (await engine.start(scoring, { n: 6 }, { id: 'at-3' })).result()
    const of = await all(engine.history('at-3'))
    const steps = of.filter(({ kind }) => kind === 'step.completed').map(({ seq }) => seq)
    const variables = await Promise.all(
      steps.map(async (seq) => (await engine.at('at-3', seq)).variables),
    )
    expect(variables).toEqual([{ points: 12 }, { points: 12, big: true }])
  })

  test('types of nodes have schemas, those of users too', async () => {
    const { engine } = await opened()
    const types = engine.nodeTypes()
    const find = (name: string) => types.find((type) => type.name === name)
    expect(find('wait-for-event')).toMatchObject({
      title: 'Wait for event',
      group: 'time',
      isBuiltIn: true,
      outputs: ['timeout'],
      config: { required: ['mode'], $defs: { expression: {} } },
    })
    expect([find('condition')?.outputs, find('switch')?.outputs]).toEqual([['true', 'false'], null])
    expect(find('acme.rateCustomer')).toMatchObject({
      title: 'Rate customer',
      group: 'acme',
      isBuiltIn: false,
      description: 'Rates a customer.',
      config: { required: ['customer'] },
    })
    const schema = find('loop')?.config
    expect(z.fromJSONSchema(schema as never).safeParse({ items: { cel: 'input.x' } }).success).toBe(
      true,
    )
  })

  test('an expression is checked where it stands, also in a graph that is not finished', async () => {
    const { engine, client } = await opened()
    const json = {
      id: 'half',
      nodes: [
        { id: 'score', type: 'set', config: { points: 1 } },
        { id: 'each', type: 'loop', config: { items: { cel: 'input.x' }, as: 'row' } },
        { id: 'inner', type: 'set', parent: 'each', config: { a: { cel: 'broken(' } } },
        { id: 'later', type: 'nothing' },
      ],
      edges: [
        { from: 'trigger', to: 'score' },
        { from: 'score', to: 'each' },
        { from: 'each', to: 'later' },
      ],
    }
    const at = { graph: json, node: 'inner' }
    const fine = await client.graphs.checkExpression('row.n > points && score != null', at)
    expect(fine).toMatchObject({ ok: true, error: null })
    expect([...fine.reads].sort()).toEqual(['points', 'row', 'score'])
    expect(fine.known).toEqual(
      expect.arrayContaining([
        { name: 'input', from: 'run' },
        { name: 'score', from: 'node' },
        { name: 'points', from: 'variable' },
        { name: 'row', from: 'around' },
      ]),
    )
    expect(fine.known.map(({ name }) => name)).not.toContain('later')
    const typo = engine.graphs.checkExpression('1 +\n  rows', at)
    expect(typo).toMatchObject({ ok: false, error: { position: 6, line: 2, column: 3 } })
    expect(typo.error?.message).toContain('did you mean "row"?')
    const broken = engine.graphs.checkExpression('input.n >', {})
    expect(broken).toMatchObject({ ok: false, error: { position: expect.any(Number), line: 1 } })
    const unseen = await refusalOf(
      client.graphs.checkExpression('1', { graph: json, node: 'nobody' }),
    )
    expect(unseen.code).toBe('OPTION_INVALID')
  })
})
