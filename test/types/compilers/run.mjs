// node run.mjs <file> …: runs the machine of each file on a store in memory, on dist, and prints what happened as JSON.

import { pathToFileURL } from 'node:url'
import { openTestEngine } from '../../../dist/testing/create-test-engine.js'
import { openMemoryDatabase } from '../../../dist/testing/memory-database.js'

const all = []
for (const file of process.argv.slice(2)) {
  const { Review, happened } = await import(pathToFileURL(file).href)
  const instead = { openDatabase: openMemoryDatabase, trouble: null }
  const engine = await openTestEngine({ workflows: [Review] }, instead)
  all.push(await happened(engine))
  await engine.close()
}
console.log(JSON.stringify(all))
