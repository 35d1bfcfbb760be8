// Runs that other runs have started.

import { expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, kindsOf, refusalOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'children', (database) => {
  const world = worldOn(database)
  const childOf = async (
    engine: { list: (filter: object) => PromiseLike<{ items: readonly { id: string }[] }> },
    id: string,
  ) => {
    await eventually(async () => (await engine.list({ parentId: id })).items.length).toBe(1)
    return (await engine.list({ parentId: id })).items[0]?.id ?? ''
  }
  const ends = async (
    engine: { history: (id: string) => AsyncIterable<{ kind: string }> },
    id: string,
  ) => (await all(engine.history(id))).filter(({ kind }) => kind === 'child.ended')

  test('[P29] the step of a child workflow ends with the output of the child', async () => {
    const inner = workflow(fresh('inner'), async (wf, n: number) => wf.do('add', () => n + 1))
    const outer = workflow(fresh('outer'), async (wf) => [
      await wf.do('inner', inner, 1),
      await wf.do('inner', inner, 2),
    ])
    const engine = await world.open([outer, inner])
    const run = await engine.start(outer)
    expect(await run.result()).toEqual([2, 3])
    const children = (await engine.list({ parentId: run.id, order: 'oldest' })).items
    expect(children).toMatchObject([
      { workflow: inner.name, parentId: run.id, status: 'completed', output: 2 },
      { workflow: inner.name, parentId: run.id, status: 'completed', output: 3 },
    ])
  })

  test('[P29] the failure of a child fails the step with its error', async () => {
    const inner = workflow(fresh('inner'), async (wf) =>
      wf.do('charge', () => Promise.reject(new RangeError('no money'))),
    )
    const outer = workflow(fresh('outer'), async (wf, catches: boolean) => {
      if (!catches) return wf.do('inner', inner)
      return wf.do('inner', inner).catch((error: Error) => `${error.name}: ${error.message}`)
    })
    const engine = await world.open([outer, inner])
    expect(await engine.run(outer, true)).toMatchObject({ output: 'RangeError: no money' })
    expect(await engine.run(outer, false)).toMatchObject({
      status: 'failed',
      error: { name: 'RangeError', message: 'no money' },
    })
  })

  test('[P29] the cancellation of a child fails the step with WORKFLOW_CANCELLED and the reason', async () => {
    const inner = workflow(fresh('inner'), async (wf) => wf.waitFor('never'))
    const outer = workflow(fresh('outer'), async (wf) =>
      wf.do('inner', inner).catch((error: { code: string; message: string }) => error),
    )
    const engine = await world.open([outer, inner])
    const run = await engine.start(outer)
    await engine.cancel(await childOf(engine, run.id), 'not needed')
    const caught = (await run.result()) as { code: string; message: string }
    expect([caught.code, caught.message]).toEqual([
      'WORKFLOW_CANCELLED',
      expect.stringContaining('not needed'),
    ])
  })

  test('[P29] a waiting child keeps the parent waiting, with nothing held', async () => {
    const inner = workflow(fresh('inner'), async (wf) => wf.waitFor('go'))
    const outer = workflow(fresh('outer'), async (wf) => wf.do('inner', inner))
    const engine = await world.open([outer, inner])
    const run = await engine.start(outer)
    const child = await childOf(engine, run.id)
    await eventually(() => world.row(child)).toMatchObject({ status: 'waiting', reason: 'signal' })
    const parked = { status: 'waiting', reason: 'child', owner: null, dueAt: null }
    await eventually(() => world.row(run.id)).toMatchObject(parked)
    await world.advance(30 * 86_400_000)
    expect(await run.get()).toMatchObject({
      status: 'waiting',
      reason: 'child',
      children: [{ id: child, workflow: inner.name, status: 'waiting' }],
    })
    await engine.signal(child, 'go', 'went')
    expect(await run.result()).toBe('went')
  })

  test('[P30] an unknown task leaves the parent waiting and the child pending, both name it, and it goes on after deployment', async () => {
    const elsewhere = task(fresh('elsewhere'), async (n: number) => n * 2)
    const outer = workflow(fresh('outer'), async (wf) => wf.do('call', elsewhere.name, 21))
    const engine = await world.open([outer])
    const run = await engine.start(outer)
    const child = await childOf(engine, run.id)
    await eventually(() => run.get()).toMatchObject({
      status: 'waiting',
      reason: 'child',
      children: [{ id: child, workflow: elsewhere.name, status: 'pending' }],
    })
    expect(await engine.get(child)).toMatchObject({
      status: 'pending',
      workflow: elsewhere.name,
      parentId: run.id,
    })
    const told = await engine.explain(run.id)
    expect([told.reason, told.sentence]).toEqual(['child', expect.stringContaining(elsewhere.name)])
    const toldOfChild = await engine.explain(child)
    expect([toldOfChild.reason, toldOfChild.sentence]).toEqual([
      'missing-code',
      expect.stringContaining(elsewhere.name),
    ])
    await world.open([elsewhere])
    expect(await run.result()).toBe(42)
  })

  test.each([{ framesMax: 100 }, { framesMax: 0 }])(
    '[X06] a child that ends before the parent waits for it is applied once ($framesMax kept frames)',
    async ({ framesMax }) => {
      const ended = gate()
      const quick = task(fresh('quick'), async () => 'quick')
      const outer = workflow(fresh('outer'), async (wf) => {
        const early = wf.do('early', quick)
        await wf.do('busy', () => ended.passed)
        await wf.sleep('pause', 40)
        return [await early, await early]
      })
      const engine = await world.open([outer, quick], { kernel: { framesMax } })
      const run = await engine.start(outer)
      const child = await childOf(engine, run.id)
      await engine.handle(quick, child).result()
      expect((await world.row(run.id)).status).toBe('running')
      ended.open()
      expect(await run.result()).toEqual(['quick', 'quick'])
      expect(await ends(engine, run.id)).toHaveLength(1)
      expect(await world.messages(run.id)).toEqual([
        { kind: 'child', takenSeq: expect.any(Number) },
      ])
    },
  )

  test('[X06] a child exists if and only if the commit of the parent that asked for it was made', async () => {
    const step = fresh('refused')
    const quick = task(fresh('quick'), async () => 'quick')
    const outer = workflow(fresh('outer'), async (wf) => wf.do(step, quick))
    const engine = await world.open([outer, quick])
    const allow = await world.refuse('child.started', step)
    const run = await engine.start(outer)
    expect((await refusalOf(run.result())).code).toBe('WORKFLOW_FAILED')
    expect((await engine.list({ parentId: run.id })).items).toEqual([])
    const kinds = await kindsOf(engine, run.id)
    expect(kinds).toEqual(['run.created', 'run.failed'])
    await allow()
    await engine.retry(run.id)
    expect(await run.result()).toBe('quick')
    expect((await engine.list({ parentId: run.id })).items).toHaveLength(1)
  })

  test.each([
    { how: 'heeds its signal', heeds: true },
    { how: 'finishes all the same', heeds: false },
  ])(
    '[X08] a run cancelled during a step that $how ends as cancelled, and its parent is told once',
    async ({ heeds }) => {
      const running = gate()
      const finish = gate<string>()
      const reasons: unknown[] = []
      const inner = workflow(fresh('inner'), async (wf) => {
        const first = await wf.do('long', async (step) => {
          step.signal.addEventListener('abort', () => {
            reasons.push((step.signal.reason as { code: string }).code)
            finish.open('late')
          })
          running.open()
          const result = await finish.passed
          if (heeds) throw step.signal.reason
          return result
        })
        await wf.do('next', () => void reasons.push('next ran'))
        return first
      })
      const outer = workflow(fresh('outer'), async (wf) =>
        wf.do('inner', inner).catch((error: { code: string }) => error.code),
      )
      const engine = await world.open([outer, inner])
      const run = await engine.start(outer)
      const child = await childOf(engine, run.id)
      await running.passed
      const cancelledAt = performance.now()
      await engine.cancel(child, 'enough')
      await engine.cancel(child, 'enough again')
      expect(await run.result()).toBe('WORKFLOW_CANCELLED')
      // By the AbortSignal, not because the time for heeding it was over (5 s).
      expect(performance.now() - cancelledAt).toBeLessThan(4_500)
      expect(await engine.get(child)).toMatchObject({
        status: 'cancelled',
        error: { message: 'enough' },
      })
      expect(reasons).toEqual(['WORKFLOW_CANCELLED'])
      expect(await ends(engine, run.id)).toHaveLength(1)
      const mail = await world.messages(run.id)
      expect(mail.filter(({ kind }) => kind === 'child')).toHaveLength(1)
      const kinds = await kindsOf(engine, child)
      expect(kinds.filter((kind) => kind.startsWith('run.'))).toEqual([
        'run.created',
        'run.cancelled',
      ])
    },
  )

  test('[X08] a cancelled run takes its open children with it', async () => {
    const inner = workflow(fresh('inner'), async (wf) => wf.waitFor('never'))
    const outer = workflow(fresh('outer'), async (wf) => wf.do('inner', inner))
    const engine = await world.open([outer, inner])
    const run = await engine.start(outer)
    const child = await childOf(engine, run.id)
    await eventually(() => world.row(run.id)).toMatchObject({ reason: 'child' })
    await run.cancel('enough')
    expect((await refusalOf(run.result())).code).toBe('WORKFLOW_CANCELLED')
    await eventually(() => engine.get(child)).toMatchObject({ status: 'cancelled' })
  })
})
