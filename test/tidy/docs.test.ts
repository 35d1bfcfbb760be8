import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CODES } from '../../src/model/errors.js'
import { deadLinks, deadPaths } from './links.js'
import { deadNames } from './names.js'
import { filesBelow, ROOT, read } from './repository.js'

const ERRORS = 'docs/reference/errors.md'

test('every relative link in a Markdown file leads somewhere', () => {
  const found = filesBelow('.', '.md').flatMap((path) => deadLinks({ path, text: read(path) }))
  expect(found).toEqual([])
})

test('a dead link and a dead heading are found', () => {
  const text = [
    '# One `thing`',
    '[a](README-not-there.md) [b](#one-thing) [c](#two) [d](https://example.org) `[e](nowhere.md)`',
    '```',
    '[f](nowhere.md)',
    '```',
    '[g](package.json) [h](../outside.md)',
    '[i]: nowhere.md',
  ].join('\n')
  expect(deadLinks({ path: 'x.md', text }).map((line) => line.split(' ')[1])).toEqual([
    'README-not-there.md',
    '#two',
    '../outside.md',
    'nowhere.md',
  ])
})

test('every path that a Markdown file names is there', () => {
  const found = filesBelow('.', '.md').flatMap((path) => deadPaths({ path, text: read(path) }))
  expect(found).toEqual([])
})

test('a path that is not there is found', () => {
  const text =
    'in `src/kernel/frame.ts`, `src/not/there.ts`, `sql`, `test/<folder>`, `dist/x.js`, `GONE.md`'
  expect(deadPaths({ path: 'x.md', text }).map((line) => line.split(' ')[1])).toEqual([
    'src/not/there.ts',
    'GONE.md',
  ])
})

test('every name that a Markdown file says to be in a file is there', () => {
  const found = filesBelow('.', '.md').flatMap((path) => deadNames({ path, text: read(path) }))
  expect(found).toEqual([])
})

test('a name that is not there is found', () => {
  const text = `\`Frames.recall\` in \`src/kernel/frames.ts\`, \`turn.step\` in \`src/kernel/turn.ts\`,
    \`claim_v1\` in \`sql/migrations/0003_ownership.sql\`; \`Frames.gone\` in \`src/kernel/frames.ts\`,
    \`Frame\` in \`src/kernel/frames.ts\`, \`claim_v0\` in \`sql/migrations/0003_ownership.sql\``
  expect(deadNames({ path: 'x.md', text }).map((line) => line.split(' ')[1])).toEqual([
    'Frames.gone',
    'Frame',
    'claim_v0',
  ])
})

test('every invariant of ARCHITECTURE.md stands in the file that keeps it', () => {
  const rows = read('ARCHITECTURE.md').matchAll(/^\| ([A-Z]\d[^|]*) \|[^|]+\| `(src\/[^`]+)`/gm)
  const said = [...rows].flatMap(([, rules = '', file = '']) =>
    [...rules.matchAll(/[A-Z]\d/g)].map(([rule]) => ({ rule, file })),
  )
  expect(said.length).toBeGreaterThan(20)
  const found = said.filter(
    ({ rule, file }) => !new RegExp(`^// .*\\b${rule}\\b|\\* ${rule}:`, 'm').test(read(file)),
  )
  expect(
    found.map(({ rule, file }) => `${file} does not say ${rule} → say it in its header`),
  ).toEqual([])
})

test('every error code has its page', () => {
  const page = existsSync(join(ROOT, ERRORS)) ? read(ERRORS) : ''
  const headings = [...page.matchAll(/^###? `?([A-Z_]+)`?\s*$/gm)].map((match) => match[1] ?? '')
  const missing = Object.keys(CODES).filter((code) => !headings.includes(code))
  const surplus = headings.filter((code) => !(code in CODES))
  expect([
    ...missing.map(
      (code) => `${ERRORS}: ${code} is missing → add "## ${code}": what happened, what to do`,
    ),
    ...surplus.map((code) => `${ERRORS}: ${code} is not in CODES → remove its heading`),
  ]).toEqual([])
})

test('every error code is provoked by a test', () => {
  const tests = filesBelow('test', '.ts').filter((path) => !path.startsWith('test/tidy/'))
  const text = tests.map(read).join('\n')
  const missing = Object.keys(CODES).filter((code) => !new RegExp(`\\b${code}\\b`).test(text))
  const remedy = 'write a test that provokes it, or remove the code'
  expect(
    missing.map((code) => `src/model/errors.ts: ${code} occurs in no test → ${remedy}`),
  ).toEqual([])
})

test('the conformance list and what is due of it agree', () => {
  const ids = read('test/conformance/ids.txt').trim().split('\n')
  const due = read('test/conformance/due.txt').trim().split('\n')
  const known = ids.map((line) => line.slice(0, 3))
  expect(new Set(known).size).toBe(known.length)
  const unknown = due.filter((id) => !known.includes(id))
  expect(
    unknown.map((id) => `test/conformance/due.txt: ${id} is not in ids.txt → mend it`),
  ).toEqual([])
})
