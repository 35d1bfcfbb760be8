import { afterAll, expect, test } from 'vitest'
import type { Driver } from '../../src/store/driver.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { databases } from '../support/databases.js'
import { type Compared, differ, onDriver, shown } from './differential.js'
import { freshSchema } from './open-stores.js'

/** `npm run simulate -- --differential 100` does many more. */
const SEEDS = [1, 2, 3]
const STEPS = 250

const opened: { readonly driver: Driver; readonly schema: string }[] = []
const drivers = new Map<string, Driver>()

async function driverOf(name: string, url: string): Promise<Driver> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const embedded = { directory: null, production: false, allowInProduction: false, log }
  const driver =
    drivers.get(name) ??
    (name === 'pglite' ? await openEmbedded(embedded) : await openPgDriver({ target: url }))
  drivers.set(name, driver)
  return driver
}

test.each(SEEDS)(
  'the same random calls have the same answers on every store (%i)',
  async (seed) => {
    const others: Compared[] = []
    for (const { name, url, skip } of databases('pglite', 'postgres15', 'postgres18')) {
      if (skip !== null) continue
      const driver = await driverOf(name, url ?? '')
      const schema = freshSchema()
      opened.push({ driver, schema })
      others.push(await onDriver(name, driver, schema))
    }
    const difference = await differ(seed, STEPS, others)
    if (difference) expect.fail(shown(seed, difference))
  },
  180_000,
)

afterAll(async () => {
  for (const { driver, schema } of opened) await driver.script(`drop schema ${schema} cascade`)
  for (const driver of drivers.values()) await driver.close()
}, 60_000)
