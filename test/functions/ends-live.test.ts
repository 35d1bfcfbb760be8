// Timeouts, cancel and retry, on real databases.

import { describe, expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, gate, kindsOf, pause, refusalOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18'], 'a run', (database) => {
  const world = worldOn(database)

  describe('whose step has a timeout', () => {
    test('raises its signal with STEP_TIMED_OUT, and a late result is ignored', async () => {
      const reasons: unknown[] = []
      const late = gate<string>()
      const slow = workflow(fresh('slow'), async (wf) => {
        const first = await wf
          .do(
            'slow',
            (step) => {
              step.signal.addEventListener('abort', () => void reasons.push(step.signal.reason))
              return late.passed
            },
            { timeout: 50 },
          )
          .catch((error: { code: string }) => error.code)
        late.open('late')
        await wf.sleep('a moment', 60)
        return first
      })
      const engine = await world.open([slow])
      const run = await engine.start(slow)
      expect(await run.result()).toBe('STEP_TIMED_OUT')
      expect(reasons).toMatchObject([{ code: 'STEP_TIMED_OUT' }])
      expect(await kindsOf(engine, run.id)).not.toContain('step.completed')
    })

    test('is retried after it like after any failure, inline and queued', async () => {
      const attempts: string[] = []
      const hang = (kind: string, attempt: number): unknown => {
        attempts.push(`${kind} ${attempt}`)
        return attempt === 1 ? new Promise(() => {}) : kind
      }
      const queued = task(fresh('queued'), { timeout: 50 }, async (_: unknown, step) =>
        hang('queued', step.attempt),
      )
      const retried = workflow(fresh('retried'), async (wf) => [
        await wf.do('inline', (step) => hang('inline', step.attempt), {
          timeout: 50,
          retries: 1,
          retryDelay: 1,
        }),
        await wf.do('queued', queued, {}, { retries: 1, retryDelay: 1 }),
      ])
      const engine = await world.open([retried, queued])
      expect(await engine.run(retried)).toMatchObject({ output: ['inline', 'queued'] })
      expect(attempts).toEqual(['inline 1', 'inline 2', 'queued 1', 'queued 2'])
    })
  })

  describe('with a timeout of its own', () => {
    test.each(['running', 'waiting'])('times out while it is %s', async (how) => {
      const reasons: unknown[] = []
      const limited = workflow(fresh('limited'), { timeout: 120 }, async (wf) => {
        if (how === 'waiting') return wf.waitFor('never')
        return wf.do('hang', (step) => {
          const { signal } = step
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              reasons.push((signal.reason as { code: string }).code)
              reject(signal.reason)
            })
          })
        })
      })
      const engine = await world.open([limited])
      const run = await engine.start(limited)
      expect((await refusalOf(run.result())).code).toBe('WORKFLOW_TIMED_OUT')
      expect(await run.get()).toMatchObject({
        status: 'timed_out',
        error: { code: 'WORKFLOW_TIMED_OUT' },
      })
      expect(reasons).toEqual(how === 'running' ? ['WORKFLOW_TIMED_OUT'] : [])
    })

    test('given by its parent fails the step of the parent', async () => {
      const inner = workflow(fresh('inner'), async (wf) => wf.waitFor('never'))
      const outer = workflow(fresh('outer'), async (wf) =>
        wf
          .do('inner', inner, undefined, { timeout: 100 })
          .catch((error: { code: string }) => error.code),
      )
      const engine = await world.open([outer, inner])
      const { id, output } = await engine.run(outer)
      expect(output).toBe('WORKFLOW_TIMED_OUT')
      const children = (await engine.list({ parentId: id })).items
      expect(children).toMatchObject([{ status: 'timed_out' }])
    })

    test('times out in the queue when no worker has its code', async () => {
      const engine = await world.open([])
      const id = fresh('queued')
      await engine.start(fresh('nobody'), undefined, { id, timeout: '1h' })
      await pause(100)
      expect((await engine.get(id))?.status).toBe('pending')
      await world.advance(3_600_000)
      await eventually(() => engine.get(id)).toMatchObject({ status: 'timed_out' })
    })
  })

  describe('that is cancelled', () => {
    test('before it started never runs', async () => {
      let ran = false
      const never = workflow(fresh('never'), async () => {
        ran = true
      })
      const engine = await world.open([never])
      const run = await engine.start(never, undefined, { delay: '1h' })
      expect((await world.row(run.id)).status).toBe('pending')
      await run.cancel('not today')
      const error = await refusalOf(run.result())
      expect([error.code, error.message]).toEqual([
        'WORKFLOW_CANCELLED',
        expect.stringContaining('not today'),
      ])
      expect(ran).toBe(false)
    })

    test.each([
      { how: 'waits for a signal', waits: 'signal' },
      { how: 'sleeps', waits: 'timer' },
    ])('while it $how ends at once', async ({ waits }) => {
      const parked = workflow(fresh('parked'), async (wf) =>
        waits === 'signal' ? wf.waitFor('never') : wf.sleep('long', '7d'),
      )
      const engine = await world.open([parked])
      const run = await engine.start(parked)
      await eventually(() => world.row(run.id)).toMatchObject({ reason: waits })
      await run.cancel()
      await refusalOf(run.result())
      expect(await run.get()).toMatchObject({
        status: 'cancelled',
        error: { message: 'cancelled from outside' },
      })
    })

    test('by another engine hears of it while a step is running', async () => {
      const running = gate()
      const busy = workflow(fresh('busy'), async (wf) =>
        wf.do('hang', (step) => {
          running.open()
          return new Promise((_, reject) => {
            step.signal.addEventListener('abort', () => reject(step.signal.reason))
          })
        }),
      )
      const engine = await world.open([busy])
      const other = await world.open([], { options: { worker: false } })
      const run = await engine.start(busy)
      await running.passed
      await other.cancel(run.id, 'from elsewhere')
      expect((await refusalOf(run.result())).message).toContain('from elsewhere')
    })

    test('needs no worker that has its code', async () => {
      const engine = await world.open([])
      const id = fresh('orphan')
      await engine.start(fresh('nobody'), undefined, { id })
      await engine.cancel(id, 'nobody wants it')
      await eventually(() => engine.get(id)).toMatchObject({ status: 'cancelled' })
    })
  })

  describe('that failed', () => {
    test('is retried by hand with one execution, whatever its retries say', async () => {
      let works = false
      const attempts: number[] = []
      const before: number[] = []
      const flaky = workflow(fresh('flaky'), async (wf) => {
        await wf.do('before', () => void before.push(1))
        return wf.do(
          'charge',
          (step) => {
            attempts.push(step.attempt)
            if (!works) throw new Error('down')
            return 'paid'
          },
          { retries: 1, retryDelay: 1 },
        )
      })
      const engine = await world.open([flaky])
      const { id } = await engine.run(flaky)
      expect(attempts).toEqual([1, 2])
      await engine.retry(id)
      await refusalOf(engine.handle(flaky, id).result())
      await eventually(() => engine.get(id)).toMatchObject({ status: 'failed', attempt: 2 })
      expect(attempts).toEqual([1, 2, 3])
      works = true
      await engine.retry(id)
      expect(await engine.handle(flaky, id).result()).toBe('paid')
      expect(attempts).toEqual([1, 2, 3, 4])
      expect(before).toEqual([1])
    })

    test('because of a child re-opens the child, and both go on', async () => {
      let works = false
      const executions: string[] = []
      const inner = workflow(fresh('inner'), async (wf) => {
        await wf.do('done before', () => void executions.push('before'))
        return wf.do('charge', () => {
          executions.push('charge')
          if (!works) throw new Error('down')
          return 'paid'
        })
      })
      const outer = workflow(
        fresh('outer'),
        async (wf) => `${await wf.do('inner', inner)} by inner`,
      )
      const engine = await world.open([outer, inner])
      const { id } = await engine.run(outer)
      works = true
      await engine.retry(id)
      expect(await engine.handle(outer, id).result()).toBe('paid by inner')
      expect(executions).toEqual(['before', 'charge', 'charge'])
      const children = (await engine.list({ parentId: id })).items
      expect(children).toMatchObject([{ status: 'completed', attempt: 2 }])
    })

    test('because its body threw by itself replays, and runs no finished step again', async () => {
      let works = false
      let executions = 0
      const throws = workflow(fresh('throws'), async (wf) => {
        const value = await wf.do('step', () => {
          executions += 1
          return 1
        })
        if (!works) throw new Error('a slip in the body')
        return value
      })
      const engine = await world.open([throws])
      const { id } = await engine.run(throws)
      works = true
      await engine.retry(id)
      expect(await engine.handle(throws, id).result()).toBe(1)
      expect(executions).toBe(1)
    })

    test('is retried once by two that press at the same time, and by nobody who saw another attempt', async () => {
      const release = gate()
      let executions = 0
      const flaky = workflow(fresh('flaky'), async (wf) =>
        wf.do('charge', async () => {
          executions += 1
          if (executions === 1) throw new Error('down')
          await release.passed
          return 'paid'
        }),
      )
      const engine = await world.open([flaky])
      const { id } = await engine.run(flaky)
      expect((await refusalOf(engine.retry(id, { expectedAttempt: 2 }))).code).toBe(
        'ATTEMPT_CHANGED',
      )
      const both = await Promise.allSettled(
        [1, 2].map(() => engine.retry(id, { expectedAttempt: 1 })),
      )
      const refused = both.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
      expect(refused).toHaveLength(1)
      expect(['ATTEMPT_CHANGED', 'RUN_NOT_RETRYABLE']).toContain(refused[0])
      expect((await refusalOf(engine.retry(id))).code).toBe('RUN_NOT_RETRYABLE')
      release.open()
      expect(await engine.handle(flaky, id).result()).toBe('paid')
      expect(executions).toBe(2)
    })
  })
})
