// The style guide as functions: sources in, problems out. rules.test.ts shows each of them a bad source;
// source.test.ts shows them ours. There is no list of exemptions: if a rule is wrong, change the rule.

import { posix } from 'node:path'
import ts from 'typescript'

export interface Source {
  /** From the root of the repository: src/kernel/claim.ts */
  readonly path: string
  readonly text: string
}

/** One line: where, which rule, what to do. */
export type Problem = string

const FILE_LINES_MAX = 400
const FUNCTION_LINES_MAX = 80

const problem = (at: string, rule: string, remedy: string): Problem => `${at}: ${rule} → ${remedy}`

// ── layers ──────────────────────────────────────────────────────────────────────────────────────────────────

const PORTS = ['kernel/store.ts', 'kernel/ports.ts']
const SURFACE = ['index.ts', 'model', ...PORTS]
/** Builtins that read nothing of the outside. */
const PURE = ['node:async_hooks', 'node:buffer', 'node:util', 'node:util/types']

/** Folders and files of src, and packages. '*' is any package but the drivers; 'node:*' any builtin. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: ['devalue', 'croner', ...PURE],
  kernel: ['model', ...PURE],
  // CEL's parser and RE2: pure, as everything here.
  authoring: ['model', '@marcbachmann/cel-js', 're2js', ...PURE],
  // The public calls around a kernel; the store is given to it.
  engine: ['model', 'authoring', 'kernel/api.ts', 'kernel/inside.ts', ...PORTS, 'node:*'],
  // Calls to the outside that nodes make, behind a port of theirs.
  egress: ['model', 'authoring/graph/http-call.ts', 'node:*'],
  store: ['model', ...PORTS, 'pg', '@electric-sql/pglite', 'node:*'],
  upkeep: ['model', ...PORTS],
  redis: ['model', ...PORTS, 'store', 'live-hints.ts', '*', 'node:*'],
  bullmq: ['model', ...PORTS, 'live-hints.ts', 'engine/peer.ts', '*', 'node:*'],
  http: [...SURFACE, '*', 'node:*'],
  // Only types of the surface: it runs in browsers.
  client: ['index.ts', 'model', 'devalue'],
  cli: [
    ...SURFACE,
    ...[
      'http',
      'client',
      'tools',
      'live-log.ts',
      'reopen.ts',
      'version.ts',
      'authoring/definition.ts',
      'authoring/graph/check.ts',
    ],
    ...['*', 'node:*'],
  ],
  nestjs: [
    ...SURFACE,
    ...['http', 'authoring/definition.ts', 'authoring/task/task.ts', 'authoring/types.ts'],
    ...['*', 'node:*'],
  ],
  otel: [...SURFACE, '*', 'node:*'],
  // As the files directly in src: it composes an engine of its own.
  testing: ['.', 'model', 'kernel', 'authoring', 'engine', 'store', 'tools', '*', 'node:*'],
  // As those: what operators need beyond the calls of an engine.
  tools: ['.', 'model', 'kernel', 'authoring', 'engine', 'store', 'node:*'],
  // The files directly in src compose everything.
  '.': [
    ...['.', 'model', 'kernel', 'authoring', 'engine', 'egress', 'store', 'upkeep', 'redis'],
    ...['*', 'node:*'],
  ],
}
const DRIVERS = ['pg', '@electric-sql/pglite']

export function layers(sources: readonly Source[]): Problem[] {
  return sources.flatMap((source) => {
    const own = folderOf(source.path)
    const allowed = MAY_IMPORT[own]
    if (!allowed) {
      return [problem(source.path, `src/${own} is in no layer`, 'give it a row in MAY_IMPORT')]
    }
    return importsOf(source)
      .filter(({ target }) => !mayImport(own, allowed, target))
      .map(({ target, line }) =>
        problem(
          `${source.path}:${line}`,
          `src/${own} may not import ${target}`,
          `it may import ${allowed.join(', ') || 'nothing'}; take the rest as a parameter or a port`,
        ),
      )
  })
}

function mayImport(own: string, allowed: readonly string[], target: string): boolean {
  if (target.startsWith('src/')) {
    return (
      folderOf(target) === own ||
      [folderOf(target), target.slice(4)].some((x) => allowed.includes(x))
    )
  }
  if (target.startsWith('node:')) return allowed.includes(target) || allowed.includes('node:*')
  const name = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
  return allowed.includes(name) || (allowed.includes('*') && !DRIVERS.includes(name))
}

export function cycles(sources: readonly Source[]): Problem[] {
  const graph = new Map(sources.map((s) => [s.path, importsOf(s).map(({ target }) => target)]))
  const done = new Set<string>()
  const problems: Problem[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      const circle = [...trail.slice(start), path].join(' → ')
      problems.push(problem(path, `import cycle ${circle}`, 'move what both need below both'))
    }
    if (start >= 0 || done.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return problems
}

/** Words stand for uses: a name that no other file has is imported by none. Types are left out, which declarations may need. */
export function unusedExports(sources: readonly Source[], all: readonly Source[]): Problem[] {
  const filesWith = new Map<string, number>()
  for (const { text } of all) {
    for (const word of new Set(text.match(/\w+/g))) {
      filesWith.set(word, (filesWith.get(word) ?? 0) + 1)
    }
  }
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)]
      .filter(([, name = '']) => (filesWith.get(name) ?? 0) < 2)
      .map(([, name]) => problem(path, `nobody imports ${name}`, 'do not export it, or remove it')),
  )
}

// ── sizes ───────────────────────────────────────────────────────────────────────────────────────────────────

export function fileLengths(sources: readonly Source[]): Problem[] {
  return sources.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length
    if (lines <= FILE_LINES_MAX) return []
    return [
      problem(
        path,
        `${lines} lines, at most ${FILE_LINES_MAX}`,
        'split it by what changes together',
      ),
    ]
  })
}

export function functionLengths(sources: readonly Source[]): Problem[] {
  return sources.flatMap((source) => {
    const problems: Problem[] = []
    walk(source, (node, file) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return
      const from = lineOf(file, node.getStart(file))
      const lines = lineOf(file, node.end) - from + 1
      if (lines <= FUNCTION_LINES_MAX) return
      const rule = `a function of ${lines} lines, at most ${FUNCTION_LINES_MAX}`
      problems.push(problem(`${source.path}:${from}`, rule, 'give its parts names'))
    })
    return problems
  })
}

// ── words and constructs ────────────────────────────────────────────────────────────────────────────────────

const IMPURE_FOLDERS = ['model', 'kernel', 'authoring']
const IMPURE_NAMES = ['setTimeout', 'setInterval', 'setImmediate', 'performance', 'fetch']
const IMPURE_CALLS =
  /^(globalThis\.(setTimeout|setInterval|setImmediate|performance|fetch)|Date\.now|Math\.random|process\.(nextTick|hrtime|env)|AbortSignal\.timeout|(globalThis\.)?crypto\.(random\w*|getRandomValues))$/

/** The clock, timers, chance and the network reach model, kernel and authoring through ports only. */
export function impurities(sources: readonly Source[]): Problem[] {
  return sources
    .filter(({ path }) => IMPURE_FOLDERS.includes(folderOf(path)))
    .flatMap((source) => {
      const problems: Problem[] = []
      walk(source, (node, file) => {
        const found = impurityAt(node, file)
        if (!found) return
        const at = `${source.path}:${lineOf(file, node.getStart(file))}`
        problems.push(
          problem(
            at,
            `${found} outside the ports`,
            'use kernel/ports.ts, or take the value as a parameter',
          ),
        )
      })
      return problems
    })
}

function impurityAt(node: ts.Node, file: ts.SourceFile): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const text = node.getText(file).replace(/\s/g, '')
    return IMPURE_CALLS.test(text) ? text : null
  }
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
    const isDate = node.expression.getText(file) === 'Date'
    const isNow = ts.isCallExpression(node) || !node.arguments || node.arguments.length === 0
    return isDate && isNow ? 'the current Date' : null
  }
  if (!ts.isIdentifier(node) || !IMPURE_NAMES.includes(node.text)) return null
  const { parent } = node
  const isName =
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    ts.isPropertyAssignment(parent) ||
    ts.isTypeElement(parent) ||
    ts.isClassElement(parent)
  return isName ? null : node.text
}

/** Each with the word of the glossary that says it. */
const BANNED_WORDS: readonly { readonly pattern: RegExp; readonly say: string }[] = [
  { pattern: /\b[Jj]obs?\b|\bjob(?=[A-Z_])/g, say: 'run, or task' },
  { pattern: /\bworkflow[ _-]?instances?\b|\binstance_?Id\b/gi, say: 'run' },
  { pattern: /\bworkflow[_-]?runs?\b/gi, say: 'run' },
]

export function bannedWords(sources: readonly Source[]): Problem[] {
  return sources
    .filter(({ path }) => folderOf(path) !== 'bullmq') // there a job is a job
    .flatMap((source) =>
      BANNED_WORDS.flatMap(({ pattern, say }) =>
        [...source.text.matchAll(pattern)].map((match) =>
          problem(
            `${source.path}:${lineAt(source.text, match.index)}`,
            `the word "${match[0]}"`,
            `say ${say}`,
          ),
        ),
      ),
    )
}

export function anyTypes(sources: readonly Source[]): Problem[] {
  return sources.flatMap((source) => {
    const problems: Problem[] = []
    walk(source, (node, file) => {
      if (node.kind !== ts.SyntaxKind.AnyKeyword) return
      const at = `${source.path}:${lineOf(file, node.getStart(file))}`
      problems.push(problem(at, 'the type any', 'use unknown and look, or a type parameter'))
    })
    return problems
  })
}

export function unfinished(sources: readonly Source[]): Problem[] {
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:\/\/|\/?\*).*\b(TO(?:DO)|FIX(?:ME))\b/g)].map((match) =>
      problem(
        `${path}:${lineAt(text, match.index)}`,
        `a ${match[1]}`,
        'do it, or write an issue and leave it out',
      ),
    ),
  )
}

// ── reading sources ─────────────────────────────────────────────────────────────────────────────────────────

/** The folder of src a file belongs to; '.' for the files directly in it. */
function folderOf(path: string): string {
  const [, folder = '', ...rest] = path.split('/')
  return rest.length === 0 ? '.' : folder
}

/** Each folder, with the others and the files directly in src that it imports, in order. */
export function rooms(sources: readonly Source[]): ReadonlyMap<string, string> {
  const roomOf = (path: string): string => path.split('/')[1] ?? ''
  const found = new Map<string, Set<string>>()
  for (const source of sources.filter(({ path }) => path.split('/').length > 2)) {
    const room = roomOf(source.path)
    const others = found.get(room) ?? new Set()
    found.set(room, others)
    for (const { target } of importsOf(source))
      if (target.startsWith('src/') && roomOf(target) !== room) others.add(roomOf(target))
  }
  return new Map([...found].map(([room, others]) => [room, [...others].sort().join(', ')]))
}

interface Import {
  /** src/model/ids.ts, pg, node:fs */
  readonly target: string
  readonly line: number
}

function importsOf(source: Source): Import[] {
  const found: Import[] = []
  walk(source, (node, file) => {
    const specifier = specifierOf(node)
    if (!specifier) return
    const target = specifier.startsWith('.')
      ? posix.join(posix.dirname(source.path), specifier).replace(/\.js$/, '.ts')
      : specifier
    found.push({ target, line: lineOf(file, node.getStart(file)) })
  })
  return found
}

function specifierOf(node: ts.Node): string | null {
  let at: ts.Node | undefined
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) at = node.moduleSpecifier
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    at = node.argument.literal
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    at = node.arguments[0]
  return at && ts.isStringLiteralLike(at) ? at.text : null
}

function walk(source: Source, visit: (node: ts.Node, file: ts.SourceFile) => void): void {
  const file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true)
  const step = (node: ts.Node): void => {
    visit(node, file)
    ts.forEachChild(node, step)
  }
  step(file)
}

function lineOf(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
