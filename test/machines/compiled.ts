// Runs a file as it comes out of the compiler with one kind of decorators or the other. What runs the tests itself need not
// know either of them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the repository, so that packages are found; ignored by git. */
const PLACE = join(ROOT, '.cache/machines')

export type Decorators = 'standard' | 'legacy' | 'standard, with metadata'
export const KINDS: readonly Decorators[] = ['standard', 'legacy', 'standard, with metadata']

export async function compiled<M>(name: string, decorators: Decorators): Promise<M> {
  const source = readFileSync(join(ROOT, 'test/machines', `${name}.ts`), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: decorators === 'legacy',
      verbatimModuleSyntax: true,
    },
  })
  const own = join(PLACE, decorators.replace(/\W+/g, '-'))
  mkdirSync(own, { recursive: true })
  const file = join(own, `${name}.mjs`)
  const src = pathToFileURL(join(ROOT, 'src')).pathname
  writeFileSync(file, outputText.replaceAll("'../../src/", `'${src}/`))
  return (await import(pathToFileURL(file).href)) as M
}
