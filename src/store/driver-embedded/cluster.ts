// A data directory as initdb leaves it, which comes with the package as one file (scripts/cluster.mjs makes it).

import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

/** At least about so large; more is put together. */
const UNPACKED_BYTES = 48 * 1024 * 1024
const BLOCK = 512
const FOLDER = 5

/** As a tar; null: it is not beside this code, as in a bundle, or of another PGlite than the one that is installed. */
export function packedCluster(): Buffer<ArrayBuffer> | null {
  // The same from src and from dist.
  const path = `../../../dist/cluster-${pgliteVersion()}.tar.br`
  const file = fileURLToPath(new URL(path, import.meta.url))
  if (!fs.existsSync(file)) return null
  // In one piece: putting pieces together costs more than unpacking them.
  return brotliDecompressSync(fs.readFileSync(file), { chunkSize: UNPACKED_BYTES })
}

export function unpack(bytes: Buffer, into: string): void {
  fs.mkdirSync(into, { recursive: true, mode: 0o700 })
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const text = (from: number, length: number): string =>
      bytes.toString('latin1', at + from, at + from + length).split('\0', 1)[0] ?? ''
    const name = text(0, 100)
    if (name === '') break
    const size = Number.parseInt(text(124, 12), 8)
    const start = at + BLOCK
    if (Number(text(156, 1)) === FOLDER)
      fs.mkdirSync(join(into, name), { recursive: true, mode: 0o700 })
    else fs.writeFileSync(join(into, name), bytes.subarray(start, start + size), { mode: 0o600 })
    at = start + Math.ceil(size / BLOCK) * BLOCK
  }
}

export function pgliteVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const file = join(dirname(dirname(entry)), 'package.json')
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { version: string }).version
}
