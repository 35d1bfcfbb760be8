// Time is the database's. What a worker's own clock says changes nothing.

import { afterEach, expect, test, vi } from 'vitest'
import { createEngine, workflow } from '../../src/index.js'
import type { Ports } from '../../src/kernel/ports.js'
import { NO_HINTS } from '../../src/live-hints.js'
import { standardLog } from '../../src/live-log.js'
import { openLivePorts } from '../../src/live-ports.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { all, eventually, fresh, pause, worldOn } from '../support/world.js'

const HOUR_MS = 3_600_000

afterEach(() => void vi.useRealTimers())

/** A process whose clocks are off: the one on the wall, and the one that counts. */
async function skewed(ms: number, wall: (ms: number) => void): Promise<Ports> {
  wall(ms)
  const ports = await openLivePorts(NO_HINTS, standardLog(), {})
  const clock = { ...ports.clock, monotonic: () => ports.clock.monotonic() + ms }
  return { ...ports, clock }
}

describeOn(['pglite', 'postgres18', 'redis'], 'a worker whose clock is off', (database) => {
  const world = worldOn(database)
  /** The embedded database reads the clock of this very process: there the wall clock is its own. */
  const wall = (ms: number) => {
    if (database.name === 'pglite') return
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
  }

  test.each([-HOUR_MS, HOUR_MS])(
    '[X15] by %i ms sets and ends timers, retries and timeouts by the time of the database',
    async (skewMs) => {
      const timed = workflow(fresh('timed'), async (wf) => {
        await wf.sleep('nap', '1h')
        const late = await wf.waitFor('never', { timeout: 50, orNull: true })
        return wf.do(
          'flaky',
          (step) => {
            if (step.attempt === 1) throw new Error('once')
            return late
          },
          { retries: 1, retryDelay: 50 },
        )
      })
      const engine = await world.open([timed], { kernel: { ports: await skewed(skewMs, wall) } })
      const before = await world.now()
      const run = await engine.start(timed, undefined, { timeout: '3h' })
      await eventually(() => world.row(run.id)).toMatchObject({
        status: 'waiting',
        reason: 'timer',
      })
      const { dueAt } = await world.row(run.id)
      expect(Math.abs((dueAt ?? 0) - before - HOUR_MS)).toBeLessThan(5_000)
      await pause(150)
      expect((await world.row(run.id)).dueAt).toBe(dueAt)
      await world.advance(HOUR_MS)
      expect(await run.result()).toBeNull()
      const { createdAt, finishedAt } = await run.get()
      const now = await world.now()
      for (const at of [createdAt.getTime() + HOUR_MS, Number(finishedAt)]) {
        expect(Math.abs(now - at)).toBeLessThan(10_000)
      }
      for (const { at } of await all(engine.history(run.id))) {
        expect(at.getTime()).toBeGreaterThanOrEqual(before)
        expect(at.getTime()).toBeLessThanOrEqual(now)
      }
    },
  )

  test('[X15] beside one whose clock is right loses no run to it, and takes none from it', async () => {
    const steps = workflow(fresh('steps'), async (wf) => {
      for (let i = 0; i < 3; i += 1) await wf.do('work', () => pause(150))
      return 'done'
    })
    const kernel = { leaseMs: 3_000, pollMs: 50 }
    const right = await world.open([steps], { kernel })
    const behind = await world.open([steps], {
      kernel: { ...kernel, ports: await skewed(-HOUR_MS, wall) },
    })
    vi.useRealTimers()
    const ahead = await world.open([steps], {
      kernel: { ...kernel, ports: await skewed(HOUR_MS, wall) },
    })
    vi.useRealTimers()
    const engines = [right, behind, ahead]
    const runs = await Promise.all(engines.flatMap((by) => [by.start(steps), by.start(steps)]))
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map(() => 'done'))
    for (const { counters } of engines) {
      expect(counters['worker.reaped'] + counters['worker.reborn'] + counters['answer.stale']).toBe(
        0,
      )
    }
  })

  test('[X15] tells a run without code from one that starts later by the time of the database', async () => {
    const engine = await world.open([], { kernel: { ports: await skewed(-HOUR_MS, wall) } })
    const due = await engine.start('nobody')
    expect((await engine.explain(due.id)).reason).toBe('missing-code')
    const later = await engine.start('nobody', undefined, { delay: '30min' })
    wall(2 * HOUR_MS)
    expect((await engine.explain(later.id)).reason).toBe('pending')
  })
})

describeOn(['postgres15', 'postgres18'], 'the clock of the database', (database) => {
  test('[X15] is moved by the setting perdure.clock_offset_ms, and the engine goes with it', async () => {
    const url = new URL(urlOf(database))
    url.searchParams.set('options', `-c perdure.clock_offset_ms=${24 * HOUR_MS}`)
    const quick = workflow('quick', async (wf) => wf.now())
    const engine = await createEngine({
      database: url.href,
      schema: freshSchema(),
      workflows: [quick],
    })
    try {
      const run = await engine.start(quick)
      const now = await run.result()
      expect(Math.abs(now.getTime() - Date.now() - 24 * HOUR_MS)).toBeLessThan(60_000)
      const { createdAt } = await run.get()
      expect(Math.abs(createdAt.getTime() - Date.now() - 24 * HOUR_MS)).toBeLessThan(60_000)
    } finally {
      await engine.close()
    }
  })
})
