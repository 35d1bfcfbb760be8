// trigger: the call with a reply. On real databases.

import { expect, test } from 'vitest'
import { task, typed, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, gate, refusalOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18'], 'trigger', (database) => {
  const world = worldOn(database)

  const settings = () =>
    workflow(
      fresh('settings'),
      { signals: { change: typed<number>(), stop: typed<null>() }, state: typed<{ n: number }>() },
      async (wf) =>
        wf.loop('changes', 0, async (wf, n) => {
          wf.setState({ n })
          const message = await wf.waitFor(['change', 'stop'])
          if (message.name === 'stop') return wf.done(n)
          return n + message.payload
        }),
    )

  test('is answered by the first commit that contains it, with the run as it is then', async () => {
    const flow = settings()
    const engine = await world.open([flow])
    const run = await engine.start(flow)
    const after = await run.trigger('change', 5)
    expect(after).toMatchObject({ id: run.id, state: { n: 5 } })
    expect(await engine.trigger(run.id, 'change', 2)).toMatchObject({ state: { n: 7 } })
    expect(await run.trigger('stop', null)).toMatchObject({ status: 'completed', output: 7 })
  })

  test('is refused with what the run takes, and leaves no trace', async () => {
    const flow = workflow(
      fresh('approval'),
      { signals: { approval: typed<boolean>(), other: typed<boolean>() } },
      async (wf) => wf.waitFor('approval'),
    )
    const engine = await world.open([flow])
    const run = await engine.start(flow)
    await eventually(() => run.status()).toBe('waiting')
    const error = await refusalOf(run.trigger('other', true))
    expect(error).toMatchObject({ code: 'NOT_AVAILABLE', details: { available: ['approval'] } })
    expect((await engine.history(run.id)).items.map(({ kind }) => kind)).toEqual([
      'run.created',
      'wait.opened',
    ])
    expect(await run.trigger('approval', true)).toMatchObject({ status: 'completed', output: true })
  })

  test('of a run that is busy waits for it; of one that sleeps it does not', async () => {
    const free = gate()
    const work = task(fresh('work'), async () => {
      await free.passed
    })
    const flow = workflow(fresh('busy'), async (wf) => {
      await wf.do('inline', () => free.passed)
      await wf.do('work', work)
      const first = await wf.waitFor('go')
      await wf.sleep('nap', '1h')
      return first
    })
    const engine = await world.open([flow, work])
    const run = await engine.start(flow)
    const call = run.trigger('go', 'now')
    await expect
      .poll(() => engine.history(run.id).then(({ items }) => items.length))
      .toBeGreaterThan(0)
    free.open()
    expect(await call).toMatchObject({ status: 'waiting', reason: 'timer' })
    expect(await refusalOf(run.trigger('go'))).toMatchObject({ code: 'NOT_AVAILABLE' })
  })

  test('{ within } is patient, and no longer than that', async () => {
    const flow = workflow(fresh('patient'), async (wf) => {
      await wf.sleep('nap', 300)
      return wf.waitFor('go')
    })
    const engine = await world.open([flow])
    const run = await engine.start(flow)
    expect(await refusalOf(run.trigger('go', 1, { within: 50 }))).toMatchObject({
      code: 'NOT_AVAILABLE',
    })
    expect(await run.trigger('go', 2, { within: '10s' })).toMatchObject({
      status: 'completed',
      output: 2,
    })
    expect(await refusalOf(run.trigger('go', 3))).toMatchObject({ code: 'RUN_FINISHED' })
  })

  test('under the same id is one call, with one answer', async () => {
    const flow = settings()
    const engine = await world.open([flow])
    const run = await engine.start(flow)
    const calls = [1, 2, 3].map(() => run.trigger('change', 5, { id: 'click', within: '5s' }))
    for (const info of await Promise.all(calls)) expect(info.state).toEqual({ n: 5 })
  })

  test('is taken by another process, and told here', async () => {
    const flow = settings()
    const caller =
      database.name === 'pglite' ? null : await world.open([flow], { options: { worker: false } })
    const engine = await world.open([flow])
    const run = await engine.start(flow)
    const handle = (caller ?? engine).handle(flow, run.id)
    expect(await handle.trigger('change', 1, { within: '5s' })).toMatchObject({ state: { n: 1 } })
    expect(await refusalOf((caller ?? engine).trigger(run.id, 'nothing'))).toMatchObject({
      code: 'NOT_AVAILABLE',
    })
  })

  test('passes the schema at the door, and an unknown run is told', async () => {
    const flow = settings()
    const engine = await world.open([flow])
    expect(await refusalOf(engine.trigger(fresh('nobody'), 'change', 1))).toMatchObject({
      code: 'RUN_NOT_FOUND',
    })
    const run = await engine.start(flow)
    // @ts-expect-error a signal that is not declared
    await refusalOf(run.trigger('chance', 1))
    expect(
      // @ts-expect-error an option that is not there
      await refusalOf(run.trigger('change', 1, { whithin: '5s' })),
    ).toMatchObject({ code: 'OPTION_UNKNOWN' })
  })
})
