// node run-all.mjs <file> …: runs programs one after the other and prints the lines of each, as JSON.

import { pathToFileURL } from 'node:url'
import { formatWithOptions } from 'node:util'
import { installPool } from '../support/pglite.mjs'

installPool()
const { log } = console
const printed = []
for (const file of process.argv.slice(2)) {
  const lines = []
  console.log = (...args) => lines.push(formatWithOptions({ colors: false }, ...args))
  await import(pathToFileURL(file).href)
  printed.push(lines)
}
log(JSON.stringify(printed))
process.exit()
