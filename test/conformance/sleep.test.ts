// Sleeping: a due time in the database, and nothing else.

import { expect, test } from 'vitest'
import { type Duration, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, kindsOf, pause, refusalOf, worldOn } from '../support/world.js'

const DAY_MS = 86_400_000

describeOn(['pglite', 'postgres18', 'redis'], 'sleep', (database) => {
  const world = worldOn(database)
  const parked = { status: 'waiting', reason: 'timer', owner: null }

  test('[P09] 7d is stored as a due time of now + 604,800,000 ms, holds nothing, and ends at the first poll after it, across restarts', async () => {
    const nap = workflow(fresh('nap'), async (wf) => {
      await wf.sleep('week', '7d')
      return 'awake'
    })
    const first = await world.open([nap])
    const before = await world.now()
    const run = await first.start(nap)
    await eventually(() => world.row(run.id)).toMatchObject(parked)
    const { dueAt } = await world.row(run.id)
    expect((dueAt ?? 0) - 604_800_000).toBeGreaterThanOrEqual(before)
    expect((dueAt ?? 0) - 604_800_000).toBeLessThanOrEqual(await world.now())
    const info = await run.get()
    expect(info.status === 'waiting' && info.until?.getTime()).toBe(dueAt)
    await first.close()

    const second = await world.open([nap])
    await world.advance(604_800_000 - 10_000)
    await pause(150)
    expect(await world.row(run.id)).toMatchObject({ ...parked, dueAt })
    await world.advance(10_000)
    expect(await second.handle(nap, run.id).result()).toBe('awake')
  })

  test('[P10] a sleep longer than 2^31 - 1 ms does not end at once, and ends when it is due', async () => {
    const ms = 2 ** 31 + 5_000
    const nap = workflow(fresh('nap'), async (wf) => {
      await wf.sleep('long', ms)
      return 'awake'
    })
    const engine = await world.open([nap])
    const run = await engine.start(nap)
    await eventually(() => world.row(run.id)).toMatchObject(parked)
    const [set] = (await all(engine.history(run.id))).filter(({ kind }) => kind === 'timer.set')
    expect((set?.until?.getTime() ?? 0) - (set?.at.getTime() ?? 0)).toBe(ms)
    await pause(150)
    expect(await world.row(run.id)).toMatchObject(parked)
    await world.advance(2 ** 31 - 60_000)
    await pause(150)
    expect(await world.row(run.id)).toMatchObject(parked)
    await world.advance(65_000)
    expect(await run.result()).toBe('awake')
  })

  test('[P11] two sleeps of a run, and twenty runs, that are due in the same millisecond all wake', async () => {
    const naps = workflow(fresh('naps'), async (wf, at: number) => {
      const until = new Date(at)
      await Promise.all([wf.sleepUntil('one', until), wf.sleepUntil('two', until)])
      return 'awake'
    })
    const engine = await world.open([naps])
    const at = (await world.now()) + 3_600_000
    const runs = await Promise.all(Array.from({ length: 20 }, () => engine.start(naps, at)))
    for (const run of runs)
      await eventually(() => world.row(run.id)).toMatchObject({ ...parked, dueAt: at })
    await world.advance(3_600_000)
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map(() => 'awake'))
    for (const run of runs.slice(0, 3)) {
      const entries = (await all(engine.history(run.id))).filter(({ kind }) =>
        kind.startsWith('timer'),
      )
      expect(entries.map(({ kind, name, until }) => [kind, name, until?.getTime()])).toEqual([
        ['timer.set', 'one', at],
        ['timer.set', 'two', at],
        ['timer.fired', 'one', at],
        ['timer.fired', 'two', at],
      ])
    }
  })

  test('[P12] a sleep that is over returns at once on replay and is not armed again', async () => {
    const passed: string[] = []
    const naps = workflow(fresh('naps'), async (wf) => {
      await wf.sleep('first', '1h')
      passed.push('first')
      await wf.sleep('second', 1)
      await wf.waitFor('go')
      return 'done'
    })
    const engine = await world.open([naps], { kernel: { framesMax: 0 } })
    const run = await engine.start(naps)
    await eventually(() => world.row(run.id)).toMatchObject(parked)
    await world.advance(3_600_000)
    await eventually(() => world.row(run.id)).toMatchObject({ reason: 'signal' })
    await run.signal('go', 1)
    expect(await run.result()).toBe('done')
    expect(passed.length).toBeGreaterThan(1)
    const first = (await all(engine.history(run.id))).filter(({ name }) => name === 'first')
    expect(first.map(({ kind }) => kind)).toEqual(['timer.set', 'timer.fired'])
  })

  test.each([{ framesMax: 100 }, { framesMax: 0 }])(
    '[P13] create a user, sleep, send an email takes three turns and one for the end ($framesMax kept frames)',
    async ({ framesMax }) => {
      const ran: string[] = []
      const createUser = task(fresh('createUser'), async (email: string) => {
        ran.push('createUser')
        return { id: 7, email }
      })
      const sendEmail = task(fresh('sendEmail'), async (to: string) => {
        ran.push('sendEmail')
        return `sent to ${to}`
      })
      const signup = workflow(fresh('signup'), async (wf, email: string) => {
        const user = await wf.do('Create user', createUser, email)
        await wf.sleep('Wait', '5min')
        await wf.do('Welcome', sendEmail, user.email)
        return user.id
      })
      const engine = await world.open([signup, createUser, sendEmail], { kernel: { framesMax } })
      const run = await engine.start(signup, 'ada@b.c')
      await eventually(() => world.row(run.id)).toMatchObject({ ...parked, epoch: 2 })
      await world.advance(300_000)
      expect(await run.result()).toBe(7)
      const { epoch } = await world.row(run.id)
      expect([3, 4]).toContain(epoch)
      expect(ran).toEqual(['createUser', 'sendEmail'])
      const kinds = (await all(engine.history(run.id))).map(({ kind, name }) => `${kind} ${name}`)
      expect(kinds.map((text) => text.trim())).toEqual([
        'run.created',
        'child.started Create user',
        'child.ended Create user',
        'timer.set Wait',
        'timer.fired Wait',
        'child.started Welcome',
        'child.ended Welcome',
        'run.completed',
      ])
    },
  )

  const UNITS: [Duration, number][] = [
    [250, 250],
    ['250ms', 250],
    ['2s', 2_000],
    ['2sec', 2_000],
    ['2 secs', 2_000],
    ['2m', 120_000],
    ['2min', 120_000],
    ['2 mins', 120_000],
    ['2h', 7_200_000],
    ['1 hour', 3_600_000],
    ['2hours', 7_200_000],
    ['2d', 2 * DAY_MS],
    ['1day', DAY_MS],
    ['2 days', 2 * DAY_MS],
    ['2w', 14 * DAY_MS],
    ['1week', 7 * DAY_MS],
    ['2 weeks', 14 * DAY_MS],
    ['1y', 365 * DAY_MS],
    ['1year', 365 * DAY_MS],
    ['2 years', 730 * DAY_MS],
  ]
  test('[P19] a sleep takes a whole number and a unit, or milliseconds', async () => {
    const naps = workflow(fresh('naps'), async (wf) => {
      await Promise.all(UNITS.map(([duration], i) => wf.sleep(`sleep ${i}`, duration)))
    })
    const engine = await world.open([naps])
    const run = await engine.start(naps)
    const set = async () =>
      (await all(engine.history(run.id))).filter(({ kind }) => kind === 'timer.set')
    await eventually(async () => (await set()).length).toBe(UNITS.length)
    const stored = (await set()).map(({ at, until }) => (until?.getTime() ?? 0) - at.getTime())
    expect(stored).toEqual(UNITS.map(([, ms]) => ms))
    await run.cancel()
    await refusalOf(run.result())
  })

  test('[P19] anything else is no duration, and the error names it', async () => {
    const values = ['1.5h', '7 dayz', '', 'soon', '-5s', '5', ' 5s', '5S', -5, 1.5, null, {}]
    const naps = workflow(fresh('naps'), async (wf, value: Duration) => wf.sleep('never', value))
    const engine = await world.open([naps])
    for (const value of values) {
      const outcome = await engine.run(naps, value as Duration)
      expect(outcome).toMatchObject({ status: 'failed', error: { code: 'DURATION_INVALID' } })
      const message = outcome.status === 'failed' ? outcome.error.message : ''
      expect(message).toContain(JSON.stringify(value))
      const kinds = await kindsOf(engine, outcome.id)
      expect(kinds).toEqual(['run.created', 'run.failed'])
    }
  })
})
