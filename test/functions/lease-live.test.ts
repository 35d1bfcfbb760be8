// A worker that was not heard of for as long as its lease, and lives: on real databases.

import { expect, test } from 'vitest'
import { workflow } from '../../src/index.js'
import { StoreUnavailable } from '../../src/kernel/store.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { fresh, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18'], 'a lease in doubt on a real database', (database) => {
  const world = worldOn(database)

  test('aborts what runs, and a step that fails for that is executed again: it is no failure of the run', async () => {
    let isAway = false
    let executions = 0
    const reasons: unknown[] = []
    const heard = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          isAway = false
          reject(new Error('the call was aborted', { cause: signal.reason }))
        })
      })
    const long = workflow(fresh('long'), async (wf) =>
      wf.do('call', async ({ signal, attempt }) => {
        executions += 1
        if (executions > 1) return `attempt ${attempt}`
        isAway = true
        return await heard(signal)
      }),
    )
    const engine = await world.open([long], {
      options: { worker: { lease: '600ms' } },
      store: (opened) => ({
        ...opened,
        store: instead(opened.store, {
          beat: async (by) => {
            if (isAway) throw new StoreUnavailable('away')
            return await opened.store.beat(by)
          },
        }),
      }),
    })
    const run = await engine.start(long, undefined)
    expect(await run.result()).toBe('attempt 1')
    expect(executions).toBe(2)
    expect(reasons).toEqual([expect.objectContaining({ code: 'LEASE_LOST' })])
    expect(engine.counters['worker.reborn']).toBe(0)
  })
})
