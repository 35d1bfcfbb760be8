import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { GENERATED, generateSql, withoutComments } from '../../scripts/inline-sql.mjs'
import { ROOT, read } from './repository.js'

test('sql.generated.ts is what the .sql files say', () => {
  expect(read(GENERATED) === generateSql(ROOT), `${GENERATED} is stale → npm run sql`).toBe(true)
})

test.each([
  ['src/index.ts', 'surface.txt'],
  ['src/testing/index.ts', 'surface-testing.txt'],
  ['src/http/index.ts', 'surface-http.txt'],
  ['src/client/index.ts', 'surface-client.txt'],
  ['src/nestjs/index.ts', 'surface-nestjs.txt'],
  ['src/bullmq/index.ts', 'surface-bullmq.txt'],
])('the public surface of %s is the one in %s', async (entry, snapshot) => {
  const index = join(ROOT, entry)
  expect(existsSync(index), `${entry} is missing → it has to re-export the public names`).toBe(true)
  const remedy = `${entry} exports other names than test/tidy/${snapshot} → if meant: npx vitest run test/tidy -u`
  await expect(`${surfaceOf(index).join('\n')}\n`, remedy).toMatchFileSnapshot(snapshot)
})

test('every entry of the package has its source, and none is loaded by the main one', () => {
  const { exports } = JSON.parse(read('package.json')) as {
    exports: Record<string, { types: string; default: string } | string>
  }
  const entries = Object.entries(exports).filter(([name]) => name !== './package.json')
  const sources = entries.map(([, target]) => {
    if (typeof target === 'string') return target
    expect(target.types).toBe(target.default.replace(/\.js$/, '.d.ts'))
    return target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
  })
  expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  const loaded = loadedBy('src/index.ts')
  expect(loaded).toContain('src/compose-engine.ts')
  expect(sources.filter((path) => path !== 'src/index.ts' && loaded.includes(path))).toEqual([])
})

/** The files of src that a file imports, directly and through others, now or later. */
function loadedBy(entry: string): string[] {
  const found = new Set([entry])
  for (const path of found) {
    for (const { fileName } of ts.preProcessFile(read(path)).importedFiles) {
      if (fileName.startsWith('.')) {
        found.add(posix.join(posix.dirname(path), fileName).replace(/\.js$/, '.ts'))
      }
    }
  }
  return [...found]
}

/** Every exported name, with whether it exists at run time. */
function surfaceOf(index: string): string[] {
  const program = ts.createProgram([index], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
  })
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(index)
  const module = file && checker.getSymbolAtLocation(file)
  if (!module) return []
  const kind = (symbol: ts.Symbol) => {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
    const isTypeOnly = symbol.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) ?? false
    const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
    return !isTypeOnly && (target.flags & ts.SymbolFlags.Value) !== 0 ? 'value' : 'type'
  }
  return checker
    .getExportsOfModule(module)
    .map((symbol) => `${kind(symbol)} ${symbol.name}`)
    .sort()
}

describe('the SQL inliner', () => {
  function generate(files: Record<string, string>): string {
    const root = mkdtempSync(join(tmpdir(), 'perdure-sql-'))
    try {
      for (const folder of ['migrations', 'queries'])
        mkdirSync(join(root, 'sql', folder), { recursive: true })
      for (const [path, text] of Object.entries(files)) writeFileSync(join(root, 'sql', path), text)
      return generateSql(root)
    } finally {
      rmSync(root, { recursive: true })
    }
  }

  test('keeps migrations whole and strips the comments of queries', () => {
    const text = generate({
      'migrations/0001_runs.sql': '-- breaking: no\n-- why\ncreate table @schema@.runs (a text);\n',
      'migrations/0002_more.sql': `-- breaking: yes\nselect \`x\\n\`, \${y};\n`,
      'queries/runs.sql':
        "-- The queries of runs.\n-- name: claimDue\n-- $1: don't mind\nselect '--' -- why\n\n  from @schema@.runs;\n\n-- name: two\nselect 2\n",
    })
    expect(text).toContain(
      "{ number: 1, name: 'runs', breaking: false, sql: `-- breaking: no\n-- why\ncreate",
    )
    expect(text).toContain("name: 'more', breaking: true")
    expect(text).toContain(`select \\\`x\\\\n\\\`, \\\${y};`)
    expect(text).toContain("  claimDue: `select '--'\n  from @schema@.runs`,\n  two: `select 2`,")
  })

  test.each([
    [{ 'migrations/0002_x.sql': '-- breaking: no\n' }, 'number 1'],
    [{ 'migrations/0001_x.sql': 'select 1' }, 'breaking'],
    [{ 'migrations/1.sql': '-- breaking: no\n' }, 'named like'],
    [{ 'queries/a.sql': 'select 1' }, 'before the first'],
    [{ 'queries/a.sql': '-- name: Not_camel\nselect 1' }, 'camelCase'],
    [{ 'queries/a.sql': '-- name: a\n-- only words' }, 'no SQL'],
    [
      { 'queries/a.sql': '-- name: a\nselect 1', 'queries/b.sql': '-- name: a\nselect 1' },
      'also in a.sql',
    ],
  ])('refuses %j', (files, message) => {
    expect(() => generate(files as Record<string, string>)).toThrow(message)
  })

  test.each([
    ["select 'it''s -- here' -- gone", "select 'it''s -- here'"],
    ["select e'\\'-- here'", "select e'\\'-- here'"],
    ['select "a--b" /* gone\n gone */ from c', 'select "a--b"   from c'],
    ['do $x$ -- here\n $x$ -- gone', 'do $x$ -- here\n $x$'],
    ['select $1 -- gone\n, $2', 'select $1\n, $2'],
  ])('%j without comments', (sql, expected) => {
    expect(withoutComments(sql)).toBe(expected)
  })
})
