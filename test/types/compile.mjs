// node test/types/compile.mjs tsconfig.json …: prints what the compiler says about each, as JSON. One process for all,
// because the declarations of Node and of packages are the same; and one of its own, because it answers nobody meanwhile.
//
// The sources themselves are checked by npm test as such. Here the programs are, and the declarations that are published.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const CHECKED = ['programs', '../../dist'].map((folder) => `${path(folder)}/`)
const format = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => path('.'),
  getNewLine: () => '\n',
}
const read = new Map()

function compile(project) {
  const file = path(project)
  const { config, error } = ts.readConfigFile(file, (name) => readFileSync(name, 'utf8'))
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, path('.'), undefined, file)
  const { fileNames, options, errors } = parsed
  const program = ts.createProgram({ rootNames: fileNames, options, host: hostOf(options) })
  const files = program
    .getSourceFiles()
    .filter(({ fileName }) => CHECKED.some((folder) => fileName.startsWith(folder)))
  const problems = [
    ...(error ? [error] : []),
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...files.flatMap((each) => program.getSyntacticDiagnostics(each)),
    ...files.flatMap((each) => program.getSemanticDiagnostics(each)),
  ]
  if (files.length < fileNames.length) return 'not every program was found'
  return problems.length > 0 ? ts.formatDiagnostics(problems, format) : 'no problems'
}

function hostOf(options) {
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (name, ...rest) => {
    if (!name.includes('/node_modules/')) return getSourceFile(name, ...rest)
    if (!read.has(name)) read.set(name, getSourceFile(name, ...rest))
    return read.get(name)
  }
  return host
}

console.log(JSON.stringify(process.argv.slice(2).map(compile)))
