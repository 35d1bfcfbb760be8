import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../tidy/repository.js'

test('the documents are built as a site, and no link between them is dead', async () => {
  const script = join(ROOT, 'scripts/site.mjs')
  await promisify(execFile)(process.execPath, [script], { maxBuffer: 1e8 }).catch(
    (error: { stdout: string; stderr: string }) => expect.fail(`${error.stdout}${error.stderr}`),
  )
  const pages = ['index', 'quick-start', 'compare/index', 'reference/api'].map((page) =>
    join(ROOT, '.cache/site', `${page}.html`),
  )
  expect(pages.filter((page) => !existsSync(page))).toEqual([])
})
