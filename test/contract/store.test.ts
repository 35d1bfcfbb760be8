// One contract, every store.

import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { describeOn, openMemory, openPglite, sharing, urlOf } from './open-stores.js'
import { storeContract } from './store-contract.js'

describeOn(['postgres15', 'postgres18'], 'SQL', (database) => {
  storeContract(
    database.name,
    sharing(() => openPgDriver({ target: urlOf(database) })),
  )
})

describeOn(['pglite'], 'SQL', () => storeContract('pglite', openPglite()))

describeOn(['memory'], 'maps', () => storeContract('memory', openMemory))
