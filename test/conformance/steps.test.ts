// Steps: where they run, and that a recorded one does not run again.

import { describe, expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'steps', (database) => {
  const world = worldOn(database)

  test('[P01] start gives a handle with the id before any step has run, and the run is taken up', async () => {
    const order: string[] = []
    const hello = workflow(fresh('hello'), async (wf) =>
      wf.do('greet', () => {
        order.push('step')
        return 'hi'
      }),
    )
    const engine = await world.open([hello])
    const id = fresh()
    const run = await engine.start(hello, undefined, { id })
    order.push('handle')
    expect([run.id, await run.result(), order]).toEqual([id, 'hi', ['handle', 'step']])
  })

  test('[P01] start stores one pending run that is due, for whichever worker comes', async () => {
    const hello = workflow(fresh('hello'), async (wf) => wf.do('greet', () => 'hi'))
    const client = await world.open([hello], { options: { worker: false } })
    const before = await world.counts()
    const run = await client.start(hello)
    const after = await world.counts()
    expect(after).toEqual({
      ...before,
      runs: Number(before.runs) + 1,
      journal: Number(before.journal) + 1,
    })
    const row = await world.row(run.id)
    expect(row).toMatchObject({ status: 'pending', owner: null, epoch: 0, seq: 1 })
    expect(row.dueAt).toBeLessThanOrEqual(await world.now())
    await world.open([hello])
    expect(await run.result()).toBe('hi')
  })

  test('[P02] a queued step is a run of its own that any worker may take, and its caller holds nothing', async () => {
    const running = gate()
    const goOn = gate()
    const createUser = task(fresh('createUser'), async (user: { email: string }) => {
      running.open()
      await goOn.passed
      return { id: 1, ...user }
    })
    const signup = workflow(fresh('signup'), async (wf, email: string) =>
      wf.do('Create user', createUser.name, { email }),
    )
    const orchestrator = await world.open([signup])
    const run = await orchestrator.start(signup, 'ada@b.c')
    const parked = { status: 'waiting', reason: 'child', owner: null }
    await eventually(() => world.row(run.id)).toMatchObject(parked)
    const { items } = await orchestrator.list({ parentId: run.id })
    const child = items[0]?.id ?? ''
    expect(await world.row(child)).toMatchObject({ status: 'pending', owner: null })

    await world.open([createUser])
    await running.passed
    expect(await world.row(run.id)).toMatchObject(parked)
    expect(await world.row(child)).toMatchObject({ status: 'running', owner: expect.any(String) })
    goOn.open()
    expect(await run.result()).toEqual({ id: 1, email: 'ada@b.c' })
  })

  test.each([
    { framesMax: 100, bodies: 1, how: 'from its kept frame' },
    { framesMax: 0, bodies: 3, how: 'by replay from the top' },
  ])(
    '[P03] when a queued step ends the run goes on $how, and no step runs twice',
    async ({ framesMax, bodies }) => {
      const ran: string[] = []
      let called = 0
      const double = task(fresh('double'), async (n: number) => {
        ran.push(`double ${n}`)
        return n * 2
      })
      const chain = workflow(fresh('chain'), async (wf) => {
        called += 1
        const two = await wf.do('first', double, 1)
        const three = await wf.do('inline', () => {
          ran.push('inline')
          return two + 1
        })
        return [two, three, await wf.do('second', double, three)]
      })
      const engine = await world.open([chain, double], { kernel: { framesMax } })
      const run = await engine.start(chain)
      expect(await run.result()).toEqual([2, 3, 6])
      expect(ran).toEqual(['double 1', 'inline', 'double 3'])
      expect(called).toBe(bodies)
      expect(engine.counters['frame.reused']).toBe(framesMax > 0 ? 2 : 0)
      expect(engine.counters['frame.replayed']).toBe(framesMax > 0 ? 0 : 2)
    },
  )

  test('[P04] an inline step runs at once in its own run, is stored, and no replay calls it again', async () => {
    const stamp = fresh('stamp')
    let called = 0
    const inline = workflow(fresh('inline'), async (wf) => {
      const first = await wf.do('stamp', () => {
        called += 1
        return { stamp, at: new Date(1_000) }
      })
      await wf.sleep('a moment', 500)
      await wf.sleep('another', 500)
      return first
    })
    const engine = await world.open([inline], { kernel: { framesMax: 0 } })
    const run = await engine.start(inline)
    expect(await run.result()).toEqual({ stamp, at: new Date(1_000) })
    expect(called).toBe(1)
    expect(engine.counters['frame.replayed']).toBe(2)
    expect((await engine.list({ parentId: run.id })).items).toEqual([])
    const stored = (await all(engine.history(run.id))).filter(
      ({ name, kind }) => name === 'stamp' && kind !== 'step.asked',
    )
    expect(stored).toMatchObject([{ kind: 'step.completed', output: { stamp }, attempt: 1 }])
  })

  test('[P07] without retries a step is executed once, inline and queued, however long one waits', async () => {
    const ran: string[] = []
    const fail = (what: string) => {
      ran.push(what)
      throw new Error(`${what} is down`)
    }
    const queued = task(fresh('queued'), async () => fail('queued'))
    const both = workflow(fresh('both'), async (wf) => {
      const inline = wf.do('inline', () => fail('inline'), { retries: 0 })
      const child = wf.do('queued', queued, undefined, { retries: 0 })
      const plain = wf.do('plain', () => fail('plain'))
      const settled = await Promise.allSettled([inline, child, plain])
      return settled.map((one) => (one.status === 'rejected' ? String(one.reason) : 'completed'))
    })
    const engine = await world.open([both, queued])
    const run = await engine.start(both)
    expect(await run.result()).toEqual([
      'Error: inline is down',
      'Error: queued is down',
      'Error: plain is down',
    ])
    await world.advance(86_400_000)
    await (await engine.start(both)).result()
    expect(ran.filter((what) => what === 'queued')).toHaveLength(2)
    expect(ran.filter((what) => what === 'inline')).toHaveLength(2)
    const failures = (await all(engine.history(run.id))).filter(
      ({ kind }) => kind === 'step.failed',
    )
    expect(failures.map(({ until }) => until)).toEqual([undefined, undefined])
  })

  describe.each([
    { framesMax: 100, how: 'from memory' },
    { framesMax: 0, how: 'from the journal' },
  ])('$how', ({ framesMax }) => {
    test('[P28] 0, false, the empty text and null come back unchanged', async () => {
      const values = [0, false, '', null]
      const echo = task(fresh('echo'), async (value: unknown) => value)
      const one = workflow(fresh('one'), async (_wf, value: unknown) => value)
      const echoing = workflow(fresh('echoing'), async (wf) => {
        const seen: unknown[] = []
        for (const value of values) {
          seen.push(await wf.do('inline', () => value))
          seen.push(await wf.do('queued', echo, value))
        }
        return seen
      })
      const engine = await world.open([echoing, echo, one], { kernel: { framesMax } })
      const run = await engine.start(echoing)
      expect(await run.result()).toEqual(values.flatMap((value) => [value, value]))
      const stored = (await all(engine.history(run.id))).filter(({ kind }) =>
        ['step.completed', 'child.ended'].includes(kind),
      )
      expect(stored.map(({ output }) => output)).toEqual(values.flatMap((value) => [value, value]))
      for (const value of values) {
        const outcome = await engine.run(one, value)
        expect(outcome).toMatchObject({ status: 'completed' })
        expect(outcome.output).toEqual(value)
        expect((await engine.get(outcome.id))?.output).toBe(value)
      }
    })
  })
})
