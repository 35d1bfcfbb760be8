// docs/reliability.md: its proofs are tests, its figures are those of docs/figures, its table is what the code checks.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pageWithFigures } from '../../scripts/reliability.mjs'
import { readPage } from './programs.js'

const PAGE = 'docs/reliability.md'
const FOLDER = 'test/simulation'

test('every proof of docs/reliability.md is the title of a test in that file', () => {
  const text = readPage(PAGE).replace(/\s+/g, ' ')
  const proofs = [...text.matchAll(/"([^"]+)" in \[([^\]]+)\]\(\.\.\/([^)]+)\)/g)]
  expect(proofs.length).toBeGreaterThan(15)
  const wrong = proofs.filter(([, title = '', , path = '']) => !readPage(path).includes(title))
  expect(wrong.map(([, title, , path]) => `"${title}" is not in ${path}`)).toEqual([])
})

test('docs/reliability.md has the figures of the last runs', () => {
  const page = plain(readPage(PAGE))
  expect(
    page === plain(pageWithFigures(readPage(PAGE))),
    `${PAGE} is stale → npm run reliability`,
  ).toBe(true)
})

test('docs/reliability.md names every promise that the simulation checks, and where', () => {
  const rows = [...plain(readPage(PAGE)).matchAll(/^\| (\w+) \| .+ \| \[(\S+)\]/gm)]
  const shown = new Map(rows.map(([, number = '', file = '']) => [number, file]))
  const lost = [...shown].filter(
    ([number, file]) =>
      !existsSync(`${FOLDER}/${file}`) || !checksOf(readPage(`${FOLDER}/${file}`)).includes(number),
  )
  expect(lost).toEqual([])
  const files = readdirSync(FOLDER).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  const all = files.flatMap((name) => checksOf(readFileSync(`${FOLDER}/${name}`, 'utf8')))
  expect([...new Set(all)].filter((number) => !shown.has(number))).toEqual([])
})

/** However the tables are aligned. */
const plain = (text: string): string => text.replace(/ +/g, ' ').replace(/-{3,}/g, '---')

/** The first argument of every `fail(…)`. */
function checksOf(text: string): string[] {
  const found = text.matchAll(/\bfail\(\s*(?:'(?:invariant )?(\w+)'|(\d+)),/g)
  return [...found].map(([, word, number]) => word ?? number ?? '')
}
