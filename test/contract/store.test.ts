// One contract, every store.

import { describeOn, openMemory, openPglite, openPostgres, urlOf } from './open-stores.js'
import { storeContract } from './store-contract.js'

describeOn(['postgres15', 'postgres18'], 'SQL', (database) => {
  storeContract(database.name, (options) => openPostgres(urlOf(database), options))
})

describeOn(['pglite'], 'SQL', () => storeContract('pglite', openPglite()))

describeOn(['memory'], 'maps', () => storeContract('memory', openMemory))
