// Writes sql/migrations/*.sql and sql/queries/*.sql into src/store/sql.generated.ts, so that nothing reads
// files at run time. The result is committed; test/tidy fails when it is stale.

import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
export const GENERATED = 'src/store/sql.generated.ts'

export function generateSql(root = ROOT) {
  const migrations = sqlFiles(join(root, 'sql/migrations')).map(readMigration)
  const queries = sqlFiles(join(root, 'sql/queries')).flatMap(readQueries)
  migrations.forEach(({ file, number }, index) => {
    if (number !== index + 1) throw new Error(`${file}: the next migration is number ${index + 1}`)
  })
  queries.forEach(({ file, name }, index) => {
    const first = queries.findIndex((query) => query.name === name)
    if (first !== index) throw new Error(`${file}: "${name}" is also in ${queries[first].file}`)
  })
  const lines = [
    '// Written by scripts/inline-sql.mjs from sql/. Change the .sql files and run `npm run sql`.',
    '',
    'export interface Migration {',
    '  readonly number: number',
    '  readonly name: string',
    '  readonly breaking: boolean',
    '  readonly sql: string',
    '}',
    '',
    'export const MIGRATIONS: readonly Migration[] = [',
    ...migrations.map(
      ({ number, name, breaking, sql }) =>
        `  { number: ${number}, name: '${name}', breaking: ${breaking}, sql: ${literal(sql)} },`,
    ),
    ']',
    '',
    'export const QUERIES = {',
    ...queries.map(({ name, sql }) => `  ${name}: ${literal(sql)},`),
    '} as const',
    '',
    'export type QueryName = keyof typeof QUERIES',
    '',
  ]
  return lines.join('\n')
}

/** True if the file had to be written. Written beside and renamed, so that no reader sees half of it. */
export function writeSql(root = ROOT) {
  const path = join(root, GENERATED)
  const text = generateSql(root)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return false
  const beside = `${path}.${process.pid}`
  writeFileSync(beside, text)
  renameSync(beside, path)
  return true
}

function sqlFiles(folder) {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  return names
    .sort()
    .map((name) => ({ file: name, text: readFileSync(join(folder, name), 'utf8') }))
}

function readMigration({ file, text }) {
  const [, number, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? []
  if (!name) throw new Error(`${file}: a migration is named like 0001_runs.sql`)
  const [, breaking] = /^-- breaking: (no|yes)\r?\n/.exec(text) ?? []
  if (!breaking)
    throw new Error(`${file}: the first line is "-- breaking: no" or "-- breaking: yes"`)
  return { file, number: Number(number), name, breaking: breaking === 'yes', sql: text.trim() }
}

function readQueries({ file, text }) {
  const [before, ...parts] = text.split(/^-- name:/m)
  if (withoutComments(before) !== '') throw new Error(`${file}: SQL before the first "-- name:"`)
  return parts.map((part) => {
    const [, name, rest] = /^ *([a-z][A-Za-z0-9]*) *\r?\n([\s\S]*)$/.exec(part) ?? []
    if (!name) throw new Error(`${file}: "-- name:${part.split('\n', 1)[0]}" is not in camelCase`)
    const sql = withoutComments(rest).replace(/;$/, '')
    if (sql === '') throw new Error(`${file}: "${name}" has no SQL`)
    return { file, name, sql }
  })
}

/** Texts, quoted names and $$ bodies come first in the pattern, so that a `--` inside them stays. */
export function withoutComments(sql) {
  const parts =
    /\be'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[a-z_]\w*)?\$)[\s\S]*?\1|--[^\n]*|\/\*[\s\S]*?\*\//gi
  return sql
    .replace(parts, (part) => (part.startsWith('--') ? '' : part.startsWith('/*') ? ' ' : part))
    .replace(/[ \t\r]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trim()
}

function literal(text) {
  return `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(writeSql() ? `${GENERATED} written` : `${GENERATED} is current`)
}
