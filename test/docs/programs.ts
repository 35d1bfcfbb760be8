// The programs of a Markdown page, taken out of it and run as they are printed.
//
// A block that begins with ```ts is a program. What it prints is said beside the call: console.log(x) // → 3

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { formatWithOptions } from 'node:util'
import { onTestFinished } from 'vitest'
import { closeAll, prepare } from './perdure.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the repository, so that packages are found; ignored by git. */
const PLACE = join(ROOT, '.cache/docs')
const PERDURE = join(ROOT, 'test/docs/perdure.ts')

export interface Program {
  /** README.md:12 */
  readonly at: string
  readonly code: string
  /** Where it was written to. */
  readonly file: string
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** The blocks of that language, as they are printed. */
export function blocksOf(text: string, language: string): { line: number; code: string }[] {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
  return blocks
    .filter((match) => match[1] === language)
    .map((match) => ({
      line: text.slice(0, match.index).split('\n').length + 1,
      code: match[2] ?? '',
    }))
}

export function programsOf(page: string): Program[] {
  return blocksOf(readPage(page), 'ts').map(({ line, code }) => {
    const file = join(PLACE, page.replace(/\W/g, '-'), `line-${line}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(
      file,
      code.replace(/from 'perdure'/g, `from '${PERDURE.replace(/\.ts$/, '.js')}'`),
    )
    return { at: `${page}:${line}`, code, file }
  })
}

export interface Ran {
  /** What the program said it prints, and what it printed. */
  readonly claimed: readonly string[]
  readonly printed: readonly string[]
  readonly exports: Readonly<Record<string, unknown>>
}

export async function run(program: Program, database: string | null = null): Promise<Ran> {
  const claimed = [...program.code.matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1] ?? '')
  const printed: string[] = []
  const { log } = console
  console.log = (...args: unknown[]) => {
    printed.push(formatWithOptions({ breakLength: Number.POSITIVE_INFINITY }, ...args))
  }
  prepare(database)
  onTestFinished(closeAll)
  try {
    const exports = (await import(pathToFileURL(program.file).href)) as Record<string, unknown>
    return { claimed, printed, exports }
  } finally {
    console.log = log
    prepare(null)
  }
}
