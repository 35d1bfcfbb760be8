// The differential half of simulate.mjs: the same random calls on the store in memory, the embedded database and two
// servers that are started for it.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startPostgres } from '../test/support/servers.mjs'
import { transpiled } from './transpile.mjs'

/** Exit code 1 at the first difference. */
export async function differential({ first, seeds, steps, until }) {
  const root = await transpiled(['src', 'test/simulation', 'test/contract'])
  const load = (path) => import(pathToFileURL(join(root, path)).href)
  const { differ, onDriver, shown } = await load('test/contract/differential.js')
  const { openPgDriver } = await load('src/store/driver-pg/driver.js')
  const { openEmbedded } = await load('src/store/driver-embedded/open-embedded.js')
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const embedded = { directory: null, production: false, allowInProduction: false, log }
  const servers = []
  const drivers = [['pglite', await openEmbedded(embedded)]]
  for (const version of [15, 18]) {
    const server = await startPostgres({ version })
    servers.push(server)
    drivers.push([`postgres${version}`, await openPgDriver({ target: server.url })])
  }
  const startedAt = performance.now()
  let done = 0
  let found = null
  for (let seed = first; seed < first + seeds && !found && performance.now() < until; seed += 1) {
    const schemas = drivers.map(() => `d_${randomBytes(6).toString('hex')}`)
    const others = []
    for (const [i, [name, driver]] of drivers.entries())
      others.push(await onDriver(name, driver, schemas[i]))
    found = await differ(seed, steps, others)
    if (found) console.log(shown(seed, found))
    else done += 1
    for (const [i, [, driver]] of drivers.entries())
      await driver.script(`drop schema ${schemas[i]} cascade`)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`${done} seeds, ${done * steps} calls on each of 4 stores, ${seconds} s`)
  }
  for (const [, driver] of drivers) await driver.close()
  for (const server of servers) await server.stop()
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  return {
    code: found ? 1 : 0,
    figures: { first, seeds: done, calls: done * steps, stores: 4, seconds },
  }
}
