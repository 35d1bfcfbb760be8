// What is kept of a run, and how it ends.

import { expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, kindsOf, refusalOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'the record', (database) => {
  const world = worldOn(database)

  test('[P14] of a run holds id, workflow, status, times, input and output, and of each step result or error, attempts and times', async () => {
    const mail = task(fresh('mail'), async (to: string) => `to ${to}`)
    const order = workflow(fresh('order'), async (wf, input: { amount: number }) => {
      const paid = await wf.do(
        'charge',
        (step) => {
          if (step.attempt < 3) throw new Error(`refused ${step.attempt}`)
          return { paid: input.amount }
        },
        { retries: 2, retryDelay: 1 },
      )
      await wf.do('broken', () => Promise.reject(new TypeError('no'))).catch(() => {})
      await wf.do('mail', mail, 'ada')
      return paid
    })
    const engine = await world.open([order, mail])
    const before = await world.now()
    const id = fresh('o')
    const run = await engine.start(order, { amount: 5 }, { id })
    await run.result()
    const info = await run.get()
    expect(info).toMatchObject({
      id,
      workflow: order.name,
      status: 'completed',
      input: { amount: 5 },
      output: { paid: 5 },
      error: null,
    })
    const { createdAt, startedAt, updatedAt, finishedAt } = info
    const times = [before, createdAt, startedAt, updatedAt].map(Number)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(Number(finishedAt)).toBe(Number(updatedAt))
    expect(Number(finishedAt)).toBeLessThanOrEqual(await world.now())

    const entries = await all(engine.history(id))
    const steps = entries.filter(({ kind }) => kind.startsWith('step.') && kind !== 'step.asked')
    expect(steps).toMatchObject([
      { kind: 'step.failed', name: 'charge', attempt: 1, error: { message: 'refused 1' } },
      { kind: 'step.failed', name: 'charge', attempt: 2, error: { message: 'refused 2' } },
      { kind: 'step.completed', name: 'charge', attempt: 3, output: { paid: 5 } },
      {
        kind: 'step.failed',
        name: 'broken',
        attempt: 1,
        error: { name: 'TypeError', message: 'no' },
      },
    ])
    for (const { askedAt, startedAt: began, at } of steps) {
      const [asked, start, end] = [askedAt, began, at].map((when) => when?.getTime() ?? Number.NaN)
      expect(asked).toBeGreaterThanOrEqual(Number(createdAt))
      expect(start).toBeGreaterThanOrEqual(asked ?? Number.NaN)
      expect(end).toBeGreaterThanOrEqual(start ?? Number.NaN)
    }
    const child = entries.filter(({ kind }) => kind.startsWith('child.'))
    expect(child).toMatchObject([
      { kind: 'child.started', name: 'mail', workflow: mail.name },
      { kind: 'child.ended', name: 'mail', output: 'to ada' },
    ])
    const ran = await all(engine.history(child[0]?.runId ?? ''))
    expect(ran[0]).toMatchObject({ kind: 'run.created', input: 'ada' })
    expect(ran.find(({ kind }) => kind === 'step.completed')).toMatchObject({
      attempt: 1,
      output: 'to ada',
      askedAt: expect.any(Date),
      startedAt: expect.any(Date),
    })
  })

  test('[P14] while a step runs, its being asked for is written down', async () => {
    const release = gate()
    const slow = workflow(fresh('slow'), async (wf) => wf.do('think', () => release.passed))
    const engine = await world.open([slow])
    const run = await engine.start(slow)
    await eventually(async () => (await all(engine.history(run.id))).at(-1)).toMatchObject({
      kind: 'step.asked',
      name: 'think',
    })
    expect((await engine.explain(run.id)).sentence).toContain('"think"')
    release.open()
    await run.result()
  })

  test('[P15] nothing leaves completed, cancelled and timed_out', async () => {
    const ending = workflow(fresh('ending'), async (wf, how: string) => {
      if (how === 'completed') return 'done'
      if (how === 'cancelled') return wf.cancel('enough')
      return wf.waitFor('never')
    })
    const engine = await world.open([ending])
    for (const how of ['completed', 'cancelled', 'timed_out'] as const) {
      const timeout = how === 'timed_out' ? 30 : undefined
      const { id, status } = await engine.run(ending, how, { timeout })
      expect(status).toBe(how)
      const before = [await world.row(id), await engine.get(id), await all(engine.history(id))]
      expect((await refusalOf(engine.retry(id))).code).toBe('RUN_NOT_RETRYABLE')
      expect((await refusalOf(engine.signal(id, 'never', 1))).code).toBe('RUN_FINISHED')
      if (how === 'cancelled') await engine.cancel(id, 'again')
      else expect((await refusalOf(engine.cancel(id))).code).toBe('RUN_FINISHED')
      await engine.start(ending, how, { id })
      await world.advance(1_000)
      const after = [await world.row(id), await engine.get(id), await all(engine.history(id))]
      expect(after).toEqual(before)
    }
  })

  test('[P15] only retry leaves failed', async () => {
    let works = false
    const flaky = workflow(fresh('flaky'), async (wf) =>
      wf.do('charge', () => (works ? 'paid' : Promise.reject(new Error('down')))),
    )
    const engine = await world.open([flaky])
    const { id, status } = await engine.run(flaky)
    expect(status).toBe('failed')
    expect((await refusalOf(engine.signal(id, 'x'))).code).toBe('RUN_FINISHED')
    expect((await refusalOf(engine.cancel(id))).code).toBe('RUN_FINISHED')
    expect((await world.row(id)).status).toBe('failed')
    works = true
    await engine.retry(id)
    expect(await engine.handle(flaky, id).result()).toBe('paid')
    expect((await engine.get(id))?.status).toBe('completed')
  })

  test.each([
    { reason: 'refused by Ada', told: 'refused by Ada' },
    { reason: undefined, told: 'cancelled by the workflow itself' },
  ])(
    '[P16] wf.cancel($reason) ends the run as cancelled with "$told", and no later step runs',
    async ({ reason, told }) => {
      const ran: string[] = []
      const quits = workflow(fresh('quits'), async (wf) => {
        await wf.do('before', () => void ran.push('before'))
        const gone = wf.cancel(reason)
        await wf.do('after', () => void ran.push('after'))
        return gone
      })
      const engine = await world.open([quits])
      const run = await engine.start(quits)
      const error = await refusalOf(run.result())
      expect([error.code, error.message]).toEqual([
        'WORKFLOW_CANCELLED',
        expect.stringContaining(told),
      ])
      expect(await run.get()).toMatchObject({
        status: 'cancelled',
        error: { code: 'WORKFLOW_CANCELLED', message: told },
      })
      const kinds = await kindsOf(engine, run.id)
      expect(kinds).toEqual(['run.created', 'step.completed', 'run.cancelled'])
      expect(ran).toEqual(['before'])
    },
  )

  test('[P27] the key of a step is the same for all its attempts and different for every other step, run and workspace', async () => {
    const seen: { key: string; attempt: number; retryCount: number }[] = []
    const note = ({ key, attempt, retryCount }: (typeof seen)[0], fails: number) => {
      seen.push({ key, attempt, retryCount })
      if (attempt <= fails) throw new Error('again')
    }
    const queued = task(fresh('queued'), async (_: unknown, step) => note(step, 1))
    const keyed = workflow(fresh('keyed'), async (wf) => {
      await wf.do('charge', (step) => note(step, 2), { retries: 2, retryDelay: 60 })
      await wf.do('charge', (step) => note(step, 0))
      await wf.do('mail', (step) => note(step, 0))
      await wf.do('queued', queued, {}, { retries: 1, retryDelay: 1 })
    })
    const engine = await world.open([keyed, queued], { kernel: { framesMax: 0 } })
    const id = fresh('same')
    for (const workspace of ['acme', 'umbrella']) {
      await engine.run(keyed, undefined, { id, workspace })
    }
    await engine.run(keyed)
    const runs = [seen.slice(0, 7), seen.slice(7, 14), seen.slice(14)]
    for (const run of runs) {
      expect(run.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1, 1, 1, 2])
      expect(run.map(({ retryCount }) => retryCount)).toEqual([0, 1, 2, 0, 0, 0, 1])
      const keys = run.map(({ key }) => key)
      expect(new Set(keys.slice(0, 3)).size).toBe(1)
      expect(new Set(keys.slice(5)).size).toBe(1)
      expect(new Set(keys).size).toBe(4)
    }
    expect(new Set(seen.map(({ key }) => key)).size).toBe(12)
  })
})
