// Makes a data directory for the embedded database and keeps it as one file in dist: initdb takes seconds and half a
// gigabyte of memory, here once and not at each first start. Named after the PGlite that made it, since another may not read it.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'

/** A window over everything: three databases in it are the same. */
const PACKING = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 }
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** As src/store/driver-embedded/cluster.ts calls it. */
export async function makeCluster(root = ROOT) {
  const pglite = join(root, 'node_modules/@electric-sql/pglite')
  const { version } = JSON.parse(readFileSync(join(pglite, 'package.json'), 'utf8'))
  const name = `cluster-${version}.tar.br`
  const kept = join(root, '.cache', name)
  const shipped = join(root, 'dist', name)
  if (existsSync(shipped)) return
  if (!existsSync(kept)) {
    const { PGlite } = await import(pathToFileURL(join(pglite, 'dist/index.js')).href)
    const db = await PGlite.create()
    await db.exec('checkpoint')
    const tar = Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer())
    await db.close()
    mkdirSync(dirname(kept), { recursive: true })
    writeFileSync(`${kept}.${process.pid}`, brotliCompressSync(tar, { params: PACKING }))
    renameSync(`${kept}.${process.pid}`, kept)
  }
  copyFileSync(kept, `${shipped}.${process.pid}`)
  renameSync(`${shipped}.${process.pid}`, shipped)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await makeCluster()
