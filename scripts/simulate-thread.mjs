// A thread of simulate.mjs: simulates the seeds it is given, a few at a time.

import { AsyncLocalStorage } from 'node:async_hooks'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

// Following every promise costs a tenth of the time, and nothing here asks where it is.
AsyncLocalStorage.prototype.run = (_, work, ...args) => work(...args)

// So does knowing where each error was made. A world that breaks a promise is run once more, with it.
const { stackTraceLimit } = Error
Error.stackTraceLimit = 0

const { newTotal, report, runSeeds } = await import(pathToFileURL(`${workerData.folder}/many.js`))

parentPort.on('message', async ({ first, count }) => {
  const total = newTotal()
  const seeds = Array.from({ length: count }, (_, i) => first + i)
  const verdict = await runSeeds(seeds, total)
  Error.stackTraceLimit = stackTraceLimit
  const again = verdict && (await runSeeds([verdict.seed], newTotal()))
  Error.stackTraceLimit = 0
  const broken = verdict && { seed: verdict.seed, text: report(again ?? verdict) }
  parentPort.postMessage({ total, broken })
})
