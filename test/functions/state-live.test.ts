// wf.setState: what people see of a run while it goes on.

import { expect, test } from 'vitest'
import { type PerdureError, type Schema, typed, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, worldOn } from '../support/world.js'

const progress: Schema<{ done: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { done?: unknown }).done === 'number'
        ? { value: value as { done: number } }
        : { issues: [{ message: 'done must be a number', path: ['done'] }] },
  },
}

describeOn(['pglite', 'postgres18'], 'the state of a run', (database) => {
  const world = worldOn(database)

  test.each([
    ['kept in memory', {}],
    ['replayed at every wait', { kernel: { framesMax: 0 } }],
  ])(
    'rule 5: is shown from the next commit on, and setState is silent on replay (%s)',
    async (_, more) => {
      let called = 0
      const counting = workflow(
        fresh('counting'),
        { state: typed<{ done: number; said?: string }>(), signals: { go: typed<string>() } },
        async (wf) => {
          wf.setState({ done: 0 })
          for (let done = 1; done <= 2; done += 1) {
            await wf.do('work', () => done)
            called += 1
            wf.setState({ done })
            const said = await wf.waitFor('go')
            wf.setState({ done, said })
          }
          return 'over'
        },
      )
      const engine = await world.open([counting], more)
      const run = await engine.start(counting)
      const stateIs = (state: object) =>
        eventually(async () => (await run.get()).state).toEqual(state)
      await stateIs({ done: 1 })
      await run.signal('go', 'first')
      await stateIs({ done: 2 })
      expect((await engine.list({ workflow: counting })).items[0]?.state).toEqual({ done: 2 })
      await run.signal('go', 'second')
      expect(await run.result()).toBe('over')
      expect((await run.get()).state).toEqual({ done: 2, said: 'second' })
      expect(called).toBeGreaterThanOrEqual(2)
      const { items } = await engine.history(run.id, { limit: 100 })
      expect(items.filter(({ kind }) => kind === 'step.completed')).toHaveLength(2)
    },
  )

  test('is undefined until it is set', async () => {
    const plain = workflow(fresh('plain'), async () => 1)
    const engine = await world.open([plain])
    const run = await engine.start(plain)
    await run.result()
    expect((await run.get()).state).toBeUndefined()
  })

  test('that does not pass its schema is refused at the call, and changes nothing', async () => {
    const checked = workflow(fresh('checked'), { state: progress }, async (wf) => {
      wf.setState({ done: 1 })
      await wf.do('work', () => 1)
      try {
        wf.setState({ done: 'much' } as never)
      } catch (error) {
        return (error as PerdureError).code
      }
      return 'taken'
    })
    const engine = await world.open([checked])
    const run = await engine.start(checked)
    expect(await run.result()).toBe('PAYLOAD_INVALID')
    expect((await run.get()).state).toEqual({ done: 1 })
  })
})
