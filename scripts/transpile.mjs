// Takes the types out of TypeScript that is not in dist, so that plain Node executes it at full speed: each file for
// itself, only if it has changed. What is gone stays behind and is not imported by anything.

import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CACHE, ROOT } from './bootstrap.mjs'

const TSCONFIG = { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } }

/** The folder that has the same paths, with .js instead of .ts. */
export async function transpiled(folders) {
  const out = join(CACHE, 'transpiled')
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, name)),
  )
  const stale = files.filter((path) => /\.(ts|mjs|json)$/.test(path) && !path.endsWith('.d.mts'))
  for (const path of stale) await transpile(join(ROOT, path), join(out, path))
  writeFileSync(join(out, 'package.json'), '{"type":"module"}')
  return out
}

async function transpile(from, path) {
  const to = path.replace(/\.ts$/, '.js')
  const made = statSync(to, { throwIfNoEntry: false })
  if (made && made.mtimeMs > statSync(from).mtimeMs) return
  const text = readFileSync(from, 'utf8')
  mkdirSync(dirname(to), { recursive: true })
  if (!from.endsWith('.ts')) return write(to, text)
  const { transform } = await import('esbuild')
  const options = { loader: 'ts', target: 'es2022', tsconfigRaw: TSCONFIG }
  write(to, (await transform(text, options)).code)
}

/** Others may be reading it. */
function write(path, text) {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
}
