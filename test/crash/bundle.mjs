// The victim as one file, made once by each process that starts victims: a victim is started hundreds of times, and most of its
// short life would go into finding and compiling the modules of dist. The code is that of dist.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = (name) => new URL(name, import.meta.url)

let made = null

/** @returns {Promise<string>} its path */
export function victimBundle() {
  made ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-crash-victim-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    const outfile = join(folder, 'victim.cjs')
    await build({
      ...{ entryPoints: [fileURLToPath(here('./victim.mjs'))], outfile, bundle: true },
      ...{ platform: 'node', format: 'cjs', target: 'node20', logLevel: 'error' },
      external: ['@electric-sql/pglite', 'pg-native', 'bullmq', 'ioredis'],
      // What V8 has compiled before cannot import: it requires.
      supported: { 'dynamic-import': false },
      // Where the packages that are not in it are looked for.
      define: { 'import.meta.url': JSON.stringify(here('../../dist/index.js').href) },
    })
    return outfile
  })()
  return made
}
