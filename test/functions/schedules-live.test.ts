// engine.schedules on real databases: the clock of the schema is moved, nothing is waited for.

import { describe, expect, test } from 'vitest'
import { type Engine, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, eventually, fresh, gate, refusalOf, worldOn } from '../support/world.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const quick = () => task(fresh('quick'), (input: unknown) => input)

/** The ids of all runs of a schedule, oldest first. */
async function runsOf(engine: Engine<never> | object, schedule: string): Promise<string[]> {
  const { list } = engine as Pick<Engine, 'list'>
  const runs = await all(list({ tags: { schedule }, order: 'oldest' }))
  return runs.map(({ id }) => id)
}

const hours = (from: number, ...counts: number[]): string[] =>
  counts.map((count) => new Date(from + count * HOUR).toISOString())

describeOn(['pglite', 'postgres18', 'redis'], 'schedules on a real database', (database) => {
  const world = worldOn(database)
  /** The last full hour. */
  const lastHour = async () => Math.floor((await world.now()) / HOUR) * HOUR
  /** To a moment in the middle of an hour, so that no hour ends while a test is at it. */
  const middle = async () => {
    const now = await world.now()
    await world.advance((1.5 * HOUR - (now % HOUR)) % HOUR)
  }
  /** Just behind an hour: nothing of it is missed. */
  const toHour = async (hour: number) => world.advance(hour + 1_000 - (await world.now()))
  const slots = (id: string, ...times: string[]) => times.map((time) => `cron:${id}:${time}`)

  describe('the times of a schedule', () => {
    test('[D37] each starts one run, however many engines look', async () => {
      await middle()
      const once = quick()
      const engines = await Promise.all([1, 2, 3].map(() => world.open([once])))
      const [engine] = engines
      if (!engine) return
      const id = fresh('hourly')
      const from = await lastHour()
      const set = await engine.schedules.set({ id, workflow: once, every: '1h', input: 7 })
      expect(set).toMatchObject({ id, workflow: once.name, everyMs: HOUR, input: 7, lastAt: null })
      expect(set.nextAt?.getTime()).toBe(from + HOUR)
      for (const count of [1, 2, 3]) {
        await world.advance(HOUR)
        const expected = slots(id, ...hours(from, ...[1, 2, 3].slice(0, count)))
        await eventually(() => runsOf(engine, id)).toEqual(expected)
      }
      const [first] = await runsOf(engine, id)
      await eventually(() => engine.get(first ?? '')).toMatchObject({
        output: 7,
        workflow: once.name,
      })
      expect(await engine.schedules.get(id)).toMatchObject({
        lastAt: new Date(from + 3 * HOUR),
        lastRunId: slots(id, ...hours(from, 3))[0],
      })
    })

    test('[D37] those that nobody was there for: none, one for all, or each', async () => {
      await middle()
      const once = quick()
      const engine = await world.open([once])
      const from = await lastHour()
      const id = { skip: fresh('skip'), once: fresh('once'), all: fresh('all') }
      for (const missed of ['skip', 'once', 'all'] as const) {
        const times = {
          cron: '0 * * * *',
          missed,
          catchUp: missed === 'all' ? '2h' : undefined,
        } as const
        await engine.schedules.set({ id: id[missed], workflow: once, ...times })
      }
      await engine.close()
      await world.advance(4 * HOUR)
      const next = await world.open([once])
      await eventually(() => runsOf(next, id.once)).toEqual(slots(id.once, ...hours(from, 4)))
      await eventually(() => runsOf(next, id.all)).toEqual(slots(id.all, ...hours(from, 3, 4)))
      await eventually(() => next.schedules.get(id.skip)).toMatchObject({
        lastAt: new Date(from + 4 * HOUR),
        nextAt: new Date(from + 5 * HOUR),
      })
      expect(await runsOf(next, id.skip)).toEqual([])
      await toHour(from + 5 * HOUR)
      await eventually(() => runsOf(next, id.skip)).toEqual(slots(id.skip, ...hours(from, 5)))
    })

    test('[D37] a process that dies before a run is stored, or behind it, leaves neither none nor two', async () => {
      for (const when of ['before', 'behind'] as const) {
        await middle()
        const once = quick()
        const id = fresh(when)
        let deaths = 0
        const dying = await world.open([once], {
          store: (opened) => ({
            ...opened,
            store: instead(opened.store, {
              fire: async (fire) => {
                if (fire.of.id !== id) return opened.store.fire(fire)
                if (when === 'behind') await opened.store.fire(fire)
                deaths += 1
                // Nothing more is heard of it.
                throw new Error('dead')
              },
              claim: () => Promise.reject(new Error('dead')),
            }),
          }),
        })
        const from = await lastHour()
        await dying.schedules.set({ id, workflow: once, every: '1h' })
        await world.advance(HOUR)
        await eventually(() => deaths).toBeGreaterThan(0)
        const stored = when === 'behind' ? 1 : 0
        expect(await runsOf(dying, id)).toHaveLength(stored)
        await dying.close()
        const next = await world.open([once])
        const [first = ''] = slots(id, ...hours(from, 1))
        await eventually(() => next.get(first)).toMatchObject({ status: 'completed' })
        await world.advance(HOUR)
        await eventually(() => runsOf(next, id)).toEqual(slots(id, ...hours(from, 1, 2)))
        await next.close()
      }
    })

    test('one instant is one run; a cron in a time zone knows its next times', async () => {
      const once = quick()
      const engine = await world.open([once])
      const at = new Date((await world.now()) + DAY)
      const id = fresh('at')
      await engine.schedules.set({ id, workflow: once, at })
      expect(await engine.schedules.next(id)).toEqual([at])
      await world.advance(DAY)
      await eventually(() => runsOf(engine, id)).toEqual(slots(id, at.toISOString()))
      // Said again by the next deploy, it is over and stays so.
      expect(await engine.schedules.set({ id, workflow: once, at })).toMatchObject({ nextAt: null })
      const cron = { cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' }
      const daily = fresh('daily')
      await engine.schedules.set({ id: daily, workflow: once, ...cron, jitter: '5min' })
      const next = await engine.schedules.next(daily, 5)
      expect(next).toHaveLength(5)
      const zone = { timeZone: 'Europe/Berlin', weekday: 'short', timeStyle: undefined } as const
      for (const time of next) {
        expect(time.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toBe('09:00:00')
        expect(time.toLocaleDateString('en-GB', zone)).not.toMatch(/^S(at|un)/)
      }
    })

    test('a changed schedule goes on with its new times; the same again changes nothing', async () => {
      await middle()
      const once = quick()
      const engine = await world.open([once])
      const id = fresh('changed')
      const from = await lastHour()
      const first = await engine.schedules.set({ id, workflow: once, every: '1h' })
      expect(await engine.schedules.set({ id, workflow: once, every: '1h' })).toEqual(first)
      await world.advance(HOUR)
      await eventually(() => runsOf(engine, id)).toHaveLength(1)
      // Its next time is in 2052: no midnight comes between.
      const seldom = { id, workflow: once, every: '10000 days', input: 1 } as const
      expect(await engine.schedules.set(seldom)).toMatchObject({
        everyMs: 10_000 * DAY,
        input: 1,
        lastAt: new Date(from + HOUR),
      })
      await world.advance(HOUR)
      // Every commit tells the engine what time it is: it would hear of the jump with the next beat.
      await (await engine.start(once)).result()
      await engine.schedules.set({ id, workflow: once, every: '1h' })
      await world.advance(HOUR)
      await eventually(() => runsOf(engine, id)).toEqual(slots(id, ...hours(from, 1, 3)))
    })
  })

  describe('while the run of an earlier time goes on', () => {
    /** Its runs end when the test says so. */
    const held = () => {
      const doors = new Map<string, () => void>()
      const definition = task(fresh('held'), async (_input: unknown, step) => {
        const { passed, open } = gate()
        doors.set(step.run.id, open)
        await Promise.race([
          passed,
          new Promise((done) => step.signal.addEventListener('abort', done)),
        ])
        step.signal.throwIfAborted()
      })
      return { definition, doors, end: (id: string) => doors.get(id)?.() }
    }

    test('`allow` starts another, `skip` leaves the time out', async () => {
      await middle()
      const { definition, doors } = held()
      const engine = await world.open([definition])
      const from = await lastHour()
      const [allow, skip] = [fresh('allow'), fresh('skip')]
      await engine.schedules.set({ id: allow, workflow: definition, every: '1h' })
      await engine.schedules.set({ id: skip, workflow: definition, every: '1h', overlap: 'skip' })
      for (const count of [1, 2]) {
        await world.advance(HOUR)
        await eventually(() => runsOf(engine, allow)).toHaveLength(count)
      }
      await eventually(() => engine.schedules.get(skip)).toMatchObject({
        lastAt: new Date(from + 2 * HOUR),
      })
      expect(await runsOf(engine, skip)).toEqual(slots(skip, ...hours(from, 1)))
      await eventually(() => doors.size).toBe(3)
      for (const open of doors.values()) open()
    })

    test('`queue` starts it when that has ended, one after another and none left out', async () => {
      await middle()
      const { definition, doors, end } = held()
      const engine = await world.open([definition])
      const from = await lastHour()
      const id = fresh('queue')
      await engine.schedules.set({
        id,
        workflow: definition,
        every: '1h',
        overlap: 'queue',
        missed: 'skip',
      })
      const expected = slots(id, ...hours(from, 1, 2, 3))
      await toHour(from + HOUR)
      await eventually(() => runsOf(engine, id)).toEqual(expected.slice(0, 1))
      await world.advance(2 * HOUR)
      for (const count of [1, 2, 3]) {
        await eventually(() => runsOf(engine, id)).toEqual(expected.slice(0, count))
        await eventually(() => doors.size).toBe(count)
        end(expected[count - 1] ?? '')
      }
    })

    test('`cancel` ends that, and starts it then', async () => {
      await middle()
      const { definition, doors, end } = held()
      const engine = await world.open([definition])
      const from = await lastHour()
      const id = fresh('cancel')
      await engine.schedules.set({ id, workflow: definition, every: '1h', overlap: 'cancel' })
      const [first = '', second = ''] = slots(id, ...hours(from, 1, 2))
      await world.advance(HOUR)
      await eventually(() => doors.size).toBe(1)
      await world.advance(HOUR)
      await eventually(() => runsOf(engine, id)).toEqual([first, second])
      expect(await engine.get(first)).toMatchObject({ status: 'cancelled' })
      await eventually(() => doors.size).toBe(2)
      end(second)
    })
  })

  describe('what people do', () => {
    test('a paused schedule starts nothing, and what passed meanwhile is not made up for', async () => {
      await middle()
      const once = quick()
      const engine = await world.open([once])
      const id = fresh('paused')
      const from = await lastHour()
      await engine.schedules.set({ id, workflow: once, every: '1h', missed: 'all' })
      await engine.schedules.pause(id)
      await engine.schedules.pause(id)
      expect(await engine.schedules.get(id)).toMatchObject({ isPaused: true, nextAt: null })
      expect(await engine.schedules.next(id)).toEqual([])
      await world.advance(3 * HOUR)
      // Every commit tells the engine what time it is: it would hear of the jump with the next beat.
      await (await engine.start(once)).result()
      await engine.schedules.resume(id)
      const resumed = await engine.schedules.get(id)
      expect(resumed).toMatchObject({ isPaused: false, nextAt: new Date(from + 4 * HOUR) })
      await engine.schedules.resume(id)
      expect(await engine.schedules.get(id)).toEqual(resumed)
      await world.advance(HOUR)
      await eventually(() => runsOf(engine, id)).toEqual(slots(id, ...hours(from, 4)))
    })

    test('[D38] a run now is another each time, or the first one under the same id', async () => {
      const once = quick()
      const engine = await world.open([once])
      const id = fresh('now')
      await engine.schedules.set({
        id,
        workflow: once,
        every: '1 day',
        input: 'in',
        tags: { a: 'b' },
      })
      const first = await engine.schedules.runNow(id)
      const second = await engine.schedules.runNow(id)
      expect(second.id).not.toBe(first.id)
      expect(await first.result()).toBe('in')
      const key = fresh('key')
      const third = await engine.schedules.runNow(id, { id: key })
      const fourth = await engine.schedules.runNow(id, { id: key })
      expect([third.id, fourth.id]).toEqual([key, key])
      expect(await runsOf(engine, id)).toHaveLength(3)
      expect((await engine.get(key))?.tags).toEqual({ a: 'b', schedule: id })
      expect(await engine.schedules.get(id)).toMatchObject({ lastAt: null, lastRunId: null })
    })

    test('a backfill starts what has no run yet', async () => {
      await middle()
      const once = quick()
      const engine = await world.open([once])
      const id = fresh('backfill')
      const from = await lastHour()
      await engine.schedules.set({ id, workflow: once, every: '1h' })
      const span = { from: new Date(from - 2 * HOUR), to: new Date(from) }
      const started = await engine.schedules.backfill(id, span)
      expect(started.map((run) => run.id)).toEqual(slots(id, ...hours(from, -2, -1, 0)))
      await engine.schedules.set({ id, workflow: once, every: '1h', input: 'another' })
      const again = await engine.schedules.backfill(id, span)
      expect(again.map((run) => run.id)).toEqual(started.map((run) => run.id))
      expect(await runsOf(engine, id)).toHaveLength(3)
      const to = new Date((await world.now()) + HOUR)
      const refused = await refusalOf(engine.schedules.backfill(id, { from: span.from, to }))
      expect(refused.code).toBe('OPTION_INVALID')
    })

    test('a deleted schedule is gone; its runs stay', async () => {
      await middle()
      const once = quick()
      const engine = await world.open([once])
      const id = fresh('deleted')
      await engine.schedules.set({ id, workflow: once, every: '1h' })
      await engine.schedules.runNow(id)
      await engine.schedules.delete(id)
      await engine.schedules.delete(id)
      expect(await engine.schedules.get(id)).toBeNull()
      for (const call of ['pause', 'resume', 'runNow', 'next'] as const) {
        expect((await refusalOf(engine.schedules[call](id))).code).toBe('SCHEDULE_NOT_FOUND')
      }
      expect(await runsOf(engine, id)).toHaveLength(1)
    })

    test('a workspace has schedules of its own', async () => {
      await middle()
      const once = quick()
      const engine = await world.open([once])
      const [here, there] = [engine.workspace(fresh('here')), engine.workspace(fresh('there'))]
      const id = fresh('shared')
      await here.schedules.set({ id, workflow: once, every: '1h' })
      await here.schedules.set({ id: `${id}-2`, workflow: once, every: '1h' })
      expect(await there.schedules.get(id)).toBeNull()
      expect(await all(there.schedules.list())).toEqual([])
      expect((await all(here.schedules.list({ limit: 1 }))).map((one) => one.id)).toEqual([
        id,
        `${id}-2`,
      ])
      await world.advance(HOUR)
      await eventually(() => runsOf(here, id)).toHaveLength(1)
      expect(await runsOf(there, id)).toEqual([])
    })
  })

  describe('what cannot be', () => {
    test('is refused, with all that is wrong', async () => {
      const once = workflow(fresh('once'), async () => 1)
      const engine = await world.open([once])
      const set = (times: object) =>
        refusalOf(engine.schedules.set({ id: 'x', workflow: once, ...times } as never))
      const both = await set({ cron: '0 0 31 4 *', timezone: 'Mars/Olympus' })
      expect(both.code).toBe('SCHEDULE_INVALID')
      expect(both.details).toEqual({
        problems: [expect.stringContaining('Mars/Olympus'), expect.stringContaining('never comes')],
      })
      for (const times of [
        {},
        { cron: '* * * * *', every: '1h' },
        { cron: '99 * * * *' },
        { every: '10ms' },
        { every: '1h', timezone: 'UTC' },
        { at: new Date(0) },
        { at: 'tomorrow' },
        { cron: '0 0 0 1 1 * 2020' },
      ]) {
        expect((await set(times)).code, JSON.stringify(times)).toBe('SCHEDULE_INVALID')
      }
      expect((await set({ every: '1h', overlap: 'never' })).code).toBe('OPTION_INVALID')
      expect((await set({ every: '1h', missed: 'maybe' })).code).toBe('OPTION_INVALID')
      expect((await set({ every: '1h', id: 'a:b' })).code).toBe('ID_INVALID')
      expect(await engine.schedules.get('x')).toBeNull()
    })
  })
})
