// Retries: how often, when, and what is held meanwhile.

import { expect, test } from 'vitest'
import { type JournalEntry, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, pause, refusalOf, worldOn } from '../support/world.js'

/** How long after each failure its retry is due; undefined: there is none. */
const delays = (entries: readonly JournalEntry[]): (number | undefined)[] =>
  entries
    .filter(({ kind }) => kind === 'step.failed')
    .map(({ at, until }) => (until ? until.getTime() - at.getTime() : undefined))

/** The delay counts from the failure, and the entry is written a moment after it: up to a second on a busy machine. */
const fromFailure = (ms: number | undefined): number => Math.ceil(Number(ms) / 1_000) * 1_000

describeOn(['pglite', 'postgres18', 'redis'], 'retries', (database) => {
  const world = worldOn(database)

  test('[P05] a queued step with retries: 3, retryDelay: 5s has 4 executions, each due 5 s after the failure', async () => {
    const attempts: number[] = []
    const charge = task(fresh('charge'), async (_: unknown, step) => {
      attempts.push(step.attempt)
      throw new Error(`refused ${step.attempt}`)
    })
    const order = workflow(fresh('order'), async (wf) =>
      wf.do('charge', charge.name, {}, { retries: 3, retryDelay: '5s' }),
    )
    const engine = await world.open([order, charge])
    const run = await engine.start(order)
    await eventually(() =>
      engine.list({ parentId: run.id }).then((page) => page.items.length),
    ).toBe(1)
    const child = (await engine.list({ parentId: run.id })).items[0]?.id ?? ''

    for (const execution of [1, 2, 3]) {
      await eventually(() => attempts.length).toBe(execution)
      const waiting = { status: 'waiting', reason: 'retry', owner: null }
      await eventually(() => world.row(child)).toMatchObject(waiting)
      const { dueAt } = await world.row(child)
      const info = await engine.get(child)
      expect(info?.status === 'waiting' && info.until?.getTime()).toBe(dueAt)
      await world.advance(4_000)
      await pause(120)
      expect(attempts).toHaveLength(execution)
      await world.advance((dueAt ?? 0) - (await world.now()))
    }
    const error = await refusalOf(run.result())
    expect([error.code, error.cause]).toEqual([
      'WORKFLOW_FAILED',
      expect.objectContaining({ message: 'refused 4' }),
    ])
    expect(attempts).toEqual([1, 2, 3, 4])
    const due = delays(await all(engine.history(child)))
    expect(due.slice(0, 3).map(fromFailure)).toEqual([5_000, 5_000, 5_000])
    expect(due[3]).toBeUndefined()
  })

  test('[P06] an inline step with retries: 2, retryDelay: 3s has 3 executions, and between them its run is parked and due 3 s later', async () => {
    const attempts: number[] = []
    const order = workflow(fresh('order'), async (wf) =>
      wf.do(
        'charge',
        (step) => {
          attempts.push(step.attempt)
          throw new Error(`refused ${step.attempt}`)
        },
        { retries: 2, retryDelay: '3s' },
      ),
    )
    const engine = await world.open([order])
    const run = await engine.start(order)
    for (const execution of [1, 2]) {
      await eventually(() => attempts.length).toBe(execution)
      const waiting = { status: 'waiting', reason: 'retry', owner: null }
      await eventually(() => world.row(run.id)).toMatchObject(waiting)
      const { dueAt } = await world.row(run.id)
      const failed = (await all(engine.history(run.id))).at(-1)
      expect(failed).toMatchObject({ kind: 'step.failed', attempt: execution })
      expect(failed?.until?.getTime()).toBe(dueAt)
      await world.advance((dueAt ?? 0) - (await world.now()))
    }
    expect((await refusalOf(run.result())).message).toContain('refused 3')
    expect(attempts).toEqual([1, 2, 3])
    const due = delays(await all(engine.history(run.id)))
    expect(due.slice(0, 2).map(fromFailure)).toEqual([3_000, 3_000])
    expect(due[2]).toBeUndefined()
  })

  test.each([0, 1, 2, 3])(
    '[P08] with retries: %i an inline and a queued step are executed equally often',
    async (retries) => {
      const seen: Record<'inline' | 'queued', number[]> = { inline: [], queued: [] }
      const fail = (kind: 'inline' | 'queued', attempt: number): never => {
        seen[kind].push(attempt)
        throw new Error(`refused ${attempt}`)
      }
      const queued = task(fresh('queued'), async (_: unknown, step) => fail('queued', step.attempt))
      const both = workflow(fresh('both'), async (wf) => {
        const options = { retries, retryDelay: 1 }
        const settled = await Promise.allSettled([
          wf.do('inline', (step) => fail('inline', step.attempt), options),
          wf.do('queued', queued, {}, options),
        ])
        return settled.map((one) => one.status === 'rejected' && (one.reason as Error).message)
      })
      const engine = await world.open([both, queued])
      const last = `refused ${retries + 1}`
      expect(await engine.run(both)).toMatchObject({ output: [last, last] })
      const expected = Array.from({ length: retries + 1 }, (_, i) => i + 1)
      expect(seen).toEqual({ inline: expected, queued: expected })
    },
  )

  test('[P17] a step that failed after its last retry makes do throw the original message, and uncaught the run fails with it', async () => {
    const queued = task(fresh('queued'), { retries: 1, retryDelay: 1 }, async () => {
      throw new RangeError('no such seat')
    })
    const inline = workflow(fresh('inline'), async (wf) =>
      wf.do('seat', () => Promise.reject(new RangeError('no such seat')), {
        retries: 1,
        retryDelay: 1,
      }),
    )
    const outer = workflow(fresh('outer'), async (wf) => wf.do('seat', queued))
    const engine = await world.open([inline, outer, queued])
    for (const definition of [inline, outer]) {
      const outcome = await engine.run(definition)
      expect(outcome).toMatchObject({
        status: 'failed',
        error: { name: 'RangeError', message: 'no such seat' },
      })
      const info = await engine.get(outcome.id)
      expect(info).toMatchObject({ status: 'failed', retryable: true, hasError: true })
      expect(info?.error).toMatchObject({ message: 'no such seat', step: 'seat' })
    }
  })

  test('[P18] a caught failure is thrown again, the same, at every replay, and after a restart; the step is not executed again', async () => {
    let executions = 0
    const caught: string[] = []
    const queued = task(fresh('queued'), async () => {
      executions += 1
      throw Object.assign(new TypeError('gone'), { code: 'E_GONE' })
    })
    const patient = workflow(fresh('patient'), async (wf) => {
      for (const attempt of [
        () => wf.do('queued', queued),
        () =>
          wf.do('inline', () => {
            executions += 1
            throw Object.assign(new TypeError('gone'), { code: 'E_GONE' })
          }),
      ]) {
        try {
          await attempt()
        } catch (error) {
          const { name, message, code } = error as Error & { code: string }
          caught.push(`${name} ${message} ${code}`)
        }
      }
      await wf.sleep('a moment', '1h')
      return wf.waitFor('go')
    })
    const first = await world.open([patient, queued], { kernel: { framesMax: 0 } })
    const run = await first.start(patient)
    await eventually(() => world.row(run.id)).toMatchObject({ status: 'waiting', reason: 'timer' })
    await world.advance(3_600_000)
    await eventually(() => world.row(run.id)).toMatchObject({ status: 'waiting', reason: 'signal' })
    const before = caught.length
    expect(before).toBeGreaterThan(2)
    await first.close()

    const second = await world.open([patient, queued])
    await second.signal(run.id, 'go', 'on')
    expect(await second.handle(patient, run.id).result()).toBe('on')
    expect(caught.length).toBe(before + 2)
    expect(new Set(caught)).toEqual(new Set(['TypeError gone E_GONE']))
    expect(executions).toBe(2)
  })
})
