// Builds the Studio into dist/studio: once for each state of its sources. What the list of runs loads first has a budget.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { CACHE, failWith, install, ROOT, run, sourceHash } from './bootstrap.mjs'

const STUDIO = join(ROOT, 'studio')
const BUILT = join(ROOT, 'dist/studio')
const STAMP = join(CACHE, 'studio.stamp')
const SOURCES = [
  ...['src', 'public', 'index.html', 'vite.config.ts', 'package-lock.json'].map(
    (name) => `studio/${name}`,
  ),
  ...['src/client', 'src/model', 'scripts/studio.mjs'],
]
/** Everything the browser needs before the list of runs is there, gzipped. */
const FIRST_LOAD_MAX = 250 * 1024
const FIRST_PAGE = 'src/pages/runs/index.tsx'

/** False if it does not build, or has become too large. */
export async function buildStudio() {
  await install(STUDIO)
  const stamp = sourceHash(SOURCES)
  const isBuilt = existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp
  if (isBuilt && existsSync(join(BUILT, 'index.html'))) return true
  const vite = join(STUDIO, 'node_modules/vite/bin/vite.js')
  const how = { fold: 'building the Studio', cwd: STUDIO }
  const { code, output } = await run(process.execPath, [vite, 'build'], how)
  if (code !== 0) process.stderr.write(output)
  if (code !== 0 || !isWithinBudget()) return false
  writeFileSync(STAMP, stamp)
  return true
}

function isWithinBudget() {
  const manifest = JSON.parse(readFileSync(join(BUILT, '.vite/manifest.json'), 'utf8'))
  const first = filesOf(manifest, ['index.html', FIRST_PAGE])
  const all = filesOf(manifest, Object.keys(manifest))
  const firstSize = sizeOf(first)
  console.error(`Studio: ${shown(firstSize)} first, ${shown(sizeOf(all))} in all, gzipped`)
  if (firstSize <= FIRST_LOAD_MAX) return true
  console.error(`The list of runs may load ${shown(FIRST_LOAD_MAX)} at first. Its parts:`)
  for (const file of first) console.error(`  ${shown(sizeOf([file])).padStart(8)}  ${file}`)
  return false
}

/** The files of some entries of the manifest, and of all that those import at once. */
function filesOf(manifest, names) {
  const seen = new Set()
  const visit = (name) => {
    if (seen.has(name)) return
    seen.add(name)
    for (const imported of manifest[name].imports ?? []) visit(imported)
  }
  for (const name of names) visit(name)
  const files = [...seen].flatMap((name) => [manifest[name].file, ...(manifest[name].css ?? [])])
  return ['index.html', ...new Set(files)]
}

const sizeOf = (files) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(join(BUILT, file))).length, 0)
const shown = (bytes) => `${Math.ceil(bytes / 1024)} KB`

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = (await buildStudio().catch(failWith)) ? 0 : 1
}
