// One contract, every store.

import { describe, inject } from 'vitest'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { describeOn, openMemory, openPglite, openRedis, sharing, urlOf } from './open-stores.js'
import { storeContract } from './store-contract.js'

describeOn(['postgres15', 'postgres18'], 'SQL', (database) => {
  storeContract(
    database.name,
    sharing(() => openPgDriver({ target: urlOf(database) })),
  )
})

describeOn(['pglite'], 'SQL', () => storeContract('pglite', openPglite()))

describeOn(['memory'], 'maps', () => storeContract('memory', openMemory))

const redis = inject('redis')
const TITLE = redis.skip === null ? 'the log' : `the log (${redis.skip.split('\n', 1)[0]})`
describe.skipIf(redis.skip !== null)(TITLE, () => storeContract('redis', openRedis(), []))
