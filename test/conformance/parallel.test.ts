// Steps by name, and several at a time.

import { expect, test } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, kindsOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'several steps', (database) => {
  const world = worldOn(database)

  test('[P20] a step name that is not a text is refused, and nothing of it is stored', async () => {
    const named = workflow(fresh('named'), async (wf) => {
      const names: unknown[] = [
        5,
        undefined,
        null,
        {},
        ['a'],
        Symbol('s'),
        () => {},
        '',
        ' a',
        'a\nb',
      ]
      const codes: string[] = []
      for (const name of names) {
        for (const call of [
          () => wf.do(name as string, () => 1),
          () => wf.do(name as string, 'task', 1),
          () => wf.sleep(name as string, 1),
          () => wf.transaction(name as string, async () => 1),
        ]) {
          try {
            await call()
            codes.push('accepted')
          } catch (error) {
            codes.push((error as { code: string }).code)
          }
        }
      }
      return codes
    })
    const engine = await world.open([named])
    const outcome = await engine.run(named)
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(new Set(outcome.output)).toEqual(new Set(['NAME_INVALID']))
    const kinds = await kindsOf(engine, outcome.id)
    expect(kinds).toEqual(['run.created', 'run.completed'])
  })

  test.each([{ framesMax: 100 }, { framesMax: 0 }])(
    '[P21] the same name used twice is two steps with results of their own ($framesMax kept frames)',
    async ({ framesMax }) => {
      let executions = 0
      const count = task(fresh('count'), async () => {
        executions += 1
        return `queued ${executions}`
      })
      const twice = workflow(fresh('twice'), async (wf) => {
        const results: unknown[] = []
        for (let i = 0; i < 2; i += 1) {
          results.push(await wf.do('step', () => (executions += 1)))
          results.push(await wf.do('queued', count))
          await wf.sleep('pause', 40)
        }
        return results
      })
      const engine = await world.open([twice, count], { kernel: { framesMax } })
      const run = await engine.start(twice)
      expect(await run.result()).toEqual([1, 'queued 2', 3, 'queued 4'])
      expect(executions).toBe(4)
      const ends = (await all(engine.history(run.id))).filter(({ kind }) =>
        ['step.completed', 'child.ended', 'timer.fired'].includes(kind),
      )
      const expected = ['step', 'queued', 'pause', 'step#2', 'queued#2', 'pause#2']
      expect(ends.map(({ name }) => name)).toEqual(expected)
      expect(engine.counters['frame.replayed'] > 0).toBe(framesMax === 0)
    },
  )

  test.each([{ framesMax: 100 }, { framesMax: 0 }])(
    '[P22] Promise.all runs steps at the same time, and the end of one starts none of the others again ($framesMax kept frames)',
    async ({ framesMax }) => {
      const started: string[] = []
      const gates = { a: gate(), b: gate(), c: gate() }
      const together = gate()
      const work = task(fresh('work'), async (name: 'a' | 'b' | 'c') => {
        started.push(name)
        if (started.length === 3) together.open()
        await together.passed
        await gates[name].passed
        return name
      })
      const fan = workflow(fresh('fan'), async (wf) =>
        Promise.all([wf.do('a', work, 'a'), wf.do('b', work, 'b'), wf.do('c', work, 'c')]),
      )
      const engine = await world.open([fan, work], { kernel: { framesMax } })
      const run = await engine.start(fan)
      await together.passed
      let ended = 0
      for (const name of ['b', 'c', 'a'] as const) {
        gates[name].open()
        ended += 1
        await eventually(async () => {
          const entries = await all(engine.history(run.id))
          return entries.filter(({ kind }) => kind === 'child.ended').map((entry) => entry.output)
        }).toHaveLength(ended)
      }
      expect(await run.result()).toEqual(['a', 'b', 'c'])
      expect(started.toSorted()).toEqual(['a', 'b', 'c'])
      expect((await engine.list({ parentId: run.id })).items).toHaveLength(3)
      const entries = await all(engine.history(run.id))
      const order = entries.filter(({ kind }) => kind === 'child.ended').map(({ name }) => name)
      expect(order).toEqual(['b', 'c', 'a'])
      expect(engine.counters['frame.replayed'] > 0).toBe(framesMax === 0)
    },
  )

  test.each([{ framesMax: 100 }, { framesMax: 0 }])(
    '[P23] a step that waits for its retry does not fail the run when its sibling finishes ($framesMax kept frames)',
    async ({ framesMax }) => {
      const executions = { queued: 0, inline: 0 }
      const flaky = task(fresh('flaky'), async () => {
        executions.queued += 1
        if (executions.queued === 1) throw new Error('not yet')
        return 'queued'
      })
      const quick = task(fresh('quick'), async () => 'quick')
      const fan = workflow(fresh('fan'), async (wf) =>
        Promise.all([
          wf.do('flaky', flaky, undefined, { retries: 1, retryDelay: '1h' }),
          wf.do(
            'inline',
            () => {
              executions.inline += 1
              if (executions.inline === 1) throw new Error('not yet')
              return 'inline'
            },
            { retries: 1, retryDelay: '1h' },
          ),
          wf.do('quick', quick),
        ]),
      )
      const engine = await world.open([fan, flaky, quick], { kernel: { framesMax } })
      const run = await engine.start(fan)
      await eventually(async () => await kindsOf(engine, run.id)).toContain('child.ended')
      await eventually(() => world.row(run.id)).toMatchObject({ status: 'waiting', owner: null })
      expect(executions).toEqual({ queued: 1, inline: 1 })
      await world.advance(3_600_000)
      expect(await run.result()).toEqual(['queued', 'inline', 'quick'])
      expect(executions).toEqual({ queued: 2, inline: 2 })
    },
  )

  test.each([{ framesMax: 100 }, { framesMax: 0 }])(
    '[P24] an inline step beside a queued one in Promise.all is executed once ($framesMax kept frames)',
    async ({ framesMax }) => {
      const executions = { inline: 0, queued: 0 }
      const queued = task(fresh('queued'), async () => {
        executions.queued += 1
        return 'queued'
      })
      const mixed = workflow(fresh('mixed'), async (wf) => {
        const first = await Promise.all([
          wf.do('inline', () => {
            executions.inline += 1
            return 'inline'
          }),
          wf.do('queued', queued),
        ])
        await wf.sleep('pause', 40)
        return first
      })
      const engine = await world.open([mixed, queued], { kernel: { framesMax } })
      expect(await engine.run(mixed)).toMatchObject({ output: ['inline', 'queued'] })
      expect(executions).toEqual({ inline: 1, queued: 1 })
      expect(engine.counters['frame.replayed'] > 0).toBe(framesMax === 0)
    },
  )
})
