// npm run reference [-- --check]
//
// Writes docs/reference/api.md, rest.md and tables.md from what was built (the declarations of the package, the table of
// routes, and the tables that the migrations make) and llms.txt from docs/README.md. --check writes nothing and fails when
// one of them is stale.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { bootstrap, failWith, ROOT } from './bootstrap.mjs'

await bootstrap().catch(failWith)
const load = (path) => import(pathToFileURL(join(ROOT, 'dist', path)).href)
const pages = {
  'docs/reference/api.md': apiPage(),
  'docs/reference/rest.md': await restPage(),
  'docs/reference/tables.md': await tablesPage(),
  'llms.txt': llmsText(),
}
const stale = Object.entries(pages).filter(([path, text]) => readOr(path) !== text)
if (process.argv.includes('--check')) {
  for (const [path] of stale) console.log(`${path} is stale → npm run reference`)
  process.exit(stale.length > 0 ? 1 : 0)
}
for (const [path, text] of stale) writeFileSync(join(ROOT, path), text)
console.log(stale.length > 0 ? `written: ${stale.map(([path]) => path).join(', ')}` : 'up to date')
process.exit(0)

function readOr(path) {
  const file = join(ROOT, path)
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

/** For models: what there is to read, with the first sentence of each page. */
function llmsText() {
  const list = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
  const lines = list.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) return ['', line, '']
    const [, title, path] = /^- \[(.+)\]\((.+)\)$/.exec(line) ?? []
    return path ? [`- [${title}](docs/${path}): ${firstSentence(path)}`] : []
  })
  const intro =
    '> Durable workflows for TypeScript on PostgreSQL: functions, state machines and graphs whose runs survive crashes, deploys and weeks of waiting. The Markdown pages below are in the package, too.'
  return `${['# Perdure', '', intro, ...lines].join('\n')}\n`
}

function firstSentence(page) {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
  const paragraph = text
    .split('\n\n')
    .map((part) => part.trim())
    .find((part) => /^[A-Za-z`*_"]/.test(part))
  const plain = (paragraph ?? '').replaceAll('\n', ' ').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
  return /^.*?\.(?= |$)/.exec(plain)?.[0] ?? plain
}

/** Every exported name of every entry, with its comment and its declaration. */
function apiPage() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const entries = Object.entries(exports).filter(([, target]) => target.types)
  const files = entries.map(([, target]) => join(ROOT, target.types))
  const program = ts.createProgram(files, { module: ts.ModuleKind.NodeNext, skipLibCheck: true })
  const checker = program.getTypeChecker()
  const parts = entries.map(([name, target]) => {
    const source = program.getSourceFile(join(ROOT, target.types))
    const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(source))
    const named = symbols.sort((a, b) => (a.name < b.name ? -1 : 1))
    const title = `## \`perdure${name.slice(1)}\``
    return [title, ...named.map((symbol) => declared(checker, symbol))].join('\n\n')
  })
  const intro =
    'Every name that the package exports, as it is declared. Written by `npm run reference` from the sources; the guides say how they are used.'
  return `${['# API', intro, ...parts].join('\n\n')}\n`
}

function declared(checker, symbol) {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
  const said = ts.displayPartsToString(target.getDocumentationComment(checker))
  const texts = (target.declarations ?? []).map((declaration) => {
    const whole = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
    return whole
      .getText()
      .replace(/^export (declare )?/, '')
      .replaceAll(/\bdeclare /g, '')
  })
  const code = ['```typescript', ...texts, '```'].join('\n')
  return [`### \`${symbol.name}\``, ...(said ? [said] : []), code].join('\n\n')
}

async function restPage() {
  const { ROUTES } = await load('http/routes/index.js')
  const { fullPath } = await load('http/route.js')
  const tags = [...new Set(ROUTES.map(({ tag }) => tag))]
  const parts = tags.map((tag) => {
    const rows = ROUTES.filter((route) => route.tag === tag).map((route) => [
      `\`${route.method} ${fullPath(route)}\``,
      route.summary.replaceAll('|', '\\|'),
      route.role,
    ])
    return `## ${tag[0].toUpperCase()}${tag.slice(1)}\n\n${table(['request', 'what it does', 'role'], rows)}`
  })
  const intro =
    'Every address, and the role that may ask for it. Written by `npm run reference` from the table of routes. Bodies and answers, field by field: `/openapi.json` of a running server. How to use it: [the HTTP API](../http-api.md).'
  return `${['# REST', intro, ...parts].join('\n\n')}\n`
}

async function tablesPage() {
  const { createEngine } = await load('index.js')
  const engine = await createEngine({ database: 'memory:', worker: false })
  const { rows } = await engine.transaction((tx) =>
    tx.query(
      `select table_name as name, column_name as column, data_type as type, is_nullable = 'NO' as needed, column_default as given
       from information_schema.columns where table_schema = 'perdure' order by table_name, ordinal_position`,
    ),
  )
  await engine.close()
  const why = comments()
  const parts = [...new Set(rows.map(({ name }) => name))].map((name) => {
    const columns = rows.filter((row) => row.name === name)
    const lines = columns.map(({ column, type, needed, given }) => [
      `\`${column}\``,
      type,
      needed ? 'not null' : '',
      given === null ? '' : `\`${given.replaceAll('|', '\\|')}\``,
    ])
    const said = why.get(name)
    const shown = table(['column', 'type', '', 'default'], lines)
    return [`## \`${name}\``, ...(said ? [said] : []), shown].join('\n\n')
  })
  const intro =
    'The tables in the schema `perdure`. Written by `npm run reference` from a database that the migrations have made. Reading them is fine, and columns keep their meaning within a major version; writing them is for the engine alone. The files: `sql/migrations`.'
  return `${['# Tables', intro, ...parts].join('\n\n')}\n`
}

/** What stands above each `create table` or `create view`, and above what adds a column. */
function comments() {
  const folder = join(ROOT, 'sql/migrations')
  const found = new Map()
  for (const file of readdirSync(folder).sort()) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, lines, how, name] of text.matchAll(
      /((?:^-- .*\n|^--\n)*)(create (?:unlogged )?table|create view|alter table) @schema@\.(\w+)/gm,
    )) {
      const said = lines
        .replaceAll(/^-- (breaking: |──).*\n/gm, '')
        .replaceAll(/^-- ?/gm, '')
        .trim()
      // Of a column: where it is named.
      if (said && (how !== 'alter table' || said.startsWith('`')))
        found.set(name, [found.get(name), said].filter(Boolean).join('\n\n'))
    }
  }
  return found
}

function table(head, rows) {
  const widths = head.map((cell, i) =>
    Math.max(cell.length, 3, ...rows.map((row) => row[i].length)),
  )
  const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
