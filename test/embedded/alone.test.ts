import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { start, worker } from '../contract/builders.js'

test('whoever opens the database alone frees the runs of a dead worker without waiting for its lease', async () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const driver = await openEmbedded({
    directory: null,
    production: false,
    allowInProduction: false,
    log,
  })
  const dead = worker({ leaseMs: 3_600_000 })
  const before = await openSqlStore({ driver, schema: 'perdure' })
  await before.join(dead)
  const delta = { ...start(), claim: true }
  await before.commit(dead, [delta], { resent: false, feed: false })

  const beside = await openSqlStore({ driver, schema: 'perdure' })
  expect(await beside.reap([], true)).toMatchObject({ freed: 0 })
  const alone = await openSqlStore({ driver, schema: 'perdure', alone: true })
  expect(await alone.reap([], true)).toMatchObject({ freed: 1, workers: [] })
  await alone.close()
})
