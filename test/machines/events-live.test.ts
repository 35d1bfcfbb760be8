// Event machines on real databases: send, timeouts, snapshots, what listeners hear.

import { expect, test } from 'vitest'
import { type Engine, machine, typed } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, refusalOf, worldOn } from '../support/world.js'

/** Events that count: each is in the history, whatever else is kept of it. */
async function takenBy(engine: Engine, id: string): Promise<number> {
  return (await all(engine.history(id))).filter(({ kind }) => kind === 'message.taken').length
}

describeOn(['pglite', 'postgres18', 'redis'], 'an event machine', (database) => {
  const world = worldOn(database)

  const counter = () =>
    machine(fresh('counter'), {
      initial: 'counting',
      context: { count: 0 },
      events: { ADD: typed<{ by: number }>(), STOP: typed<object>() },
      states: {
        counting: {
          on: {
            ADD: {
              actions: ({ context, event }) => {
                context.count += event.by
              },
            },
            STOP: 'stopped',
          },
        },
        stopped: { final: true },
      },
    })

  test('[N01] [N05] is created by its first event, and answers when it is at rest again', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const id = fresh('c')
    const sent = await engine.send(definition, id, { type: 'ADD', by: 2 })
    expect(sent).toEqual({
      id,
      state: 'counting',
      transitions: 1,
      done: false,
      snapshot: {
        schema: 'durable-workflow-snapshot',
        version: 1,
        engine: 'perdure',
        state: 'counting',
        status: 'active',
        context: { count: 2 },
      },
    })
    const other = await engine.send(definition, fresh('c'), { type: 'ADD', by: 1 })
    expect(other.snapshot.context).toEqual({ count: 1 })
    expect(await engine.get(id)).toMatchObject({
      place: 'counting',
      state: { count: 2 },
      kind: 'machine',
    })
  })

  test('an event for a machine that waits here is one commit', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const id = fresh('c')
    // The first creates it; the second shows that its action stays inside.
    for (const by of [1, 2]) await engine.send(definition, id, { type: 'ADD', by })
    const before = { ...engine.counters }
    const sent = await engine.send(definition, id, { type: 'ADD', by: 3 }, { id: 'third' })
    expect(sent.snapshot.context).toEqual({ count: 6 })
    expect(engine.counters['message.brought'] - before['message.brought']).toBe(1)
    expect(engine.counters['commit.deltas'] - before['commit.deltas']).toBe(1)
    expect(await world.row(id)).toMatchObject({ status: 'waiting', reason: 'signal', owner: null })
    // Its id is known, whichever way it comes.
    const again = await engine.send(definition, id, { type: 'ADD', by: 3 }, { id: 'third' })
    expect(again.snapshot.context).toEqual({ count: 6 })
    expect((await world.messages(id)).every(({ takenSeq }) => (takenSeq ?? 0) > 0)).toBe(true)
  })

  test('events that come while one is stored go together, in the order in which they came', async () => {
    const definition = machine(fresh('list'), {
      initial: 'open',
      context: { got: [] as number[] },
      events: { PUT: typed<{ n: number }>() },
      states: {
        open: {
          on: { PUT: { actions: ({ context, event }) => void context.got.push(event.n) } },
        },
      },
    })
    const engine = await world.open([definition])
    const id = fresh('l')
    for (const n of [-2, -1]) await engine.send(definition, id, { type: 'PUT', n })
    const before = { ...engine.counters }
    const numbers = Array.from({ length: 40 }, (_, n) => n)
    const sent = await Promise.all(
      numbers.map((n) => engine.send(definition, id, { type: 'PUT', n })),
    )
    expect(sent.map(({ snapshot }) => (snapshot.context as { got: number[] }).got.at(-1))).toEqual(
      numbers,
    )
    expect(engine.counters['message.brought'] - before['message.brought']).toBe(40)
    expect(engine.counters['commit.deltas'] - before['commit.deltas']).toBeLessThan(10)
  })

  test('an event that is sent again while it is on its way counts once', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const id = fresh('c')
    for (const by of [1, 1]) await engine.send(definition, id, { type: 'ADD', by })
    const before = engine.counters['message.brought']
    const add = (given: { id: string }) =>
      engine.send(definition, id, { type: 'ADD', by: 1 }, given)
    const given = ['a', 'a', 'b', 'c', 'b', 'c', 'a']
    const sent = await Promise.all(given.map((one) => add({ id: one })))
    const counts = sent.map(({ snapshot }) => (snapshot.context as { count: number }).count)
    expect(counts).toEqual([3, 3, 4, 5, 4, 5, 3])
    expect(engine.counters['message.brought'] - before).toBe(3)
    expect(await takenBy(engine, id)).toBe(5)
  })

  test('an event that meets what another process has done counts once, and goes as any other', async () => {
    const definition = counter()
    const [here, there] = [await world.open([definition]), await world.open([definition])]
    const id = fresh('c')
    for (const by of [1, 1]) await here.send(definition, id, { type: 'ADD', by })
    for (const by of [1, 1]) await there.send(definition, id, { type: 'ADD', by })
    const sent = await here.send(definition, id, { type: 'ADD', by: 1 })
    expect(sent.snapshot.context).toEqual({ count: 5 })
    expect(here.counters['message.unbrought']).toBe(1)
    expect(await takenBy(here, id)).toBe(5)
  })

  test('[N02] [N03] [N04] applies a hundred at once, from two processes, one after the other and none twice', async () => {
    const definition = counter()
    const engines = [await world.open([definition]), await world.open([definition])]
    const id = fresh('c')
    let created = 0
    for (const engine of engines) {
      engine.on('workflow.created', (event) => {
        if (event.runId === id) created += 1
      })
    }
    const sent = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        engines[i % 2]?.send(definition, id, { type: 'ADD', by: 1 }),
      ),
    )
    const counts = sent.map((one) => Number(one?.snapshot.context.count)).sort((a, b) => a - b)
    expect(counts).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
    expect((await engines[0]?.get(id))?.state).toEqual({ count: 100 })
    await eventually(async () => created).toBe(1)
  })

  test('with an id applies an event once', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const id = fresh('c')
    await engine.send(definition, id, { type: 'ADD', by: 1 })
    const first = await engine.send(definition, id, { type: 'ADD', by: 5 }, { id: 'request-1' })
    await engine.send(definition, id, { type: 'ADD', by: 1 })
    const again = await engine.send(definition, id, { type: 'ADD', by: 5 }, { id: 'request-1' })
    expect(again).toEqual(first)
    expect((await engine.get(id))?.state).toEqual({ count: 7 })
  })

  test('[N10] [N11] changes nothing for an event that has no rule, or when it has ended', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const id = fresh('c')
    await engine.send(definition, id, { type: 'ADD', by: 1 })
    const before = await all(engine.history(id))
    const loose = engine as unknown as { send(...args: readonly unknown[]): Promise<object> }
    expect(await loose.send(definition, id, { type: 'UNKNOWN' })).toMatchObject({
      state: 'counting',
      transitions: 0,
      done: false,
    })
    expect(await all(engine.history(id))).toEqual(before)
    expect(await engine.send(definition, id, { type: 'STOP' })).toMatchObject({
      state: 'stopped',
      done: true,
      transitions: 1,
      snapshot: { status: 'done' },
    })
    expect(await engine.send(definition, id, { type: 'ADD', by: 1 })).toMatchObject({
      state: 'stopped',
      done: true,
      transitions: 0,
      snapshot: { context: { count: 1 } },
    })
    expect(await engine.handle(definition, id).result()).toEqual({
      state: 'stopped',
      context: { count: 1 },
    })
  })

  test('[N07] [N08] [N12] [N13] [N21] [N23] drains what follows, awaits its actions in order, and tells of each transition', async () => {
    const order: string[] = []
    const note = (what: string) => async () => {
      await Promise.resolve()
      order.push(what)
    }
    const chain = machine(fresh('chain'), {
      initial: 'idle',
      context: {},
      states: {
        idle: {
          exit: note('exit idle'),
          on: { GO: { target: 'a', actions: [note('go'), note('went')] } },
        },
        a: { entry: note('entry a'), exit: note('exit a'), always: 'b' },
        b: { entry: note('entry b'), always: [{ guard: () => false, target: 'idle' }, 'c'] },
        c: { entry: note('entry c') },
      },
    })
    const engine = await world.open([chain])
    const told: unknown[] = []
    const states: unknown[] = []
    engine.on('workflow.created', () => void told.push('created'))
    engine.on('workflow.transition', async ({ runId, from, to, event, payload }) => {
      states.push((await engine.get(runId))?.place)
      told.push([from, to, event, payload])
    })
    const id = fresh('chain')
    const sent = await engine.send(chain, id, { type: 'GO', fast: true })
    expect(sent).toMatchObject({ state: 'c', transitions: 3 })
    expect(order).toEqual(['exit idle', 'go', 'went', 'entry a', 'exit a', 'entry b', 'entry c'])
    await eventually(async () => told).toEqual([
      'created',
      ['idle', 'a', 'GO', { fast: true }],
      ['a', 'b', 'GO', { fast: true }],
      ['b', 'c', 'GO', { fast: true }],
    ])
    expect(states).toEqual(['c', 'c', 'c'])
    const { items } = await engine.history(id, { order: 'oldest' })
    expect(items.flatMap(({ transitions = [] }) => transitions)).toEqual([
      { from: 'idle', to: 'a', event: 'GO' },
      { from: 'a', to: 'b', event: 'GO' },
      { from: 'b', to: 'c', event: 'GO' },
    ])
    expect(items.find(({ transitions }) => transitions)?.input).toEqual({ fast: true })
  })

  test('[N06] [N09] [N26] leaves everything as it was when an event fails, and tells its sender', async () => {
    const fragile = machine(fresh('fragile'), {
      initial: 'idle',
      context: { n: 0, what: null as unknown },
      states: {
        idle: {
          on: {
            COUNT: { actions: ({ context }) => Object.assign(context, { n: context.n + 1 }) },
            THROW: {
              actions: ({ context }) => {
                context.n = 99
                throw new Error('no')
              },
            },
            DOUBT: { guard: () => 'yes' as unknown as boolean, target: 'idle' },
            SPIN: 'left',
            BREAK: { actions: ({ context }) => Object.assign(context, { what: () => {} }) },
          },
        },
        left: { always: 'right' },
        right: { always: 'left' },
      },
    })
    const engine = await world.open([fragile])
    const id = fresh('f')
    await engine.send(fragile, id, { type: 'COUNT' })
    await expect(engine.send(fragile, id, { type: 'THROW' })).rejects.toThrow('no')
    await expect(engine.send(fragile, id, { type: 'DOUBT' })).rejects.toThrow(/guard/)
    const deep = await refusalOf(engine.send(fragile, id, { type: 'SPIN' }))
    expect(deep.message).toContain('101')
    expect(deep.message).toContain('100')
    expect(deep.message).toContain(id)
    expect((await refusalOf(engine.send(fragile, id, { type: 'BREAK' }))).code).toBe(
      'VALUE_UNSTORABLE',
    )
    expect(await engine.get(id)).toMatchObject({
      status: 'waiting',
      place: 'idle',
      state: { n: 1 },
    })
    expect(await engine.send(fragile, id, { type: 'COUNT' })).toMatchObject({
      snapshot: { context: { n: 2 } },
    })
  })

  test('[N15] [N16] [N17] [N18] [N20] expires when it has stayed in a state for so long, once, and not otherwise', async () => {
    const picking = machine(fresh('picking'), {
      initial: 'idle',
      context: { timeouts: 0 },
      states: {
        idle: { on: { START: 'picking' } },
        picking: {
          timeoutMinutes: 30,
          on: {
            LOOK: { guard: () => false, target: 'idle' },
            DONE: 'packing',
            TIMEOUT: {
              target: 'expired',
              actions: ({ context }) => Object.assign(context, { timeouts: context.timeouts + 1 }),
            },
          },
        },
        packing: { on: { TIMEOUT: 'expired' } },
        expired: {},
      },
    })
    const engine = await world.open([picking])
    const other = await world.open([picking])
    const late: unknown[] = []
    for (const one of [engine, other]) {
      one.on('workflow.timeout.triggered', ({ runId, state }) => void late.push([runId, state]))
    }
    const [slow, quick] = [fresh('slow'), fresh('quick')]
    await engine.send(picking, slow, { type: 'START' })
    const expiry = async () => (await world.row(slow)).dueAt
    await eventually(() => expiry().then((at) => at !== null)).toBe(true)
    const entered = (await all(engine.history(slow))).findLast(({ kind }) => kind === 'round.ended')
    const due = await expiry()
    expect(due).toBe(Number(entered?.at) + 30 * 60_000)
    await engine.send(picking, slow, { type: 'LOOK' })
    await eventually(expiry).toBe(due)
    await engine.send(picking, quick, { type: 'START' })
    await engine.send(picking, quick, { type: 'DONE' })
    await world.advance(31 * 60_000)
    await eventually(async () => (await engine.get(slow))?.place).toBe('expired')
    expect(await engine.get(slow)).toMatchObject({ state: { timeouts: 1 } })
    expect(await engine.get(quick)).toMatchObject({ place: 'packing' })
    await eventually(async () => late).toEqual([[slow, 'picking']])
  })

  test('[N16] expires so long after it has entered a state, whatever rules without a target do there meanwhile', async () => {
    const noting = machine(fresh('noting'), {
      initial: 'open',
      context: { notes: 0, late: 0 },
      states: {
        open: {
          timeoutMinutes: 30,
          on: {
            NOTE: {
              actions: ({ context }) => Object.assign(context, { notes: context.notes + 1 }),
            },
            AGAIN: 'open',
            TIMEOUT: {
              actions: ({ context }) => Object.assign(context, { late: context.late + 1 }),
            },
          },
        },
      },
    })
    const engine = await world.open([noting], { kernel: { framesMax: 0 } })
    const id = fresh('n')
    const due = async () => (await world.row(id)).dueAt
    const isDue = () => eventually(async () => (await due()) !== null)
    await engine.start(noting, {}, { id })
    await isDue().toBe(true)
    const first = Number(await due())
    await world.advance(20 * 60_000)
    await engine.send(noting, id, { type: 'NOTE' })
    await eventually(due).toBe(first)
    await engine.send(noting, id, { type: 'AGAIN' })
    await eventually(async () => Number(await due())).toBeGreaterThan(first)
    await world.advance(31 * 60_000)
    await eventually(async () => (await engine.get(id))?.state).toEqual({ notes: 1, late: 1 })
    await eventually(due).toBe(null)
    expect((await engine.get(id))?.status).toBe('waiting')
  })

  test('[N22] goes on when a listener throws', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    engine.on('workflow.transition', () => {
      throw new Error('a listener')
    })
    const id = fresh('c')
    await engine.send(definition, id, { type: 'ADD', by: 1 })
    expect(await engine.send(definition, id, { type: 'ADD', by: 1 })).toMatchObject({
      transitions: 1,
    })
    await eventually(async () =>
      engine.lines.some((line) => line.includes('a listener of workflow.transition threw')),
    ).toBe(true)
  })

  test('[N24] refuses what it does not know, by name', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const loose = engine as unknown as { send(...args: readonly unknown[]): Promise<object> }
    expect((await refusalOf(loose.send({}, 'x', { type: 'ADD' }))).code).toBe('DEFINITION_UNKNOWN')
    expect((await refusalOf(loose.send(definition, 'x', 'ADD'))).message).toContain('{ type, … }')
    const other = counter()
    const both = await world.open([definition, other])
    const id = fresh('c')
    await both.send(definition, id, { type: 'ADD', by: 1 })
    expect((await refusalOf(both.send(other, id, { type: 'ADD', by: 1 }))).code).toBe('ID_TAKEN')
    expect((await both.get(id))?.state).toEqual({ count: 1 })
  })

  test('[N25] gives back copies', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const id = fresh('c')
    const sent = await engine.send(definition, id, { type: 'ADD', by: 1 })
    const { context } = sent.snapshot as { context: { count: number } }
    context.count = 1_000
    expect((await engine.send(definition, id, { type: 'ADD', by: 1 })).snapshot.context).toEqual({
      count: 2,
    })
  })

  test('[N14] goes on from a snapshot, and refuses what is none, each for its own reason', async () => {
    const definition = counter()
    const engine = await world.open([definition])
    const good = {
      schema: 'durable-workflow-snapshot',
      version: 1,
      engine: 'elsewhere',
      state: 'counting',
      status: 'active',
      context: { count: 41 },
    } as const
    const id = fresh('moved')
    await engine.start(definition, undefined, { id, snapshot: good })
    expect(await engine.get(id)).toMatchObject({ place: 'counting', state: { count: 41 } })
    expect(await engine.send(definition, id, { type: 'ADD', by: 1 })).toMatchObject({
      snapshot: { ...good, engine: 'perdure', context: { count: 42 } },
    })
    const rows = async () => (await world.counts()).runs
    const before = await rows()
    const bad: [object, string][] = [
      [{ ...good, schema: 'other' }, 'it is "other", version 1'],
      [{ ...good, version: 2 }, 'version 2'],
      [{ ...good, state: 'countin' }, 'no state "countin"'],
      [{ ...good, status: 'paused' }, 'its status is "paused"'],
      [{ ...good, context: 7 }, 'its context is 7'],
    ]
    for (const [snapshot, says] of bad) {
      const refused = await refusalOf(
        engine.start(definition, undefined, { snapshot: snapshot as typeof good }),
      )
      expect([refused.code, refused.message]).toEqual([
        'SNAPSHOT_INVALID',
        expect.stringContaining(says),
      ])
    }
    expect(await rows()).toBe(before)
  })

  test('[N19] [N20] expires others although one fails, tells of that, by hand too, and not without a worker', async () => {
    const fragile = machine(fresh('fragile'), {
      initial: 'idle',
      context: { isBroken: false },
      states: {
        idle: {
          timeoutMinutes: 1,
          on: {
            TIMEOUT: {
              target: 'expired',
              actions: ({ context, run }) => {
                if (context.isBroken) throw new Error(`${run.id} is broken`)
              },
            },
          },
        },
        expired: { final: true },
      },
    })
    const idle = await world.open([fragile], { options: { worker: false } })
    const broken = await idle.start(fragile, { isBroken: true })
    const others = await Promise.all([1, 2, 3].map(() => idle.start(fragile)))
    const engine = await world.open([fragile])
    const failures: string[] = []
    engine.on('step.failed', ({ error }) => void failures.push(error.message))
    for (const { id } of [broken, ...others])
      await eventually(async () => (await engine.get(id))?.status).toBe('waiting')
    await engine.close()
    await world.advance(61_000)
    await new Promise((resolve) => setTimeout(resolve, 300))
    for (const { id } of others) expect((await idle.get(id))?.place).toBe('idle')
    const again = await world.open([fragile])
    again.on('step.failed', ({ error }) => void failures.push(error.message))
    for (const { id } of others)
      await eventually(async () => (await again.get(id))?.place).toBe('expired')
    await eventually(async () => failures).toEqual([`${broken.id} is broken`])
    expect(await again.get(broken.id)).toMatchObject({ status: 'waiting', place: 'idle' })
    const byHand = fresh('f')
    await again.start(fragile, undefined, { id: byHand })
    const loose = again as unknown as { send(...args: readonly unknown[]): Promise<object> }
    expect(await loose.send(fragile, byHand, { type: 'TIMEOUT' })).toMatchObject({
      state: 'expired',
    })
  })

  test('leaves behind it what it has refused: it may be asked for years', async () => {
    const strict = machine(fresh('strict'), {
      initial: 'idle',
      context: {},
      states: { idle: { on: { LOOK: { guard: () => false, target: 'idle' } } } },
    })
    const engine = await world.open([strict], { kernel: { framesMax: 0 } })
    const id = fresh('s')
    for (let i = 0; i < 20; i += 1) {
      expect(await engine.send(strict, id, { type: 'LOOK' })).toMatchObject({ transitions: 0 })
    }
    const entries = await all(engine.history(id))
    const needed = entries.length - entries.findLastIndex(({ kind }) => kind === 'round.ended')
    expect(needed).toBeLessThan(5)
    expect((await engine.checkpoints(id)).items).toEqual([])
  })
})
