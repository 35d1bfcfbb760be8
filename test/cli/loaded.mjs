// With `node --import` of this file every module that is loaded is a line on stderr.

import { writeSync } from 'node:fs'
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// The thread of the hooks loads this file too.
if (isMainThread) register(import.meta.url)

export async function load(url, context, next) {
  writeSync(2, `loaded ${url}\n`)
  return next(url, context)
}
