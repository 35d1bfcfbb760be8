// A thread of simulate.mjs: simulates the seeds it is given, a few at a time.

import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

const { newTotal, report, runSeeds } = await import(pathToFileURL(`${workerData.folder}/many.js`))

parentPort.on('message', async ({ first, count }) => {
  const total = newTotal()
  const seeds = Array.from({ length: count }, (_, i) => first + i)
  const verdict = await runSeeds(seeds, total)
  const broken = verdict && { seed: verdict.seed, text: report(verdict) }
  parentPort.postMessage({ total, broken })
})
