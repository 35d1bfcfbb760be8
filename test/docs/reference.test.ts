// The reference pages say what there is, and the list of the documents has every page.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesBelow, ROOT, read } from '../tidy/repository.js'

test('docs/reference/configuration.md has every variable that the sources read, and every option of createEngine', () => {
  const page = read('docs/reference/configuration.md')
  const sources = filesBelow('src', '.ts').map(read).join('\n')
  const variables = [...sources.matchAll(/\benv\.([A-Z][A-Z_]+)/g)].map(([, name = '']) => name)
  const options = [
    ...(read('src/engine/engine-options.ts')
      .split('export type EngineOptions')[1]
      ?.matchAll(/^ {2}(\w+):/gm) ?? []),
  ].map(([, name = '']) => name)
  expect(variables.length).toBeGreaterThan(10)
  expect(options.length).toBeGreaterThan(10)
  const missing = [...new Set([...variables, ...options])].filter(
    (name) => !page.includes(`\`${name}\``),
  )
  expect(missing).toEqual([])
})

test('docs/README.md lists every page of the documents, and llms.txt is made of it', () => {
  const list = read('docs/README.md')
  const pages = filesBelow('docs', '.md')
    .map((path) => path.replace(/^docs\//, ''))
    .filter((path) => path !== 'README.md' && !/^decisions\/0/.test(path))
  expect(pages.filter((page) => !list.includes(`](${page})`))).toEqual([])
})

test('the pages that are made from the sources are up to date', () => {
  const script = join(ROOT, 'scripts/reference.mjs')
  const env = { ...process.env, LOG_LEVEL: 'error' }
  const check = () => execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8', env })
  expect(check()).toBe('')
  expect(readFileSync(join(ROOT, 'llms.txt'), 'utf8')).toContain('docs/quick-start.md')
})
