// What the dead have not told, when the answer that hands it on is lost.

import { expect, test } from 'vitest'
import type { Store } from '../../src/kernel/store.js'
import { type Driver, DriverError } from '../../src/store/driver.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { start, worker } from './builders.js'
import { describeOn, freshSchema, urlOf } from './open-stores.js'

/** More than two calls of reap_v1 hand on. */
const UNTOLD = 120

describeOn(['postgres15', 'postgres18'], 'inheritance', (database) => {
  const on = (title: string, body: (s: Estate) => Promise<void>): void => {
    test(title, async () => {
      const driver = await openPgDriver({ target: urlOf(database) })
      const schema = freshSchema()
      const estate = await openEstate(driver, schema)
      try {
        await body(estate)
      } finally {
        await driver.script(`drop schema ${schema} cascade`)
        await estate.store.close()
      }
    })
  }

  on('whatever was handed on by calls without an answer is named again, all of it', async (s) => {
    s.loseAnswer(3)
    await expect(s.store.reap([], true)).rejects.toThrow('lost')
    const { inherited, inheritedIds } = await s.store.reap([], true)
    expect([...inheritedIds].sort((a, b) => a - b)).toEqual(s.untold)
    expect(inherited).toHaveLength(UNTOLD)
    expect((await s.store.reap([], true)).inheritedIds).toEqual([])
  })

  on('who stops listening meanwhile hears of it when it listens again', async (s) => {
    s.loseAnswer(1)
    await expect(s.store.reap([], true)).rejects.toThrow('lost')
    expect((await s.store.reap([], false)).inheritedIds).toEqual([])
    expect(new Set((await s.store.reap([], true)).inheritedIds)).toEqual(new Set(s.untold))
  })
})

interface Estate {
  readonly store: Store
  /** The feed rows of a worker that is dead, in order. */
  readonly untold: readonly number[]
  /** Of the call of reap_v1 with this number, from 1. */
  loseAnswer(of: number): void
}

async function openEstate(driver: Driver, schema: string): Promise<Estate> {
  let left = 0
  const losing: Driver = {
    ...driver,
    query: async (lane, sql, params) => {
      const rows = await driver.query(lane, sql, params)
      if (!sql.includes('reap_v1')) return rows
      left -= 1
      if (left === 0) throw new DriverError('lost', '08006', true)
      return rows
    },
  }
  const store = await openSqlStore({ driver: losing, schema })
  // It has never joined, or was reaped: it has no row.
  const dead = worker()
  const untold: number[] = []
  for (let i = 0; i < UNTOLD; i += 1) {
    const { feedId } = await store.commit(dead, [start()], { resent: false, feed: true })
    if (feedId !== null) untold.push(feedId)
  }
  await store.join(worker())
  return {
    store,
    untold,
    loseAnswer: (of) => {
      left = of
    },
  }
}
