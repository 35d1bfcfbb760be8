// npm run golden [-- name…]
//
// Writes the golden journals of this version for programs of test/golden/programs.ts that have none. An existing file is
// never overwritten: exit code 1.

import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './bootstrap.mjs'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const folder = join(ROOT, 'test/golden', version.split('.').slice(0, 2).join('.'))
const shown = relative(ROOT, folder)
const ADVICE = `What stands in ${shown} is in the databases of people who use it, so it is never written again. If a change of src makes its test fail, the change breaks their runs: mend it. To keep something new, add a program of another name to test/golden/programs.ts and run this again.`

const taken = process.argv.slice(2).filter((name) => existsSync(join(folder, `${name}.ndjson`)))
if (taken.length > 0) refuse(`${taken.join(', ')}: there already, nothing was written.`)

const { createViteServer } = await import('vitest/node')
const server = await createViteServer({
  root: ROOT,
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  server: { middlewareMode: true, watch: null, ws: false },
})
const { writeMissing } = await server.ssrLoadModule('/test/golden/journals.ts')
const written = await writeMissing(folder)
await server.close()
if (written.length === 0) refuse('Every program has its journal already, nothing was written.')
for (const name of written) console.log(`written  ${shown}/${name}.ndjson`)
process.exit(0)

function refuse(why) {
  console.error(`${why} ${ADVICE}`)
  process.exit(1)
}
