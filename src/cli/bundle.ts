// The files of a project as one module. Bundled anew for every load, so that changed code is new code, whatever kind of
// modules and TypeScript it is written in; packages stay what they are and are loaded once. Its Perdure is ours: a second copy
// beside the one that executes would know nothing of it.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BuildFailure, ImportKind, Loader, Message, Plugin } from 'esbuild'
import { codeBroken } from './project-errors.js'

export type Exports = Readonly<Record<string, unknown>>

/** Each is executed when it is asked for, and once. */
export type Modules = ReadonlyMap<string, () => Promise<Exports>>

/** Every file that was looked at is added to `seen`. */
export async function importFresh(
  folder: string,
  files: readonly string[],
  seen: Set<string>,
): Promise<Modules> {
  if (files.length === 0) return new Map()
  const code = await bundled(folder, files, seen)
  const place = await mkdtemp(join(tmpdir(), 'perdure-'))
  try {
    process.setSourceMapsEnabled(true)
    const file = join(place, 'project.mjs')
    await writeFile(file, code)
    const made = (await import(pathToFileURL(file).href)) as {
      readonly modules: readonly (() => Promise<Exports>)[]
    }
    return new Map(files.map((name, i) => [name, made.modules[i] ?? (async () => ({}))]))
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

async function bundled(
  folder: string,
  files: readonly string[],
  seen: Set<string>,
): Promise<string> {
  const { build } = await import('esbuild')
  const modules = files.map((file) => `() => import(${JSON.stringify(file)})`)
  try {
    const made = await build({
      stdin: { contents: `export const modules = [${modules}]`, resolveDir: folder },
      absWorkingDir: folder,
      bundle: true,
      write: false,
      outfile: join(tmpdir(), 'perdure-project', 'project.mjs'),
      format: 'esm',
      platform: 'node',
      target: 'node20',
      // As Node itself resolves packages; `module` is a word of bundlers.
      conditions: [],
      // Names of classes are stored with errors.
      keepNames: true,
      sourcemap: 'inline',
      logLevel: 'silent',
      banner: { js: REQUIRE },
      plugins: [places(seen), packages],
    })
    return made.outputFiles[0]?.text ?? ''
  } catch (error) {
    const [first, ...more] = (error as Partial<BuildFailure>).errors ?? []
    if (!first) throw error
    throw codeBroken(placeOf(first), first.text, more.length)
  }
}

const REQUIRE =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);"

function placeOf({ location }: Message): string {
  return location ? `${location.file}:${location.line}:${location.column + 1}` : 'the project'
}

const OWN = 'perdure'

/** What is in node_modules is left to Node, under the address that it has there. */
const packages: Plugin = {
  name: 'packages',
  setup(build) {
    build.onResolve({ filter: /^perdure(\/\w+)?$/ }, ({ path, kind }) => {
      const file = path === OWN ? '../index.js' : `..${path.slice(OWN.length)}/index.js`
      return outside(fileURLToPath(new URL(file, import.meta.url)), kind)
    })
    build.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === OWN) return undefined
      const { kind, importer, resolveDir } = asked
      const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: OWN })
      const isPackage = /[\\/]node_modules[\\/]/.test(found.path)
      return found.errors.length === 0 && isPackage ? outside(found.path, kind) : found
    })
  },
}

const outside = (path: string, kind: ImportKind) => ({
  path: kind.startsWith('require') ? path : pathToFileURL(path).href,
  external: true,
})

const LOADERS: Readonly<Record<string, Loader>> = {
  ...{ '.ts': 'ts', '.mts': 'ts', '.cts': 'ts', '.tsx': 'tsx' },
  ...{ '.js': 'js', '.mjs': 'js', '.cjs': 'js', '.jsx': 'jsx' },
}

/** A file that asks where it is hears where it was written. */
const places = (seen: Set<string>): Plugin => ({
  name: 'places',
  setup(build) {
    build.onLoad({ filter: /./, namespace: 'file' }, async ({ path }) => {
      seen.add(path)
      const loader = LOADERS[extname(path)]
      if (!loader) return undefined
      const text = await readFile(path, 'utf8')
      const contents = text.replace(
        /\bimport\.meta\.(url|dirname|filename)\b/g,
        (_, word: keyof Place) => JSON.stringify(placeAt(path)[word]),
      )
      return { contents: `${commonNames(path, contents)}${contents}`, loader }
    })
  },
})

interface Place {
  readonly url: string
  readonly dirname: string
  readonly filename: string
}

const placeAt = (filename: string): Place => ({
  url: pathToFileURL(filename).href,
  dirname: dirname(filename),
  filename,
})

/** `__dirname` and `__filename`, where they are used and not made. In front of the first line, so that lines keep their numbers. */
function commonNames(path: string, text: string): string {
  const { dirname: __dirname, filename: __filename } = placeAt(path)
  return Object.entries({ __dirname, __filename })
    .filter(
      ([name]) =>
        text.includes(name) && !new RegExp(`\\b(?:const|let|var)\\s+${name}\\b`).test(text),
    )
    .map(([name, value]) => `const ${name} = ${JSON.stringify(value)}; `)
    .join('')
}

/** Where an error was thrown: the first place in its stack that is a file of the project. */
export function thrownAt(folder: string, error: unknown): string | null {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  for (const [, file = '', line] of stack.matchAll(
    /\(?((?:file:\/\/)?\/[^\s()]+?):(\d+)(?::\d+)?\)?$/gm,
  )) {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    const from = relative(folder, path)
    if (!from.startsWith('..') && !/(^|[\\/])node_modules[\\/]/.test(from)) return `${from}:${line}`
  }
  return null
}
